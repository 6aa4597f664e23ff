"""What the Dask engine decides by itself, without any process."""

import pickle
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

pytest.importorskip("distributed", reason="the Dask engine needs the package distributed")

from distributed import KilledWorker
from distributed.protocol.pickle import dumps as dask_dumps

from kfeat.cli import main
from kfeat.cli.progress import Quiet
from kfeat.data import Access
from kfeat.errors import DataError, EngineError
from kfeat.experiments.dask_engine import Dask, _Call, free_worker
from kfeat.experiments.dask_worker import Children
from kfeat.experiments.engine import opened_engine
from kfeat.experiments.row import check_row
from kfeat.experiments.run import run_trials
from kfeat.experiments.worker import WorkerOptions
from tests.cells import fake_row

A1, A2, B1 = "tcp://10.0.0.1:1", "tcp://10.0.0.1:2", "tcp://10.0.0.2:1"


@pytest.mark.parametrize(
    ("taken", "avoided", "exclusive", "place"),
    [
        ([], [], False, A1),
        ([A1], [], False, A2),
        ([A1, A2], [], False, B1),
        ([A1, B1], [], False, A2),
        ([A1, A2, B1], [], False, B1),
        ([A1, A2, B1, B1], [], False, None),
        ([A1], [], True, B1),
        ([A2, B1], [], True, None),
        ([], [A2], False, B1),
        ([B1, B1], [A2], False, A1),
        ([B1], [A2], True, A1),
    ],
)
def test_a_trial_goes_where_there_is_room_and_no_worker_was_lost_under_it(taken, avoided, exclusive, place):
    assert free_worker({A1: 1, A2: 1, B1: 2}, taken, avoided, exclusive) == place


class Future:
    """Stands in for Dask's future that is over in some way."""

    def __init__(self, status, value=None):
        self.status, self.value = status, value

    def result(self, timeout):
        return self.value

    exception = result

    def add_done_callback(self, tell):
        if self.status != "pending":
            tell(self)


LACKING = Future("error", DataError("own.csv: no such file"))


class Cluster:
    """Stands in for a client of a scheduler: `answer` says by worker and trial's id what becomes of it."""

    status = "running"

    def __init__(self, *workers, answer):
        self.workers, self.answer = list(workers), answer
        self.sent = []
        self.cancelled = []

    def cancel(self, futures):
        self.cancelled += futures

    def nthreads(self, callback_timeout):
        return dict.fromkeys(self.workers, 1)

    def submit(self, function, task, key, workers, pure):
        (worker,) = workers
        self.sent.append(worker)
        return self.answer(worker, key.partition("-")[0])


@pytest.fixture
def dask_of(monkeypatch):
    monkeypatch.setattr("kfeat.experiments.dask_engine.LOOK_SECONDS", 0.01)
    return lambda cluster: Dask(cluster, WorkerOptions(), here=False, exclusive=False)


@pytest.mark.parametrize(
    "future",
    [Future("pending"), Future("error", KilledWorker("key", None, 3)), Future("finished", None)],
    ids=lambda future: future.status,
)
def test_a_trial_begins_again_three_times_and_has_then_failed(trials, future, tmp_path, dask_of, caplog):
    def answer(worker, trial):
        if future.status == "pending":
            cluster.workers = [f"tcp://10.0.0.{len(cluster.sent) + 1}:1"]
        return future

    cluster = Cluster(A1, answer=answer)
    (row,) = run_trials(trials[:1], tmp_path, dask_of(cluster), Quiet()).values()
    check_row(row)
    assert (row["id"], row["status"]) == (trials[0].id, "failed")
    assert row["reason"].startswith(f"each of the 4 Dask workers that took it was lost ({A1}, ")
    assert [one.message for one in caplog.records if "its trial begins again" in one.message][2:]
    assert len(cluster.sent) == 4


@pytest.mark.parametrize(
    ("future", "status", "match"),
    [
        (Future("cancelled"), "running", "scheduler was lost"),
        (Future("finished", {}), "connecting", "scheduler was lost"),
        (Future("error", OSError("out of order")), "running", "10.0.0.1:1 cannot run trials"),
        (Future("error", EngineError("cannot read it")), "running", "cannot read it .on the Dask worker at"),
        (
            Future("finished"),
            "running",
            "another version of kfeat: its row differs from the trial in map;",
        ),
    ],
)
def test_what_is_no_row_of_the_trial_is_an_error(trials, tmp_path, dask_of, future, status, match):
    if match.startswith("another version"):
        other = fake_row(trials[0], 0.5)
        future.value = other | {"map": other["map"] | {"version": 2}}

    def answer(worker, trial):
        cluster.status = status
        return future

    cluster = Cluster(A1, answer=answer)
    with pytest.raises(EngineError, match=match):
        run_trials(trials[:1], tmp_path, dask_of(cluster), Quiet())


def test_a_worker_without_the_data_hands_trials_on_to_others(trials, tmp_path, dask_of, caplog):
    answers = {trial.id: Future("finished", fake_row(trial, 0.5)) for trial in trials}
    cluster = Cluster(A1, B1, answer=lambda worker, trial: LACKING if worker == A1 else answers[trial])
    rows = run_trials(trials, tmp_path, dask_of(cluster), Quiet())
    assert [rows[trial.id]["status"] for trial in trials] == ["done"] * len(trials)
    assert f"own.csv: no such file (on the Dask worker at {A1}); its trial goes to another" in caplog.text


@pytest.mark.parametrize("loses", [False, True])
def test_data_that_no_worker_has_end_the_run(trials, tmp_path, dask_of, loses):
    """Where the last worker with them is lost, too."""
    workers = [f"tcp://10.0.0.{i}:1" for i in range(9)]

    def answer(worker, trial):
        if loses and worker == workers[-1]:
            cluster.workers.remove(worker)
            return Future("pending")
        return LACKING

    cluster = Cluster(*workers, answer=answer)
    with pytest.raises(DataError, match=r"own.csv: no such file .on the Dask worker at tcp"):
        run_trials(trials[:1], tmp_path, dask_of(cluster), Quiet())
    assert sorted(cluster.sent) == workers


def test_what_nobody_wants_any_more_is_cancelled(trials, dask_of):
    futures = {trial.id: Future("pending") for trial in trials}
    engine = dask_of(cluster := Cluster(A1, B1, answer=lambda _, trial: futures[trial]))
    assert not engine.has_room()  # before the first look
    engine.events()
    engine.submit(trials[0])
    engine.submit(trials[1])
    assert not engine.has_room()
    engine.cancel([trials[1].id])
    assert cluster.cancelled == [futures[trials[1].id]]
    assert engine.has_room()


def test_a_workers_own_mirror_counts_before_that_of_the_run(monkeypatch):
    monkeypatch.setenv("KFEAT_MIRROR", "/its/own")
    options = WorkerOptions(access=Access("/of/the/run"))
    assert Children(options, here=False).options.access.mirror == "/its/own"
    assert Children(options, here=True).options.access.mirror == "/of/the/run"
    monkeypatch.setenv("KFEAT_MIRROR", "its own")
    assert Children(options, here=False).options.access.mirror == str(Path.cwd() / "its own")
    monkeypatch.setenv("KFEAT_MIRROR", "https://mirror.example/data")
    assert Children(options, here=False).options.access.mirror == "https://mirror.example/data"
    monkeypatch.delenv("KFEAT_MIRROR")
    assert Children(options, here=False).options.access.mirror == "/of/the/run"


def test_without_the_package_a_sentence_says_what_to_install(write, monkeypatch):
    monkeypatch.delitem(sys.modules, "kfeat.experiments.dask_engine")
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = CliRunner().invoke(main, ["run", str(write()), "--engine", "dask"])
    assert refused.exit_code == 2
    assert refused.stderr == (
        "kfeat: --engine dask needs the package distributed; install it with `pip install distributed`\n"
    )


@pytest.mark.parametrize(
    ("address", "jobs", "exclusive", "alone"),
    [
        (None, 1, False, True),
        (None, 2, False, False),
        (None, 2, True, True),
        (A1, 1, False, False),
        (A1, 1, True, True),
    ],
)
def test_times_count_only_where_each_machine_has_one_trial_at_a_time(
    address, jobs, exclusive, alone, monkeypatch
):
    client = MagicMock(status="running")
    monkeypatch.setattr("kfeat.experiments.dask_engine.dask_client", lambda *_: nullcontext(client))
    with opened_engine("dask", jobs, address, exclusive, WorkerOptions(time_limit=5.0)) as engine:
        assert (engine.here, engine.alone, engine.options.alone) == (address is None, alone, alone)
    given = client.register_plugin.call_args.args[0].options
    assert (given.time_limit, given.folder) == (5.0, str(Path.cwd()))
    client.unregister_worker_plugin.assert_called_once()
    client.register_plugin.side_effect = ImportError("No module named 'kfeat'")
    with (
        pytest.raises(EngineError, match="a Dask worker cannot run trials"),
        opened_engine("dask", jobs, address, exclusive, WorkerOptions()),
    ):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "ftp://x:1", ""])
def test_where_no_scheduler_answers_a_sentence_says_so(address, monkeypatch):
    monkeypatch.setattr("kfeat.experiments.dask_client.ANSWER_SECONDS", 0.2)
    with (
        pytest.raises(EngineError, match="no Dask scheduler answers at") as refused,
        opened_engine("dask", 1, address, False, WorkerOptions()),
    ):
        pass
    assert "is not a Dask scheduler" not in str(refused.value)


@pytest.mark.slow
def test_a_scheduler_needs_no_kfeat_to_hand_on_a_trial(trials, tmp_path):
    sent = tmp_path / "task"
    sent.write_bytes(dask_dumps((pickle.loads, pickle.dumps(_Call("children", "key", trials[0])))))
    program = (
        "import sys; from pathlib import Path; from distributed.protocol.pickle import loads\n"
        f"task, argument = loads(Path({str(sent)!r}).read_bytes())\n"
        "print(task.__name__, type(argument).__name__, any(one.startswith('kfeat') for one in sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "loads bytes False\n"


@pytest.mark.slow
def test_a_worker_hands_a_trial_on_without_its_libraries(trials, tmp_path):
    """Its child imports them, and would have to wait until the worker itself had, 2 seconds or more."""
    sent = tmp_path / "task"
    sent.write_bytes(pickle.dumps(_Call("children", "key", trials[0])))
    program = (
        "import pickle, sys; from pathlib import Path; from kfeat.experiments import dask_worker\n"
        "dask_worker.run_on_worker = lambda *arguments: arguments\n"
        f"children, key, pickled = pickle.loads(Path({str(sent)!r}).read_bytes())\n"
        "print(children, key, type(pickled).__name__, 'sklearn' in sys.modules)\n"
        "print(pickle.loads(pickled).id)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == f"children key bytes False\n{trials[0].id}\n"
