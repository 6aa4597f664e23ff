import os
import pickle
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import active_children
from multiprocessing.connection import wait
from pathlib import Path

import psutil
import pytest

from kfeat.errors import EngineError
from kfeat.experiments import worker as module
from kfeat.experiments.clock import Phase
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, within_threads
from kfeat.experiments.worker import Worker, WorkerOptions
from tests.experiments.stand_ins import Pools, Quick, stand_ins

Write = Callable[..., Path]
OPTIONS = WorkerOptions(offline=True)
ENDLESS = 1e9


def row_of(worker: Worker, trial: Trial, seconds: float = 30.0) -> Row:
    """Hand a trial to a worker and wait until it has ended."""
    assert worker.start(pickle.dumps(trial))
    return awaited(worker, seconds)


def awaited(worker: Worker, seconds: float = 30.0) -> Row:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        wait([worker.connection], min(worker.patience, 1.0))
        row = worker.row()
        if row is not None:
            return row
    raise AssertionError("no row")


@pytest.mark.parametrize("threads", [1, 2])
def test_every_library_works_on_as_many_threads_as_the_row_says(
    write: Write, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """NumPy's and SciPy's wheels bring an OpenBLAS each, and SciPy's is loaded after the worker's start."""
    before = os.environ.get("OMP_NUM_THREADS")
    worker = Worker(replace(OPTIONS, threads=threads))
    assert os.environ.get("OMP_NUM_THREADS") == before
    row = row_of(worker, *stand_ins(write, Pools()))
    worker.kill()
    assert len(row["pools"]) >= 2
    assert [number for _, number in row["pools"]] == [threads] * len(row["pools"])
    assert within_threads(row["seconds"], threads)


def test_the_time_limit_counts_the_trials_own_work_only(write: Write) -> None:
    """Neither the start of the process and the loading, seconds in all, nor time in which it is suspended."""
    endless, quick = stand_ins(write, Quick(ENDLESS), Quick(0.1))
    worker = Worker(replace(OPTIONS, time_limit=0.3))
    assert worker.start(pickle.dumps(quick))
    while worker._phase is None:
        worker.connection.poll(1.0)
        assert worker.row() is None
    child = psutil.Process(worker._process.pid)
    child.suspend()
    for _ in range(10):
        time.sleep(0.05)
        assert worker.row() is None
    child.resume()
    assert awaited(worker)["status"] == "done"
    began = child.cpu_times().user
    row = row_of(worker, endless)
    assert (row["status"], row["limit_s"]) == ("stopped", 0.3)
    assert began > 0.3  # the start alone would have been too long
    assert not worker.alive


@pytest.mark.parametrize(
    ("alone", "idle", "phase", "counts"),
    [
        (True, True, "train", True),
        (False, True, "train", False),
        (True, False, "train", False),
        (True, True, "predict", False),  # what mapping and training took is less than the limit then
    ],
)
def test_a_stopped_trial_counts_only_alone_on_an_idle_machine_and_before_the_test_rows(
    write: Write, monkeypatch: pytest.MonkeyPatch, alone: bool, idle: bool, phase: str, counts: bool
) -> None:
    worker = Worker(replace(OPTIONS, alone=alone, time_limit=0.01))
    worker.start(pickle.dumps(*stand_ins(write, Quick())))
    monkeypatch.setattr(module, "was_idle", lambda others, wall: idle)
    row = worker._stopped(Phase(phase, 0.0, 0.0))
    assert row["timed"] == counts
    assert (row["status"], row["limit_s"]) == ("stopped", 0.01)
    assert not worker.alive
    assert not worker.start(pickle.dumps(*stand_ins(write, Quick())))


def test_a_worker_killed_in_mid_trial_is_a_failed_row(write: Write) -> None:
    (endless,) = stand_ins(write, Quick(ENDLESS))
    worker = Worker(OPTIONS)
    assert worker.start(pickle.dumps(endless))
    while worker._phase is None:
        worker.connection.poll(1.0)
        assert worker.row() is None
    os.kill(worker._process.pid or 0, signal.SIGKILL)
    row = awaited(worker)
    assert (row["status"], row["id"]) == ("failed", endless.id)
    assert "signal 9" in row["reason"]
    assert not worker.alive
    assert not active_children()


def test_an_interrupted_trial_has_a_row_that_nobody_keeps(write: Write) -> None:
    """To say more of it a Dask worker would import the libraries of its map and its solver."""
    (endless,) = stand_ins(write, Quick(ENDLESS))
    worker = Worker(OPTIONS)
    assert worker.start(pickle.dumps(endless))
    worker.interrupt()
    assert awaited(worker) == {"status": "failed", "reason": "interrupted"}
    assert not worker.alive


def test_a_trial_that_cannot_be_unpickled_is_no_row(write: Write) -> None:
    """Another version of kfeat sent it: a failed row would say that the trial itself is at fault."""
    worker = Worker(OPTIONS)
    for pickled in (b"cno_such_module\nTrial\n.", b"", b"cbuiltins\nopen\n(S'/nowhere'\ntR."):
        assert worker.start(pickled)
        with pytest.raises(EngineError, match=r"cannot read it \(.*\); it needs the same kfeat"):
            awaited(worker)
    assert row_of(worker, *stand_ins(write, Quick()))["status"] == "done"
    worker.kill()


def test_ctrl_c_while_a_worker_starts_is_not_its_own(write: Write, capfd: pytest.CaptureFixture[str]) -> None:
    worker = Worker(OPTIONS)
    (trial,) = stand_ins(write, Quick())
    assert worker.start(pickle.dumps(trial))
    while worker.row() is None:
        os.kill(worker._process.pid or 0, signal.SIGINT)
        time.sleep(0.05)
        assert worker.alive
    worker.kill()
    assert "Traceback" not in capfd.readouterr().err
    assert not active_children()
