"""A budget holds, with the training of the best, and times on few rows tell those on more."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kfeat.own import budget as module
from kfeat.own.cost import expected, learning, like, path_time, training
from kfeat.own.search import Search
from tests.own.asking import scored
from tests.own.simulated import BUDGET, LEFT, Answers, Simulated, one_second


def test_the_time_of_a_candidate_is_told_from_few_rows_and_columns():
    exact, mapped = scored(100, 0.9, 1.0), scored(100, 0.9, 1.0, exact=False)  # in 0.1 s
    assert expected(exact, 300) == pytest.approx(0.1 * 3**1.5)
    assert expected(exact, 50_000) / expected(exact, 5_000) == pytest.approx(10**2.1)
    ridge = replace(exact, candidate=replace(exact.candidate, loss="squares"))
    assert expected(ridge, 300) == pytest.approx(0.1 * 3**2.3)
    assert expected(mapped, 10**7) / expected(mapped, 10**6) == pytest.approx(10, rel=0.01)
    wide = replace(mapped.candidate, map={"name": "orf", "n_components": 6400})
    assert like(mapped, wide).seconds == expected(mapped, 100, wide) > 0.1 * 100**2
    assert training(replace(mapped, folds=(0.9, 0.9)), 200) == pytest.approx(expected(mapped, 300) / 2)
    assert (path_time(mapped.candidate, 3), path_time(ridge.candidate, 3)) == (2.0, 2.0)
    assert path_time(replace(mapped.candidate, loss="squares"), 10) == 1.0  # one decomposition


def test_the_time_of_binning_grows_with_its_values_and_a_metric_takes_its_own_time_once():
    grids = {"name": "random_binning", "n_components": 64}
    binning = scored(1000, 0.9, 1.0, exact=False)
    binning = replace(binning, candidate=replace(binning.candidate, map=grids))
    assert expected(binning, 2000) == pytest.approx(0.1 * 2**1.4)
    more = replace(binning.candidate, map=grids | {"n_components": 128})
    assert expected(binning, 1000, more) == pytest.approx(0.1 * 2**1.4)
    behind = replace(binning, candidate=replace(binning.candidate, scale="own, learnt_metric"), learning=2.0)
    assert learning(behind, 2000) == pytest.approx(4.0)
    assert learning(behind, 10**6) == learning(behind, 10**5)  # no more rows are taken
    assert training(replace(behind, folds=(0.9, 0.9)), 1000) == pytest.approx(
        (expected(behind, 1500) + 3.0) / 2
    )
    budget = module.Budget(60.0)
    budget._log = SimpleNamespace(scored=lambda: [behind])
    rotated = replace(behind.candidate, scale="own, learnt_rotation")
    assert budget.behind_metric(binning, rotated).seconds == pytest.approx(binning.seconds + 2.0)
    assert budget.behind_metric(binning, behind.candidate).seconds == binning.seconds


@pytest.mark.parametrize("process", [True, False])
@pytest.mark.parametrize("budget", [10.0, 60.0])
@pytest.mark.parametrize("load", [1.0, 4.0])
def test_a_budget_holds_at_any_load_with_the_training_of_the_best(load, budget, process, monkeypatch):
    asked = Simulated(monkeypatch, load, process)
    result = Search(asked, None, budget, 0).run()
    if process:
        assert "score" in result.tests[result.best]
    else:
        asked.now += asked.training(result.best.candidate, result.rows.get(result.best, asked.n_train))
    assert 0.5 * budget < asked.now <= 1.05 * budget
    assert asked.longest <= 0.26 * budget
    if (load, budget, process) == (1.0, 60.0, True):
        assert result.best.candidate.D >= 2048


def test_a_winner_that_takes_longer_than_the_budget_gives_way(monkeypatch):
    """On 900 rows exact methods are the best by far; on all rows they would take 80 s."""
    best = Search(Simulated(monkeypatch, 1.0, False), None, 60.0, 0).run().best
    assert not best.candidate.exact
    assert Search(Simulated(monkeypatch, 1.0, False, 2_000), None, 60.0, 0).run().best.candidate.exact


@pytest.mark.parametrize("process", [True, False])
@pytest.mark.parametrize("capped", [True, False])
def test_on_many_rows_a_large_map_is_trained_on_some_of_them(capped, process, monkeypatch):
    at = Simulated(monkeypatch, 1.0, process, n_train=2_000_000)
    at.capped = capped
    result = Search(at, None, 60.0, 0).run()
    one = result.best
    assert (one.candidate.D >= 1024) == capped
    assert (one.n <= result.rows.get(one, at.n_train) < at.n_train) == capped
    if process:
        tested = [rows for method, _, rows in at.asked if method == "test"]
        assert (result.rows[one] if capped else None) in tested
        assert "score" in result.tests[one]
        assert at.now <= 63


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_classifier_needs_time_for_its_probabilities_too(task, monkeypatch):
    def seconds(candidate, n):
        trained = module.LONGER * training(one_second(candidate, n), n)
        return 0.9 * LEFT / trained if candidate.map else 1e-6

    def score(candidate, n):
        return 0.9 if candidate.map else 0.5

    answers = Answers(monkeypatch, score, seconds, task=task, n_train=500, n_test=0, rarest=500)
    result = Search(answers, None, BUDGET, 0).run()
    assert any(one.candidate.map for one in result.scored)
    assert bool(result.best.candidate.map) == (task == "regression")


def test_the_time_on_the_most_rows_tells_and_more_rows_need_time_to_spare(monkeypatch):
    """On all rows it takes ten times what fewer rows tell, and there is just the time to train it."""
    time_of_training = LEFT / 1.01 / module.LONGER

    def seconds(candidate, n):
        one = one_second(candidate, 9_000)
        whole = replace(one, seconds=time_of_training / training(one, 9_000))
        return whole.seconds if n == 9_000 else expected(whole, n) / 10

    answers = Answers(monkeypatch, lambda candidate, n: 0.5, seconds, n_train=9_000)
    result = Search(answers, None, BUDGET, 0).run()
    many = next(one for one in result.scored if one.n == 9_000 and one.candidate.exact)
    few = next(one for one in result.scored if one.n == 3_000 and one.candidate == many.candidate)
    assert many not in result.rows  # all rows train it
    assert 3_000 <= result.rows[few] < 9_000


def test_a_candidate_that_takes_far_longer_than_told_does_not_cost_the_best(monkeypatch):
    """Where it cannot be ended, the linear model was handed over, since it alone trains in no time."""
    at, told = Simulated(monkeypatch, 1.0, False), Simulated.training
    at.training = lambda candidate, n: told(at, candidate, n) * (20 if candidate.D >= 2048 else 1)
    best = Search(at, None, 60.0, 0).run().best
    assert at.now > 60
    assert best.candidate.D >= 1024


def test_the_best_is_tested_after_a_candidate_that_was_ended(monkeypatch):
    """The start of a new process once took all the time that was kept for the tests."""
    at, told = Simulated(monkeypatch, 1.5, True), Simulated.training
    at.training = lambda candidate, n: told(at, candidate, n) * (9 if candidate.D in (512, 1000) else 1)
    own = {"name": "orf", "n_components": 1000}
    for budget in (12.0, 25.0):
        at.now = 0.0
        result = Search(at, None, budget, 0).run([{"name": "gaussian", "gamma": 0.3}], [own])
        assert "score" in result.tests[result.best]
        assert at.now <= 1.05 * budget


@pytest.mark.parametrize("slow_from", [3.0, 4.0, 5.0, 6.0])
def test_the_start_of_a_new_process_is_kept_for_a_short_search(slow_from, monkeypatch):
    at, told = Simulated(monkeypatch, 1.5, True), Simulated.training

    def training(candidate, n):
        tested = isinstance(n, int)  # a fold has two thirds of the rows
        return told(at, candidate, n) * (99 if at.now > slow_from and not tested else 1)

    at.training = training
    result = Search(at, None, 10.0, 0).run()
    assert "score" in result.tests[result.best]
