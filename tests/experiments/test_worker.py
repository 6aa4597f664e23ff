import os
import pickle
import signal
from dataclasses import replace
from multiprocessing import active_children

import psutil
import pytest
import yaml

from kfeat.data import Access
from kfeat.errors import ConfigError, EngineError
from kfeat.experiments import worker as module
from kfeat.experiments.row import within_threads
from kfeat.experiments.worker import Worker, WorkerOptions, give_to_worker
from tests.cells import planned
from tests.experiments.stand_ins import Pools, Quick, stand_ins

OPTIONS = WorkerOptions(access=Access(offline=True))
ENDLESS = 1e9


def row_of(worker, trial):
    """Hand a trial to a worker and wait until it has ended."""
    assert worker.start(pickle.dumps(trial))
    return awaited(worker)


def awaited(worker):
    while (row := worker.row()) is None:
        assert worker.connection.poll(60.0), "no row"
    return row


def pid(worker):
    """The process of a worker that has begun to work on a trial, by the only child there is."""
    (child,) = active_children()
    return child.pid or 0


@pytest.mark.slow
@pytest.mark.usefixtures("cold_processes")
def test_every_library_works_on_as_many_threads_as_the_row_says(write, monkeypatch):
    """NumPy's and SciPy's wheels bring an OpenBLAS each, and SciPy's is loaded after the worker's start."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    worker = Worker(replace(OPTIONS, threads=2))
    assert os.environ["OMP_NUM_THREADS"] == "1"
    row = row_of(worker, *stand_ins(write, Pools()))
    worker.kill()
    assert len(row["pools"]) >= 2
    assert [number for _, number in row["pools"]] == [2] * len(row["pools"])
    assert within_threads(row["seconds"], 2)


@pytest.mark.usefixtures("cold_processes")
def test_the_time_limit_counts_the_trials_own_work_only(write):
    """Neither the start of the process and the loading, seconds in all, nor time in which it is suspended."""
    endless, quick = stand_ins(write, Quick(ENDLESS), Quick(0.1))
    worker = Worker(replace(OPTIONS, time_limit=0.3))
    assert worker.start(pickle.dumps(quick))
    assert worker.row() is None  # its work begins
    child = psutil.Process(pid(worker))
    assert child.cpu_times().user > 0.3  # the start alone would have been too long
    child.suspend()
    assert not worker.connection.poll(0.5)
    child.resume()
    assert awaited(worker)["status"] == "done"
    row = row_of(worker, endless)
    assert (row["status"], row["limit_s"], row["phase"]) == ("stopped", 0.3, "map_fit")
    assert row["reason"] == "it had not ended after 0.3 seconds"
    assert not worker.alive
    assert not worker.start(pickle.dumps(quick))


def test_after_a_trial_whose_work_failed_no_limit_runs_on(write):
    failing, later = stand_ins(write, Quick(0.2, "fails"), Quick(0.6, "before"))
    worker = Worker(replace(OPTIONS, time_limit=0.5))
    assert row_of(worker, failing)["status"] == "failed"
    assert row_of(worker, later)["status"] == "done"  # 0.3 seconds of the failed trial's limit were left
    worker.kill()


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
    write, monkeypatch, alone, idle, phase, counts
):
    monkeypatch.setattr(module, "was_idle", lambda others, wall: idle)
    worker = Worker(replace(OPTIONS, alone=alone, time_limit=0.01))
    row = row_of(worker, *stand_ins(write, Quick(ENDLESS, phase)))
    assert (row["status"], row["phase"], row["timed"]) == ("stopped", phase, counts)


def test_a_worker_killed_in_mid_trial_is_a_failed_row(write):
    (endless,) = stand_ins(write, Quick(ENDLESS))
    worker = Worker(replace(OPTIONS, time_limit=1e6))
    assert worker.start(pickle.dumps(endless))
    assert worker.row() is None  # its work begins
    os.kill(pid(worker), signal.SIGKILL)
    row = awaited(worker)
    assert (row["status"], row["id"]) == ("failed", endless.id)
    assert "signal 9" in row["reason"]
    assert not worker.alive
    assert not active_children()


def test_an_interrupted_trial_has_a_row_that_nobody_keeps(write):
    """To say more of it a Dask worker would import the libraries of its map and its solver."""
    (endless,) = stand_ins(write, Quick(ENDLESS))
    worker = Worker(OPTIONS)
    assert worker.start(pickle.dumps(endless))
    worker.interrupt()
    assert awaited(worker) == {"status": "failed", "reason": "interrupted"}
    assert not worker.alive


def test_a_trial_that_cannot_be_unpickled_is_no_row(write):
    """Another version of kfeat sent it: a failed row would say that the trial itself is at fault."""
    worker = Worker(OPTIONS)
    for pickled in (b"cno_such_module\nTrial\n.", b"", b"cbuiltins\nopen\n(S'/nowhere'\ntR."):
        assert worker.start(pickled)
        with pytest.raises(EngineError, match=r"cannot read it \(.*\); it needs the same kfeat"):
            awaited(worker)
    assert row_of(worker, *stand_ins(write, Quick()))["status"] == "done"
    worker.kill()


def test_code_that_is_not_on_this_machine_is_an_error_and_no_row(write, tmp_path):
    """Another Dask worker may have the file."""
    (tmp_path / "gone.py").write_text(
        "class Mine:\n    def fit(self, X): pass\n    def transform(self, X): pass\n"
    )
    path = write()
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(content | {"maps": [{"name": "gone.py:Mine"}]}))
    trial = next(trial for trial in planned(path) if trial.map)
    (tmp_path / "gone.py").unlink()
    worker = Worker(OPTIONS)
    assert worker.start(pickle.dumps(trial))
    with pytest.raises(ConfigError, match=r"gone\.py: this file of code cannot be read"):
        awaited(worker)
    worker.kill()


@pytest.mark.slow
@pytest.mark.usefixtures("cold_processes")
def test_ctrl_c_while_a_worker_starts_is_not_its_own(write, capfd):
    worker = Worker(OPTIONS)
    (trial,) = stand_ins(write, Quick())
    assert worker.start(pickle.dumps(trial))
    while not worker.connection.poll(0.05):
        os.kill(pid(worker), signal.SIGINT)
    assert awaited(worker)["status"] == "done"
    worker.kill()
    assert "Traceback" not in capfd.readouterr().err
    assert not active_children()


def test_a_process_without_a_trial_ends_after_its_rest(write):
    worker = Worker(replace(OPTIONS, rest=0.05))
    first, second = stand_ins(write, Quick(), Quick())
    assert row_of(worker, first)["status"] == "done"
    psutil.Process(pid(worker)).wait(30)
    other = give_to_worker(pickle.dumps(second), [worker], OPTIONS)
    assert other is not worker
    assert awaited(other)["status"] == "done"
    other.kill()
