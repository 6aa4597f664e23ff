import logging
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from kfeat.cli.progress import Quiet
from kfeat.data.generators import Dense
from kfeat.data.large import LargeQuadric
from kfeat.experiments.folder_lock import LOCK
from kfeat.experiments.in_turn import fetch
from kfeat.experiments.pending import pending
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.run import run_pending, run_trials
from kfeat.experiments.store import Store, read_rows
from kfeat.experiments.trial import run_trial
from kfeat.experiments.worker import WorkerOptions
from tests.experiments.rows import row
from tests.experiments.stand_ins import Quick, Raises, Scores, stand_ins

Write = Callable[..., Path]
OPTIONS = WorkerOptions(offline=True)
HOW = {"threads": 1, "alone": True, "mirror": None, "offline": True}


class Killer(Quiet):
    """Ends the idle worker after each trial, as a system short of memory may."""

    def finished(self, trial: Trial, row: Row) -> None:
        for child in active_children():
            child.kill()
            child.join()


def test_a_worker_that_died_while_idle_costs_no_trial(write: Write, tmp_path: Path) -> None:
    trials = stand_ins(write, Quick(), Quick())
    rows = run_trials(trials, tmp_path / "out", OPTIONS, Killer())
    assert [row["status"] for row in rows] == ["done", "done"]


def test_after_a_stopped_trial_the_next_has_its_whole_limit(write: Write, tmp_path: Path) -> None:
    trials = stand_ins(write, Quick(1e9), Quick(0.1))
    rows = run_trials(trials, tmp_path / "out", replace(OPTIONS, time_limit=0.3), Quiet())
    assert [row["status"] for row in rows] == ["stopped", "done"]


def test_what_to_run_is_found_out_under_the_lock(write: Write, tmp_path: Path) -> None:
    """A process that waited for data meanwhile does not repeat what another one did."""
    trials = stand_ins(write, Quick(), Quick())

    locked = []

    def rows() -> dict[str, Row]:
        try:
            with FileLock(tmp_path / LOCK, timeout=0):
                locked.append(False)
                return {}  # at the first look, for the data that are needed
        except Timeout:
            locked.append(True)
            return {trial.id: row(trial.id) for trial in trials}

    assert run_pending(trials, rows, tmp_path, OPTIONS, Quiet()) == []
    assert locked == [False, True]


def test_seconds_on_more_threads_than_the_row_says_are_measured_anew(write: Write) -> None:
    one, two = stand_ins(write, Quick(), Quick())
    rows = {
        one.id: row(one.id),
        two.id: row(two.id, seconds={"train": {"cpu": 1.8, "wall": 1.0}}),
    }
    assert pending([one, two], rows) == []
    assert pending([one, two], rows, "untimed") == [two]


def test_only_as_much_is_timed_again_as_gives_each_cell_its_number_of_timed_runs(write: Write) -> None:
    trials = stand_ins(write, *(Quick() for _ in range(5)))
    timed = [False, True, False, False, None]  # None: without a row, so that it runs anyway
    rows = {t.id: row(t.id, timed=done) for t, done in zip(trials, timed, strict=True) if done is not None}
    found = {
        again: [trials.index(trial) for trial in pending(trials, rows, again)] for again in (1, 2, 3, 4, 9)
    }
    assert found == {1: [4], 2: [4], 3: [0, 4], 4: [0, 2, 4], 9: [0, 2, 3, 4]}
    assert pending(trials, rows, "untimed") == pending(trials, rows, 9)
    rows[trials[1].id] = row(trials[1].id, "failed")  # it runs, and may fail again
    assert pending(trials[:4], rows, 1) == trials[:2]


@pytest.mark.parametrize("error", [TypeError, IndexError, RecursionError, RuntimeError])
def test_an_error_that_nobody_foresaw_is_a_failed_row(
    write: Write, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    caplog.set_level(logging.DEBUG, logger="kfeat")
    made = run_trial(*stand_ins(write, Raises(error)), **HOW)
    assert (made["status"], made["reason"]) == ("failed", f"{error.__name__}: out of the blue")
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -1e200])
def test_a_score_that_is_not_finite_is_a_failed_row_and_the_others_run(
    write: Write, tmp_path: Path, score: float
) -> None:
    made = run_trial(*stand_ins(write, Scores(score)), **HOW)
    assert made["status"] == "failed"
    assert "mean_square: " in made["reason"]
    with Store(tmp_path) as store:
        store.append(made)
    assert read_rows(tmp_path)


def test_generated_data_that_no_cache_keeps_are_made_where_they_are_used_alone(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    (trial,) = stand_ins(write, Quick())
    loaded: list[object] = []
    monkeypatch.setattr("kfeat.experiments.in_turn.load_raw", lambda source, **_: loaded.append(source))
    small = Dense(name="dense", n=10, d=2)
    large = LargeQuadric(name="large_quadric", n=10, d=2)
    fetch([replace(trial, source=source) for source in (small, large, "adult")], OPTIONS, Quiet())
    assert loaded == [large, "adult"]
