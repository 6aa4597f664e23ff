"""The study's advice as a candidate of a search, its probe, and the rule that is advised instead."""

import numpy as np
import pytest

from kfeat.own.candidates import Facts, advised
from kfeat.own.new_config import RULES, probe, rule_to_advise
from kfeat.survey.advice import Traits
from tests.survey.planted import ABOUT, PAST, plant


@pytest.mark.parametrize(("name", "entry"), [("n1", {"name": "nystrom", "n_components": 1024}), ("w1", None)])
def test_the_advised_map_or_exact_method_is_a_candidate(monkeypatch, name, entry):
    """On w1 boosting is best within 60 s, and the exact method without it."""
    plant(monkeypatch)
    facts = Facts(
        "classification", 9_000, 1_000, 20, 400, {"own": {"gaussian": 0.5}}, Traits(**ABOUT.loc[name])
    )
    (found,) = advised(facts, 60.0 if entry is None else 5.0)
    assert (found.scale, found.kernel, found.map) == ("own", {"name": "gaussian", "gamma": 0.5}, entry)
    assert advised(Facts(**{**vars(facts), "gammas": {"own": {}}}), 5.0) == []


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_probe_tells_kernels_and_trees_from_the_linear_model(task):
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = X[:, 0] * X[:, 1]
    found = probe(X, (y > 0).astype(int) if task == "classification" else y, Traits(task, 600, 2, 1.0, 9.0))
    assert min(found["nystrom"], found["random_fourier"], found["boosting"]) > found["linear"] + 20


def test_rows_too_few_for_folds_have_no_scores():
    assert probe(np.eye(4), np.array([0, 0, 0, 1]), Traits("classification", 4, 4, 0.25, 4.0)) == {}


def test_a_rule_is_advised_unless_each_is_shown_to_be_worse():
    rule, told = rule_to_advise(PAST)
    assert rule == ""
    assert all(f"always {name}, 21% [20%, 22%] more" in told for name in RULES)
    near = PAST.copy()
    near.loc[near["rule"] == "boosting", "regret"] = [0.0, 0.4] * 6
    rule, told = rule_to_advise(near)
    assert rule == "boosting"
    assert "not shown to be better than always boosting: kfeat follows this" in told
