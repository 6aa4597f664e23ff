"""Two runs held against each other."""

from typing import Any

import pytest
from scipy.stats import t

from kfeat.analysis.two_runs import two_runs
from kfeat.experiments.plan import Trial
from kfeat.render.comparison import as_json, render_two_runs
from tests.cells import fake_row


def mapped(trials: list[Trial]) -> list[Trial]:
    return [one for one in trials if one.map and one.map.name == "tensor_sketch"]


def rows(trials: list[Trial], accuracies: list[float], **more: Any) -> list[Any]:
    return [fake_row(trial, score, **more) for trial, score in zip(trials, accuracies, strict=True)]


def test_the_same_seeds_are_compared_in_pairs(trials: list[Trial]) -> None:
    some = mapped(trials)
    base = [0.80, 0.90, 0.70, 0.85, 0.75]
    better = [x + d for x, d in zip(base, [0.010, 0.012, 0.009, 0.011, 0.008], strict=True)]
    score, *_ = two_runs(rows(some, base), rows(some, better)).differences
    assert score.how == "5 pairs"
    assert score.change == pytest.approx(1.0)  # points; the spread of either is eight times that
    assert score.differs
    half = t.ppf(0.975, 4) * 0.15811388 / 5**0.5
    assert score.interval == pytest.approx((1 - half, 1 + half))


def test_other_seeds_are_compared_by_welch_and_do_not_differ(trials: list[Trial]) -> None:
    some = mapped(trials)
    theirs = rows(some, [0.81, 0.91, 0.71, 0.86, 0.76])
    theirs = [{**row, "id": f"x{i}", "seeds": {"map": i}} for i, row in enumerate(theirs)]
    found = two_runs(rows(some, [0.80, 0.90, 0.70, 0.85, 0.75]), theirs)
    assert found.differences[0].how == "Welch, 5 and 5 runs"
    assert found.differences[0].differs is False
    assert not found.differ


def test_an_exact_machine_on_a_fixed_split_differs_by_one_run(trials: list[Trial]) -> None:
    exact = trials[-1]
    assert exact.map is None
    row = fake_row(exact, 0.79)
    other = {**row, "id": "x", "cell": "x", "accuracy": 0.85, "seeds": {**row["seeds"], "map": 7}}
    assert two_runs([row], [other]).differences[0].differs is True
    assert two_runs([row], [{**other, "accuracy": 0.79}]).differences[0].differs is False
    unknown = {**other, "protocol": {"version": 9, "shuffle": "of a later kfeat"}}
    assert two_runs([row], [unknown]).differences[0].differs is None


def test_times_are_ratios_and_a_busy_machine_s_do_not_count(trials: list[Trial]) -> None:
    some = mapped(trials)
    slow = rows(some, [0.8] * 5)
    quick = [
        {**row, "seconds": {name: {"cpu": 0.25 + 0.001 * i, "wall": 0.3} for name in row["seconds"]}}
        for i, row in enumerate(slow)
    ]
    fit = next(one for one in two_runs(slow, quick).differences if one.quantity.name == "fit")
    assert fit.change == pytest.approx(0.504, abs=0.001)
    assert fit.differs
    busy = [{**row, "timed": False} for row in quick]
    assert [one.quantity.name for one in two_runs(slow, busy).differences] == ["accuracy"]


def test_a_cell_that_one_run_lacks_is_a_difference(trials: list[Trial]) -> None:
    exact = [one for one in trials if one.map is None]
    a, b = rows(exact, [0.8] * len(exact)), rows(mapped(trials), [0.8] * 5)
    found = two_runs(a + b, b)
    assert len(found.only_a) == 1
    assert "exact" in found.only_a[0]
    assert found.differ
    assert not two_runs(a + b, a + b).differ


def test_the_table_fits_eighty_columns_and_json_has_every_number(trials: list[Trial]) -> None:
    every = rows(trials, [0.8 + i / 1000 for i in range(len(trials))])
    found = two_runs(every, every)
    assert max(map(len, render_two_runs(found, None).splitlines())) <= 80
    assert '"difference": 0.0' in as_json(found)
