"""What the Dask engine decides by itself, without any process."""

import asyncio
import os
import pickle
import socket
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from kfeat.cli import main
from kfeat.errors import DataError, EngineError, KfeatError
from kfeat.experiments.engines import opened_engine
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.engines.places import free_worker
from kfeat.experiments.engines.returned import checked
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import check_row
from kfeat.experiments.worker import WorkerOptions
from tests.cells import fake_row

pytest.importorskip("distributed", reason="the Dask engine needs the package distributed")

import dask
from distributed import Client as DaskClient
from distributed import KilledWorker
from distributed.protocol.pickle import dumps as dask_dumps

from kfeat.experiments.engines import dask_worker
from kfeat.experiments.engines.dask import Dask, _Attempt, _Call, dask_engine
from kfeat.experiments.engines.dask_worker import TRIM, TRIM_OF_DASK, Children, leave_memory_to_glibc

Write = Callable[..., Path]
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
def test_a_trial_goes_where_there_is_room_and_no_worker_was_lost_under_it(
    taken: list[str], avoided: list[str], exclusive: bool, place: str | None
) -> None:
    assert free_worker({A1: 1, A2: 1, B1: 2}, taken, avoided, exclusive) == place


def test_no_worker_no_place() -> None:
    assert free_worker({}, [], [], False) is None


class Client:
    """Stands in for Dask's client where nothing is asked of the scheduler but to cancel."""

    def __init__(self, status: str = "running") -> None:
        self.status = status

    def cancel(self, futures: list[Any]) -> None:
        assert len(futures) == 1


class Future:
    """Stands in for Dask's future that is over in some way."""

    def __init__(self, status: str, value: Any = None) -> None:
        self.status, self.value = status, value

    def result(self, timeout: float) -> Any:
        return self.value

    exception = result

    def add_done_callback(self, tell: Callable[[object], None]) -> None:
        if self.status != "pending":
            tell(self)


class Cluster(Client):
    """Stands in for a scheduler: `answer` says by worker and trial's id what becomes of a trial."""

    def __init__(self, *workers: str, answer: Callable[[str, str], Future]) -> None:
        super().__init__()
        self.workers, self.answer = list(workers), answer
        self.sent: list[str] = []

    def cancel(self, futures: list[Any]) -> None:
        """Whatever is cancelled is over."""

    def nthreads(self, callback_timeout: float) -> dict[str, int]:
        return dict.fromkeys(self.workers, 1)

    def submit(self, function: object, task: bytes, key: str, workers: list[str], pure: bool) -> Future:
        (worker,) = workers
        self.sent.append(worker)
        return self.answer(worker, key.partition("-")[0])

    def register_plugin(self, plugin: Children, name: str) -> None:
        self.plugin = name

    def unregister_worker_plugin(self, name: str) -> None:
        assert name == self.plugin
        self.plugin = ""


def events(
    cluster: Cluster, packing: Packing, monkeypatch: pytest.MonkeyPatch
) -> Generator[tuple[int, str], None, None]:
    """The repeat of each trial and what is told of it: that it began, or its row's status."""
    monkeypatch.setattr("kfeat.experiments.engines.dask.LOOK_SECONDS", 0.01)
    engine = Dask(cluster, here=False, exclusive=False)  # type: ignore[arg-type]
    for trial, row in engine.carried_out(packing, WorkerOptions()):
        yield trial.repeat, str(row) if isinstance(row, KfeatError) else row["status"] if row else "began"


@pytest.mark.parametrize(
    "future",
    [Future("pending"), Future("error", KilledWorker("key", None, 3)), Future("finished", None)],
    ids=lambda future: future.status,
)
def test_a_trial_is_tried_again_three_times_and_then_failed(
    trials: list[Trial], future: Future, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Dask(Client(), here=False, exclusive=False)  # type: ignore[arg-type]
    attempt = _Attempt(trials[0], address=A1, future=future)
    assert [engine._row(attempt) for _ in range(3)] == [None] * 3
    assert len(caplog.records) == 3
    row = engine._row(attempt)
    assert row
    check_row(row)
    assert (row["id"], row["status"]) == (trials[0].id, "failed")
    assert row["reason"].startswith(f"each of the 4 Dask workers that took it was lost ({A1}, {A1},")


@pytest.mark.parametrize(
    ("future", "client", "error", "match"),
    [
        (Future("cancelled"), Client(), EngineError, "scheduler was lost"),
        (Future("finished", {}), Client("connecting"), EngineError, "scheduler was lost"),
        (Future("error", OSError("out of order")), Client(), EngineError, "10.0.0.1:1 cannot run trials"),
        (Future("finished", {}), Client(), EngineError, "runs another version of kfeat"),
    ],
)
def test_what_is_no_row_is_an_error(
    trials: list[Trial], future: Future, client: Client, error: type[Exception], match: str
) -> None:
    engine = Dask(client, here=False, exclusive=False)  # type: ignore[arg-type]
    with pytest.raises(error, match=match):
        engine._row(_Attempt(trials[0], address=A1, future=future))


LACKING = Future("error", DataError("own.csv: no such file"))


def test_a_worker_without_the_data_gets_no_more_trials_and_others_take_them(
    trials: list[Trial], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rows = {trial.id: Future("finished", fake_row(trial, 0.5)) for trial in trials}
    cluster = Cluster(A1, B1, answer=lambda worker, trial: LACKING if worker == A1 else rows[trial])
    found = list(events(cluster, Packing(trials), monkeypatch))
    assert sorted(found) == sorted((t.repeat, what) for t in trials for what in ("began", "done"))
    assert cluster.sent.count(A1) == 1
    assert f"own.csv: no such file (on the Dask worker at {A1}); trials go to other workers" in caplog.text
    assert cluster.plugin == ""


def test_a_worker_without_the_data_of_one_experiment_takes_trials_of_others(
    trials: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, *others = [replace(trials[0], fingerprint="own"), *trials[1:4]]
    rows = {trial.id: Future("finished", fake_row(trial, 0.5)) for trial in others}
    cluster = Cluster(A1, answer=lambda worker, trial: LACKING if trial == own.id else rows[trial])
    found = list(events(cluster, Packing([own, *others]), monkeypatch))
    assert [what for _, what in found].count("done") == 3
    assert [what for _, what in found if what.startswith("own.csv: no such file")]
    assert cluster.sent == [A1] * 4


def test_a_worker_without_some_data_works_on_while_those_with_them_are_busy(
    trials: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here B1 never ends its first trial of the data that A1 lacks, and a second one waits for it."""
    first, second = (replace(trial, fingerprint="own") for trial in trials[:2])
    others = trials[2:5]
    rows = {trial.id: Future("finished", fake_row(trial, 0.5)) for trial in others}

    def answer(worker: str, trial: str) -> Future:
        if trial in rows:
            return rows[trial]
        return LACKING if worker == A1 else Future("pending")

    cluster = Cluster(A1, B1, answer=answer)
    running = events(cluster, Packing([first, second, *others]), monkeypatch)
    with closing(running):
        done = 0
        while done < 3:
            done += next(running)[1] == "done"
    assert cluster.sent.count(A1) == 4


def test_what_nobody_wants_any_more_is_cancelled(
    trials: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(A1, answer=lambda worker, trial: Future("pending"))
    cancelled: list[object] = []
    monkeypatch.setattr(cluster, "cancel", cancelled.extend)
    packing = Packing(trials[:2])

    def nobody_wants_them(callback_timeout: float) -> dict[str, int]:
        packing.drop([trial.id for trial in trials[:2]])
        return {A1: 1}

    found = []
    for what in events(cluster, packing, monkeypatch):
        found.append(what)
        monkeypatch.setattr(cluster, "nthreads", nobody_wants_them)
    assert found == [(trials[0].repeat, "began")]
    assert len(cancelled) == 1
    assert not packing.running


def test_data_that_worker_after_worker_does_not_have_end_the_run(
    trials: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = [f"tcp://10.0.0.{i}:1" for i in range(9)]
    cluster = Cluster(*workers, answer=lambda worker, trial: LACKING)
    began, (_, said) = events(cluster, Packing(trials[:1]), monkeypatch)
    assert began == (trials[0].repeat, "began")
    assert said.startswith("own.csv: no such file (on the Dask worker at tcp")
    assert sorted(cluster.sent) == workers


def test_where_the_last_worker_with_the_data_is_lost_the_run_ends(
    trials: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(worker: str, trial: str) -> Future:
        if worker == A1:
            return LACKING
        cluster.workers.remove(worker)
        return Future("pending")

    cluster = Cluster(A1, B1, answer=answer)
    found = list(events(cluster, Packing(trials[:1]), monkeypatch))
    assert found[1:] == [(trials[0].repeat, f"own.csv: no such file (on the Dask worker at {A1})")]
    assert cluster.sent == [A1, B1]


def test_a_trial_whose_worker_is_lost_keeps_its_memory_until_it_has_a_row(
    trials: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = trials[:2]
    rows = {trial.id: Future("finished", fake_row(trial, 0.5)) for trial in (first, second)}

    def answer(worker: str, trial: str) -> Future:
        if worker == A1:
            cluster.workers.remove(worker)
            return Future("pending")
        return rows[trial]

    cluster = Cluster(A1, B1, answer=answer)
    packing = Packing([first, second], {first.id: 60, second.id: 60}, memory=100)
    found = [what for _, what in events(cluster, packing, monkeypatch)]
    assert found == ["began", "done", "began", "done"]
    assert cluster.sent == [A1, B1, B1]


def test_of_the_trials_to_begin_again_one_for_which_there_is_room_passes_the_others(
    trials: list[Trial],
) -> None:
    """Here the only worker with the data of the first is busy."""
    engine = Dask(Client(), here=False, exclusive=False)  # type: ignore[arg-type]
    engine._threads = {A1: 1, B1: 1}
    own, other = (_Attempt(replace(trials[i], fingerprint=f"data {i}"), lost=[A2]) for i in (0, 1))
    engine._without_data = {own.trial.data_key: {A1: DataError("no such file")}}
    again, running = deque([own, other]), {"key": _Attempt(trials[2], address=B1)}
    assert engine._next(Packing(), again, running) == (other, A1)
    assert list(again) == [own]


def test_a_trial_to_begin_again_that_nobody_wants_any_more_does_not(trials: list[Trial]) -> None:
    engine = Dask(Client(), here=False, exclusive=False)  # type: ignore[arg-type]
    engine._threads = {A1: 1}
    packing = Packing(trials[:1])
    again = deque([_Attempt(trial) for trial in [packing.next()] if trial])
    packing.drop([trials[0].id])
    assert engine._next(packing, again, {}) is None
    assert not again
    assert not packing.running


def test_why_no_worker_can_is_what_one_said_that_is_still_there(trials: list[Trial]) -> None:
    engine = Dask(Client(), here=False, exclusive=False)  # type: ignore[arg-type]
    engine._threads = {A1: 1}
    here, gone = DataError("no such file"), DataError("disk full")
    engine._without_data = {trials[0].data_key: {A1: here, B1: gone}}
    assert engine._why_nobody_can(trials[0]) is here


def test_a_child_that_has_just_worked_does_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    child = MagicMock()
    monkeypatch.setattr(dask_worker, "PeriodicCallback", MagicMock())
    monkeypatch.setattr(
        dask_worker, "handed_over", lambda pickled, idle, options: idle.pop() if idle else child
    )
    children = Children(WorkerOptions(), here=True)
    children.setup(None)
    for key in ("a", "b"):
        children.row(key, b"")
        children._end_resting()
    child.kill.assert_not_called()
    children._end_resting()
    child.kill.assert_called_once()


def test_a_row_of_another_version_is_refused(trials: list[Trial]) -> None:
    row = fake_row(trials[0], 0.5)
    assert checked(row, trials[0], A1) is row
    other = row | {"map": row["map"] | {"version": 2}}
    with pytest.raises(EngineError, match="another version of kfeat: its row differs from the trial in map;"):
        checked(other, trials[0], A1)
    with pytest.raises(EngineError, match="accuracy"):
        checked(row | {"accuracy": 2.0}, trials[0], A1)


def test_a_workers_own_mirror_counts_before_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KFEAT_MIRROR", "/its/own")
    options = WorkerOptions(mirror="/of/the/run")
    assert Children(options, here=False).options.mirror == "/its/own"
    assert Children(options, here=True).options.mirror == "/of/the/run"
    monkeypatch.setenv("KFEAT_MIRROR", "its own")
    assert Children(options, here=False).options.mirror == str(Path.cwd() / "its own")
    monkeypatch.setenv("KFEAT_MIRROR", "https://mirror.example/data")
    assert Children(options, here=False).options.mirror == "https://mirror.example/data"
    monkeypatch.delenv("KFEAT_MIRROR")
    assert Children(options, here=False).options.mirror == "/of/the/run"


def test_without_the_package_a_sentence_says_what_to_install(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "kfeat.experiments.engines.dask")
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = CliRunner().invoke(main, ["run", str(write()), "--engine", "dask"])
    assert refused.exit_code == 2
    assert refused.stderr == (
        "kfeat: --engine dask needs the package distributed; pip install distributed adds it\n"
    )


@pytest.mark.parametrize("exclusive", [True, False])
def test_times_count_only_where_each_machine_has_one_trial_at_a_time(
    trials: list[Trial], exclusive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Children] = []

    def register(plugin: Children, name: str) -> None:
        given.append(plugin)
        raise ImportError("No module named 'kfeat'")

    client = Client()
    monkeypatch.setattr(client, "register_plugin", register, raising=False)
    engine = Dask(client, here=True, exclusive=exclusive)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="a Dask worker cannot run trials"):
        list(engine.carried_out(Packing(trials), WorkerOptions(time_limit=5.0)))
    assert given[0].options == WorkerOptions(time_limit=5.0, alone=exclusive, folder=str(Path.cwd()))


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
def test_a_trial_has_the_machine_to_itself_where_it_is_the_only_one(
    address: str | None, jobs: int, exclusive: bool, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kfeat.experiments.engines.dask.dask_client", lambda *_: nullcontext(Client()))
    with dask_engine(address, jobs, exclusive) as engine:
        assert (engine.here, engine.alone) == (address is None, alone)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "ftp://x:1", ""])
def test_where_no_scheduler_answers_a_sentence_says_so(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kfeat.experiments.engines.dask_client.ANSWER_SECONDS", 0.2)
    with (
        pytest.raises(EngineError, match="no Dask scheduler answers at") as refused,
        opened_engine("dask", scheduler=address),
    ):
        pass
    assert "does not speak as Dask does" not in str(refused.value)


def test_what_listens_and_never_greets_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the scheduler's own dashboard, whose address stands below that of the scheduler."""
    monkeypatch.setattr("kfeat.experiments.engines.dask_client.ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(EngineError, match="does not speak as Dask does; its dashboard has another port"),
            opened_engine("dask", scheduler=address),
        ):
            pass


def test_nothing_is_left_of_a_client_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end within the start of another and wait for it."""
    made: list[weakref.ref[DaskClient]] = []

    class Kept(DaskClient):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            made.append(weakref.ref(self))
            super().__init__(*arguments, **options)

    monkeypatch.setattr("kfeat.experiments.engines.dask_client.Client", Kept)
    # as another of its servers answers
    monkeypatch.setattr("kfeat.experiments.engines.dask_client._greet", lambda _: None)
    monkeypatch.setattr("kfeat.experiments.engines.dask_client.ANSWER_SECONDS", 0.2)
    with (
        pytest.raises(EngineError, match="no Dask scheduler answers at"),
        opened_engine("dask", scheduler="tcp://127.0.0.1:9"),
    ):
        pass
    assert [one() for one in made] == [None]


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["--exclusive"], "belong to --engine dask"),
        (["--scheduler", "tcp://h:1"], "belong to --engine dask"),
        (["--engine", "dask", "--scheduler", "tcp://h:1", "--jobs", "2"], "leave --jobs out"),
        (["--engine", "carts"], "'local', 'dask'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(write: Write, options: list[str], advice: str) -> None:
    refused = CliRunner().invoke(main, ["run", str(write()), *options])
    assert refused.exit_code == 2
    assert advice in refused.stderr


def test_a_scheduler_needs_no_kfeat_to_hand_on_a_trial(trials: list[Trial], tmp_path: Path) -> None:
    sent = tmp_path / "task"
    sent.write_bytes(dask_dumps((pickle.loads, pickle.dumps(_Call("children", "key", trials[0])))))
    program = (
        "import sys; from pathlib import Path; from distributed.protocol.pickle import loads\n"
        f"task, argument = loads(Path({str(sent)!r}).read_bytes())\n"
        "print(task.__name__, type(argument).__name__, any(one.startswith('kfeat') for one in sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "loads bytes False\n"


def test_a_worker_hands_a_trial_on_without_its_libraries(trials: list[Trial], tmp_path: Path) -> None:
    """Its child imports them, and would have to wait until the worker itself had, 2 seconds or more."""
    sent = tmp_path / "task"
    sent.write_bytes(pickle.dumps(_Call("children", "key", trials[0])))
    program = (
        "import pickle, sys; from pathlib import Path; from kfeat.experiments.engines import dask_worker\n"
        "dask_worker.run_on_worker = lambda *arguments: arguments\n"
        f"children, key, pickled = pickle.loads(Path({str(sent)!r}).read_bytes())\n"
        "print(children, key, type(pickled).__name__, 'sklearn' in sys.modules)\n"
        "print(pickle.loads(pickled).id)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == f"children key bytes False\n{trials[0].id}\n"


def test_children_have_memory_as_anywhere_else_unless_someone_wished_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shipped = next(one["distributed"]["nanny"] for one in dask.config.defaults if "distributed" in one)
    assert str(shipped["pre-spawn-environ"][TRIM]) == TRIM_OF_DASK
    for value, left in ((TRIM_OF_DASK, None), ("12345", "12345")):
        monkeypatch.setenv(TRIM, value)
        leave_memory_to_glibc()
        assert os.environ.get(TRIM) == left
    monkeypatch.delenv(TRIM)
    leave_memory_to_glibc()
    assert TRIM not in os.environ


def test_setting_up_a_worker_leaves_memory_to_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    async def set_up() -> None:
        children = Children(WorkerOptions(), here=True)
        children.setup(None)
        children.teardown(None)

    monkeypatch.setenv(TRIM, TRIM_OF_DASK)
    asyncio.run(set_up())
    assert TRIM not in os.environ
