"""The survey's advice as a candidate of a search, and in sentences."""

import pytest

from kfeat.own.candidates import Facts, advised
from kfeat.own.new_config import sentences
from kfeat.survey.advice import Advice, Traits


def traits(n):
    """The traits of some dense data."""
    return Traits("classification", n, 20, 1.0, 50.0)


@pytest.mark.parametrize("budget", [0.3, 300.0])
def test_the_advised_method_is_a_candidate_with_the_gamma_of_its_kernel(budget):
    gammas = {"gaussian": 0.5, "laplacian": 0.25, "polynomial": 0.125}
    facts = Facts("classification", 9_000, 1_000, 20, 400, {"own": gammas}, traits(9_000))
    (found,) = advised(facts, budget)
    assert found.scale == "own"
    assert found.kernel["gamma"] == gammas[found.kernel["name"]]
    assert ("degree" in found.kernel) == (found.kernel["name"] == "polynomial")
    assert found.size <= 9_000


def test_sparse_data_without_the_advised_kernel_get_no_candidate():
    facts = Facts("classification", 9_000, 1_000, 20, 400, {"own": {}}, traits(9_000))
    assert advised(facts, 10.0) == []


def test_ten_times_the_rows_and_the_budget_have_the_same_skill():
    advice = Advice("gaussian", "orf", "", 256, 0.5, 1.0, 300.0, {"adult": 1.0})

    def skill(n, budget):
        return next(one for one in sentences("x", traits(n), budget, advice) if one.startswith("How sure"))

    assert skill(10_000, 1.0) == skill(100_000, 10.0) != skill(10_000, 10.0)
