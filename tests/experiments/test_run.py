import logging
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from kfeat.cli.progress import Quiet
from kfeat.experiments.engine import Local
from kfeat.experiments.run import run_trials
from kfeat.experiments.schedule import Event
from kfeat.experiments.store import Store, read_rows
from kfeat.experiments.trial import run_trial
from kfeat.experiments.worker import WorkerOptions
from tests.experiments.stand_ins import Quick, Raises, Scores, stand_ins

Write = Callable[..., Path]
OPTIONS = WorkerOptions(offline=True)
HOW = {"threads": 1, "alone": True, "mirror": None, "offline": True}


class Killer(Quiet):
    """Ends the idle worker after each trial, as a system short of memory may."""

    def tell(self, event: Event) -> None:
        for child in active_children() if event.what == "finished" else []:
            child.kill()
            child.join()


def test_a_worker_that_died_while_idle_costs_no_trial(write: Write, tmp_path: Path) -> None:
    trials = stand_ins(write, Quick(), Quick())
    with Local(OPTIONS) as engine:
        rows = run_trials(trials, tmp_path / "out", engine, Killer())
    assert [rows[trial.id]["status"] for trial in trials] == ["done", "done"]


def test_after_a_stopped_trial_the_next_has_its_whole_limit(write: Write, tmp_path: Path) -> None:
    trials = stand_ins(write, Quick(1e9), Quick(0.1))
    with Local(replace(OPTIONS, time_limit=0.3)) as engine:
        rows = run_trials(trials, tmp_path / "out", engine, Quiet())
    assert [rows[trial.id]["status"] for trial in trials] == ["stopped", "done"]


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
