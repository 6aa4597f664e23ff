"""Two folders of experiments held against each other, trial by trial."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kfeat.analysis.same_trials import same_trials
from kfeat.errors import StoreError
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import ROWS, write_rows
from kfeat.render.comparison import render_same_trials
from tests.cells import fake_row
from tests.cli.test_run import kfeat


def mapped(trials: list[Trial]) -> list[Trial]:
    return [one for one in trials if one.map and one.map.name == "tensor_sketch"]


def rows(trials: list[Trial], accuracies: list[float], **more: Any) -> list[Any]:
    return [fake_row(trial, score, **more) for trial, score in zip(trials, accuracies, strict=True)]


@pytest.fixture
def two(trials: list[Trial], tmp_path: Path) -> tuple[Path, Path]:
    """Five trials in both, of which one changed and one changed by rounding; the exact machine in A only."""
    a, b, some = tmp_path / "a", tmp_path / "b", mapped(trials)
    write_rows(a / "one", rows(some, [0.80, 0.81, 0.82, 0.83, 0.84]))
    write_rows(a / "two" / "search", rows(trials[-1:], [0.9]))
    twice = {phase: {"cpu": 1.0, "wall": 1.2} for phase in fake_row(some[0], 0.8)["seconds"]}
    write_rows(b / "one", rows(some, [0.80 * (1 + 1e-12), 0.81, 0.815, 0.83, 0.84], seconds=twice))
    return a, b


def test_scores_of_the_same_trials_are_counted_by_experiment_and_solver(two: tuple[Path, Path]) -> None:
    one, exact = same_trials(*two)
    assert (one.experiment, one.solver) == ("one", "liblinear")
    assert (one.both, one.equal, one.only_a, one.only_b) == (5, 4, 0, 0)
    assert one.greatest == pytest.approx(-0.5)  # points, in the trial that changed
    assert one.time == pytest.approx(2)
    assert (exact.experiment, exact.both, exact.only_a, exact.only_b) == ("two/search", 0, 1, 0)
    assert exact.time is None


def test_a_trial_stands_with_the_first_experiment_of_a_that_has_it(
    trials: list[Trial], two: tuple[Path, Path]
) -> None:
    a, b = two
    shutil.copytree(b / "one", b / "another")  # as configs share rows
    shutil.rmtree(b / "one")
    one, _ = same_trials(a, b)
    assert (one.experiment, one.both, one.only_b) == ("one", 5, 0)
    stopped = {**fake_row(trials[-1], 0.9), "status": "stopped", "reason": "it took too long", "limit_s": 9.0}
    write_rows(b / "last", [stopped])
    assert [x.only_a for x in same_trials(a, b)] == [0, 1]  # a trial that was stopped is not done


def test_times_of_a_busy_machine_do_not_count(trials: list[Trial], tmp_path: Path) -> None:
    some = mapped(trials)[:1]
    write_rows(tmp_path / "a" / "x", rows(some, [0.8]))
    write_rows(tmp_path / "b" / "x", rows(some, [0.8], timed=False))
    (one,) = same_trials(tmp_path / "a", tmp_path / "b")
    assert (one.both, one.equal, one.greatest, one.time) == (1, 1, None, None)
    unread = replace(one, equal=0, greatest=float("nan"))
    assert "no score in one" in render_same_trials([unread], None)
    least = replace(one, equal=0, greatest=-0.002)  # a row of 50,000
    assert "-0.002 points" in render_same_trials([least], None)


def test_a_folder_without_rows_is_refused(two: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="empty: no rows below it"):
        same_trials(two[0], tmp_path / "empty")


def test_the_table_says_all_and_the_command_takes_folders_of_many(two: tuple[Path, Path]) -> None:
    a, b = two
    shown = kfeat("compare", a, b)
    assert shown.exit_code == 0, shown.output
    assert "-0.50 points" in shown.stdout
    assert "2×" in shown.stdout
    last = "trials in both: 5, with the same score: 4, with another: 1; only in A: 1, only in B: 0"
    assert shown.stdout.endswith(last + "\n")
    assert kfeat("compare", a, b, "--fail-on-difference").exit_code == 1
    assert kfeat("compare", a, a, "--fail-on-difference").exit_code == 0
    narrow = render_same_trials(same_trials(a, b), 60)
    assert max(map(len, narrow.splitlines())) <= 60


def test_a_folder_of_one_experiment_and_one_of_many_do_not_go_together(two: tuple[Path, Path]) -> None:
    a, b = two
    refused = kfeat("compare", a, b / "one")
    assert refused.exit_code == 2
    assert f"{a / ROWS}: no rows" in refused.output
