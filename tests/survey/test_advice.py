"""Advice from a planted study whose answer is known."""

from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kfeat.own.new_config import RULES
from kfeat.survey import study
from kfeat.survey.advice import METHOD, PROBED, Traits, advise, expected, shipped, weights
from kfeat.survey.parts import Chosen, parts
from scripts.advice import NAME, PLACE, ROWS, THEIRS, regrets, rule_settings
from scripts.study import rows_below
from tests.survey.planted import ABOUT, NARROW, WIDE, planted

ROOT = Path(__file__).parents[2]


def traits(name="n1", **changes):
    """The traits of a planted data set, changed."""
    return Traits(**{**ABOUT.loc[name], **changes})


@pytest.mark.parametrize(("name", "method", "D"), [("n1", "nystrom", 1024), ("w1", "boosting", 0)])
def test_data_get_the_method_of_data_like_them(name, method, D):
    found = advise(traits(name), 2.0, planted(), ABOUT)
    assert (found.method, found.D) == (method, D)
    assert type(found.D) is int  # which a config can have
    assert 0.9 < found.share < 0.975  # 19 or 19.5 of 20 points on such data, and a little of the others
    assert set(found.evidence) == set(NARROW if name in NARROW else WIDE)
    assert found.entry == ({"name": method, "n_components": D} if D else None)


def test_the_probe_corrects_traits_that_mislead():
    misled = weights(traits("n1", nystrom=75.0, boosting=85.0), ABOUT)  # as on w1
    without = weights(traits("n1", **dict.fromkeys(PROBED, nan)), ABOUT)
    assert without["n2"] == pytest.approx(1.1)
    assert misled["n2"] < 0.7
    assert misled["w2"] > 2 * without["w2"]
    assert (misled.filter(like="r") == 0).all()  # another task
    assert (weights(traits(), ABOUT[ABOUT["task"] == "regression"]) >= 0.1).all()  # where there is no other


def test_the_budget_the_methods_and_the_largest_size_limit_the_choice():
    at = [advise(traits(), budget, planted(), ABOUT) for budget in (0.001, 0.1, 2.0, 60.0)]
    assert at[0] is None
    assert [(found.method, found.D) for found in at[1:]] == [("nystrom", 64), ("nystrom", 1024), ("exact", 0)]
    small = advise(traits(), 60.0, planted(), ABOUT, ["linear", "orf"], 256)
    assert (small.method, small.D) == ("orf", 64)


@pytest.mark.parametrize(("name", "power"), [("n1", 2), ("rn1", 3)])
def test_seconds_grow_with_the_rows_and_faster_for_the_exact_method(name, power):
    small, large = (
        expected(traits(name, n=n), planted(), ABOUT).set_index(METHOD)["seconds"] for n in (16_000, 64_000)
    )
    assert (large / small)["exact", 0] == pytest.approx(4**power)
    assert (large / small)["orf", 64] == pytest.approx(4)


def test_the_next_larger_size_of_the_study_counts_and_no_more_landmarks_than_rows():
    cells = planted()
    cells.loc[(cells["n"] == 1000) & (cells["method"] == "orf"), "score"] = 99.0
    few, many = (expected(traits(n=n), cells, ABOUT).set_index(METHOD)["share"] for n in (900, 1100))
    assert few["orf", 64] == pytest.approx(1.0)
    assert many["orf", 64] == pytest.approx(0.5)
    assert ("nystrom", 1024) not in few.index
    assert ("nystrom", 1024) in many.index


def test_advice_for_a_data_set_does_not_see_it():
    """A method that is good on n1 alone must not be advised for it, so its regret there is large."""
    cells = planted()
    magic = cells[cells["method"] == "orf"].assign(method="magic", score=50.0)
    magic.loc[magic["dataset"] == "n1", "score"] = 110.0
    small = cells[(cells["method"] == "orf") & (cells["D"] == 64)]
    theirs = pd.concat([small.assign(method=PLACE + name, D=size) for name, size, *_ in THEIRS.values()])
    found = regrets(pd.concat([cells, magic]), ABOUT, theirs).set_index(["dataset", "budget", "rule"])[
        "regret"
    ]
    assert found["n1", 3.0, "advise"] == pytest.approx((110 - 89) / 40)
    assert found["n2", 3.0, "advise"] == pytest.approx(0)
    assert found["n2", 3.0, "the linear model"] == pytest.approx(19 / 20)
    assert found["n2", 0.3, "boosting"] == pytest.approx(15 / 20)  # a second is too long: the linear model
    assert found["n2", 3.0, next(iter(THEIRS))] == pytest.approx(9 / 20)
    assert set(found.index.unique("rule")) == {"advise", *RULES}


def test_nothing_is_lost_where_no_method_fits_the_budget():
    cells = planted()
    cells.loc[cells["dataset"] == "n2", "seconds"] += 1000.0
    found = regrets(cells, ABOUT, cells[:0]).set_index(["dataset", "rule"])["regret"]
    assert (found["n2"] == 0).all()


@pytest.mark.slow
def test_the_regrets_that_come_with_kfeat_are_those_of_the_published_rows(monkeypatch):
    monkeypatch.chdir(ROOT)
    theirs = study.cells(study.results(rows_below(ROWS, NAME)), study.choices(rows_below(ROWS, "choices_*")))
    found = regrets(study.published(), shipped("traits"), theirs)
    assert_allclose(found["regret"], shipped("regret")["regret"], atol=1e-4)


def test_scikit_learn_has_the_gamma_and_the_penalty_of_the_study():
    part = {"dataset": "cpu_act", "kernel": "gaussian", "n": 4000, "alpha": 0.1}
    sizes = {"nystrom": 256, "random_fourier": 1024}
    lines = [{**part, "method": name, "D": D, "gamma": D / 1e5} for name, D in sizes.items()]
    nystroem, sampler = rule_settings(parts(["cpu_act"]), Chosen(pd.DataFrame(lines)))
    assert nystroem["maps"] == [{"name": PLACE + "Nystroem", "n_components": 500}]
    assert nystroem["kernel"] == {"name": "gaussian", "gamma": 0.00256}
    assert sampler["maps"] == [{"name": PLACE + "RBFSampler", "n_components": 1000, "gamma": 0.01024}]
    assert sampler["solvers"] == {"mapped": {"name": "ridge", "alpha": 0.1}}
    assert sampler["protocol"]["split"]["max_train"] == 16000


def test_traits_of_equal_rows_and_of_far_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200))
    far = Traits.of(X, X * (rng.random(X.shape) < 0.25), "classification")
    assert (far.n, far.d) == (300, 200)
    assert far.density == pytest.approx(0.25, abs=0.01)
    line = Traits.of(np.outer(rng.normal(size=300), np.ones(200)), X, "classification")
    assert 1 <= line.spread < 10 < far.spread <= 300
