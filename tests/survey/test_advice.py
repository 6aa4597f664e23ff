"""Advice and the regret of rules of thumb from a planted study whose answers are known."""

import numpy as np
import pandas as pd
import pytest

from kfeat.survey.advice import BUDGETS, RULE, RULES, Advice, advise, regrets, skill
from kfeat.survey.study import shipped
from tests.survey import planted


@pytest.fixture(autouse=True)
def study(monkeypatch):
    planted.plant(monkeypatch)


@pytest.mark.parametrize(
    ("task", "d", "like", "seconds"),
    [("classification", 12, "n", 0.4), ("classification", 100, "w", 0.8), ("regression", 500, "rw", 1.6)],
)
def test_seconds_are_those_of_data_with_as_many_features(task, d, like, seconds):
    assert advise(task, 16_000, d, 60.0) == Advice("nystrom", 256, pytest.approx(seconds), like)
    assert advise(task, 80_000, d, 60.0).seconds == pytest.approx(5 * seconds)


def test_a_data_set_with_fewer_rows_took_its_seconds_for_these():
    found = advise("regression", 16_000, 10, 60.0)
    assert (found.like, found.seconds) == ("rn", pytest.approx(2 * 1.2))


def test_a_budget_and_few_rows_need_a_smaller_map():
    found = [advise("classification", 16_000, 10, budget) for budget in (0.4, 0.39, 0.09, 0.001)]
    assert [one and one.entry for one in found] == [
        {"name": "nystrom", "n_components": 256}, {"name": "nystrom", "n_components": 64}, None, None,
    ]  # fmt: skip
    assert found[2].method == "linear"
    assert found[3] is None
    assert advise("classification", 100, 10, 60.0).D == 64


def test_the_regret_of_a_rule_is_what_it_loses_against_the_best_that_fits():
    lost = regrets(pd.concat([planted.cells(planted.METHODS), planted.cells(planted.RULES)]))
    assert lost.index.tolist() == sorted(planted.ABOUT)
    assert lost.columns.tolist() == list(RULES)
    # On n the first two budgets fit 64 columns, the third 256, and the others 1,024; 30 points are the most.
    best = np.array([10, 10, 15, 18, 18, 18]) / 30
    assert len(best) == len(BUDGETS)
    # The rule as it is given: 64 landmarks where 256 take too long.
    assert lost.loc["n", RULE] == pytest.approx((best - np.array([10, 10, 15, 15, 15, 15]) / 30).mean())
    fourier = "random Fourier features with 1,024 columns"  # without a smaller size
    assert lost.loc["n", fourier] == pytest.approx((best - np.array([0, 0, 0, 18, 18, 18]) / 30).mean())
    assert lost.loc["n", "the linear model"] == pytest.approx(best.mean())
    assert lost.loc["n", "boosting"] == pytest.approx(best.mean() + 4 / 6)  # its share is cut to -1
    sampler = (best - np.array([0, 0, 0, 30, 30, 30]) / 30).clip(0)
    assert lost.loc["n", "scikit-learn's RBFSampler with 1,000 columns"] == pytest.approx(sampler.mean())
    assert lost.loc["w", RULE] == pytest.approx((3 + 3) / 30 / 6)  # twice as slow
    largest = "the largest Nystrom that fits, up to 1,024 landmarks"
    assert lost.loc["w", largest] == lost.loc["w", RULE]  # 256 are the most here


def test_the_other_rules_are_compared_with_the_advised_one():
    lost = regrets(pd.concat([planted.cells(planted.METHODS), planted.cells(planted.RULES)]))
    own, others = skill()
    assert list(others) == list(RULES)[1:]
    assert own[0] == pytest.approx(lost[RULE].mean())
    mean, (low, high) = others["boosting"]
    assert mean == pytest.approx((lost["boosting"] - lost[RULE]).mean())
    assert low < mean < high


def test_only_the_largest_nystrom_loses_less_than_the_advised_rule(monkeypatch):
    """The advice must not claim to lose least."""
    monkeypatch.undo()
    (_, (low, high)), others = skill()
    assert 0 < low < high < 0.5
    assert [rule for rule, (mean, _) in others.items() if mean < 0] == [
        "the largest Nystrom that fits, up to 1,024 landmarks"
    ]
    lost = regrets(pd.concat([shipped("study"), shipped("rules")]))
    assert len(lost) == 23
