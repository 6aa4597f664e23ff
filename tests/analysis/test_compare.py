"""Two runs held against each other cell by cell, and two folders of experiments trial by trial."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import t

from kfeat.analysis.compare import same_trials, two_runs
from kfeat.errors import StoreError
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import ROWS, write_rows
from kfeat.render.comparison import render_same_trials, render_two_runs
from tests.cells import fake_row
from tests.cli.test_run import kfeat


@pytest.fixture
def some(trials: list[Trial]) -> list[Trial]:
    """The five trials of Tensor Sketch."""
    return [one for one in trials if one.map and one.map.name == "tensor_sketch"]


def rows(trials: list[Trial], accuracies: list[float], **more: Any) -> list[Any]:
    return [fake_row(trial, score, **more) for trial, score in zip(trials, accuracies, strict=True)]


def test_the_same_seeds_are_compared_in_pairs(some: list[Trial]) -> None:
    base = [0.80, 0.90, 0.70, 0.85, 0.75]
    better = [x + d for x, d in zip(base, [0.010, 0.012, 0.009, 0.011, 0.008], strict=True)]
    score, *_ = two_runs(rows(some, base), rows(some, better)).differences
    assert score.change == pytest.approx(1.0)  # points; the spread of either is eight times that
    assert score.differs
    half = t.ppf(0.975, 4) * 0.15811388 / 5**0.5
    assert score.interval == pytest.approx((1 - half, 1 + half))


def test_other_seeds_are_compared_by_welch_and_do_not_differ(some: list[Trial]) -> None:
    theirs = rows(some, [0.81, 0.91, 0.71, 0.86, 0.76])
    theirs = [{**row, "id": f"x{i}", "seeds": {"map": i}} for i, row in enumerate(theirs)]
    found = two_runs(rows(some, [0.80, 0.90, 0.70, 0.85, 0.75]), theirs)
    half = t.ppf(0.975, 8) * (2 * 7.9056942**2 / 5) ** 0.5
    assert found.differences[0].interval == pytest.approx((1 - half, 1 + half))
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


def test_one_random_run_each_cannot_tell_unless_it_is_the_same_trial(some: list[Trial]) -> None:
    a, b = rows(some[:1], [0.8]), rows(some[:1], [0.9])
    assert two_runs(a, b).differences[0].differs is True  # the same computation
    other = [{**b[0], "id": "other", "seeds": {"map": 1}}]
    assert two_runs(a, other).differences[0].differs is None


def test_times_are_ratios_and_a_busy_machine_s_do_not_count(some: list[Trial]) -> None:
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


def test_a_cell_that_one_run_lacks_is_a_difference_and_the_table_fits_80_columns(
    trials: list[Trial], some: list[Trial]
) -> None:
    a, b = rows(trials[-1:], [0.8]), rows(some, [0.8] * 5)
    found = two_runs(a + b, b)
    assert len(found.only_a) == 1
    assert "exact" in found.only_a[0]
    assert found.differ
    assert not two_runs(a + b, a + b).differ
    assert max(map(len, render_two_runs(found, None).splitlines())) <= 80


@pytest.fixture
def two(trials: list[Trial], some: list[Trial], tmp_path: Path) -> tuple[Path, Path]:
    """Five trials in both, of which one changed and one changed by rounding; the exact machine in A only."""
    a, b = tmp_path / "a", tmp_path / "b"
    write_rows(a / "one", rows(some, [0.80, 0.81, 0.82, 0.83, 0.84]))
    write_rows(a / "two" / "search", rows(trials[-1:], [0.9]))
    twice = {phase: {"cpu": 1.0, "wall": 1.2} for phase in fake_row(some[0], 0.8)["seconds"]}
    write_rows(b / "one", rows(some, [0.80 * (1 + 1e-12), 0.81, 0.815, 0.83, 0.84], seconds=twice))
    return a, b


def counts(a: Path, b: Path) -> list[tuple[Any, ...]]:
    names = ["experiment", "solver", "both", "equal", "only_a", "only_b"]
    return list(same_trials(a, b)[names].itertuples(index=False, name=None))


def test_scores_of_the_same_trials_are_counted_by_experiment_and_solver(two: tuple[Path, Path]) -> None:
    assert counts(*two) == [("one", "liblinear", 5, 4, 0, 0), ("two/search", "libsvm", 0, 0, 1, 0)]
    found = same_trials(*two)
    assert found["change"][0] == pytest.approx(-0.5)  # points, in the trial that changed
    assert found["time"][0] == pytest.approx(2)
    shown = kfeat("compare", *two)
    assert shown.exit_code == 0, shown.output
    assert "-0.50 points" in shown.stdout
    assert "2×" in shown.stdout
    last = "trials in both: 5, with the same score: 4, with another: 1; only in A: 1, only in B: 0"
    assert shown.stdout.endswith(last + "\n")
    assert kfeat("compare", *two, "--fail-on-difference").exit_code == 1
    assert kfeat("compare", two[0], two[0], "--fail-on-difference").exit_code == 0
    assert max(map(len, render_same_trials(found, 60).splitlines())) <= 60


def test_a_trial_stands_with_the_first_experiment_of_a_that_has_it(
    trials: list[Trial], two: tuple[Path, Path]
) -> None:
    a, b = two
    shutil.copytree(b / "one", b / "another")  # as configs share rows
    shutil.rmtree(b / "one")
    stopped = {**fake_row(trials[-1], 0.9), "status": "stopped", "reason": "it took too long", "limit_s": 9.0}
    write_rows(b / "last", [stopped])  # a trial that was stopped is not done
    assert counts(a, b) == [("one", "liblinear", 5, 4, 0, 0), ("two/search", "libsvm", 0, 0, 1, 0)]


def test_times_of_a_busy_machine_do_not_count_and_a_lost_or_a_small_change_shows(
    some: list[Trial], tmp_path: Path
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    write_rows(a / "x", rows(some[:1], [0.8]))
    (same,) = rows(some[:1], [0.8])
    another = {key: value for key, value in same.items() if key != "accuracy"} | {"relative_error": 0.1}
    for row, said in (
        (same | {"timed": False}, "–     –"),
        (same | {"accuracy": 0.79998}, "-0.002 points"),  # a row of 50,000
        (another, "no score in one"),
    ):
        write_rows(b / "x", [row])
        assert said in render_same_trials(same_trials(a, b), None)


def test_folders_without_rows_are_refused(two: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = two
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="empty: no rows below it"):
        same_trials(a, tmp_path / "empty")
    refused = kfeat("compare", a, b / "one")  # one of many experiments, and one of one
    assert refused.exit_code == 2
    assert f"{a / ROWS}: no rows" in refused.output
