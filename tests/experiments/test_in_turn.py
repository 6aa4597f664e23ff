"""Experiments in turn, with an engine whose trials take seconds that nobody waits for."""

import heapq
import random
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from kfeat.cli.progress import Quiet
from kfeat.errors import DataError, KfeatError, StoreError
from kfeat.experiments.engines.base import Event
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.folder_lock import LOCK
from kfeat.experiments.in_turn import InTurn, Part, Wanted
from kfeat.experiments.load import load_experiment
from kfeat.experiments.observer import Begun
from kfeat.experiments.order import Order
from kfeat.experiments.pending import Again
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.row import Row
from kfeat.experiments.run import run_experiments
from kfeat.experiments.store import Store, gathered_rows, read_rows
from kfeat.experiments.worker import WorkerOptions
from kfeat.memory import USABLE
from tests.cells import fake_row

Write = Callable[..., Path]


class Clockwork:
    """An engine with `jobs` places, whose trials take seconds by their repeat, one if none are given."""

    here = False

    def __init__(self, jobs: int, seconds: dict[int, float], broken: Iterable[int] = ()) -> None:
        self.jobs, self.seconds, self.broken = jobs, seconds, set(broken)
        self.failing: set[int] = set()
        self.running: list[tuple[float, int, Trial]] = []  # and when each ends
        self.alone = jobs == 1
        self.now = 0.0
        self.ran: list[int] = []

    def carried_out(self, packing: Packing, options: WorkerOptions) -> Generator[Event, None, None]:
        busy = self.running
        while busy or packing.any_left():
            for entry in [one for one in busy if one[2].id in packing.unwanted]:
                busy.remove(entry)
                packing.ended(entry[2])
            heapq.heapify(busy)
            while len(busy) < self.jobs and (trial := packing.next()):
                self.ran.append(trial.repeat)
                heapq.heappush(busy, (self.now + self.seconds.get(trial.repeat, 1.0), len(self.ran), trial))
                yield Event(trial)
            if not busy:
                continue
            self.now, _, trial = heapq.heappop(busy)
            packing.ended(trial)
            yield Event(trial, self._outcome(trial))

    def _outcome(self, trial: Trial) -> Row | KfeatError:
        if trial.repeat in self.broken:
            return DataError("own.csv: no such file")
        failed = {"status": "failed", "reason": "out of luck"} if trial.repeat in self.failing else {}
        return fake_row(trial, 0.5, **failed)


class Notes(Quiet):
    """Keeps what happens, by the names of experiments and the repeats of trials."""

    def __init__(self) -> None:
        super().__init__()
        self.told_of: list[str] = []
        self.begun: dict[str, Begun] = {}
        self.expected: dict[str, int] = {}

    def expect(self, experiment: str, seconds: Sequence[float | None]) -> None:
        super().expect(experiment, seconds)
        self.expected[experiment] = len(seconds)

    def begin(self, begun: Begun) -> None:
        super().begin(begun)
        self.begun[begun.experiment] = begun
        self.told_of.append(f"begin {begun.experiment}")

    def started(self, trial: Trial) -> None:
        super().started(trial)
        self.told_of.append(f"start {trial.repeat}")

    def end(self, experiment: str, left: Collection[str], error: KfeatError | None) -> None:
        super().end(experiment, left, error)
        self.told_of.append(f"end {experiment}")


class Turns:
    """Parts of a run in a folder, by their names, each with some of the trials."""

    def __init__(
        self, folder: Path, trials: list[Trial], engine: Clockwork, again: Again = "nothing"
    ) -> None:
        self.folder, self.trials, self.engine, self.again = folder, trials, engine, again
        self.notes = Notes()
        self.memory: int | None = None
        self.errors: dict[str, KfeatError | None] = {}

    def ran(self, **parts: tuple[list[int], list[str]]) -> "Turns":
        """Carry out parts, each given by the repeats of its trials and the names of those it shares with."""
        wanted = [self._wanted(name, *part) for name, part in parts.items()]
        run = InTurn(wanted, WorkerOptions(memory=self.memory), self.notes, self.engine, self.again)
        for part in run.carried_out():
            self.notes.told_of.append(f"told {part.wanted.name}")
            self.errors[part.wanted.name] = part.error
        return self

    def _wanted(self, name: str, repeats: list[int], rows_from: list[str]) -> Wanted:
        def rows() -> dict[str, Row]:
            return gathered_rows(self.folder, [name, *rows_from])

        plan = [self.trials[repeat] for repeat in repeats]
        return Wanted(name, self.folder / name, lambda: plan, rows, rows_from=rows_from)

    def saved(self, name: str) -> list[int]:
        """The repeats of the rows in a part's folder."""
        return sorted(row["repeat"] for row in read_rows(self.folder / name).values())


@pytest.fixture
def turns(write: Write, tmp_path: Path) -> Callable[..., Turns]:
    experiment = load_experiment(write(), repeats=40)
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    trials = [trial for trial in trials if trial.map and trial.map.name == "tensor_sketch"]

    def made(jobs: int, again: Again = "nothing", broken: Iterable[int] = (), **seconds: float) -> Turns:
        given = {int(key.lstrip("t")): value for key, value in seconds.items()}
        return Turns(tmp_path / "out", trials, Clockwork(jobs, given, broken), again)

    return made


def test_trials_of_the_next_take_what_the_last_of_one_leaves_free(turns: Callable[..., Turns]) -> None:
    run = turns(2, t0=9.0).ran(a=([0, 1], []), b=([2, 3, 4], []), c=([5], []))
    assert run.engine.now == 9.0
    assert [run.saved(name) for name in "abc"] == [[0, 1], [2, 3, 4], [5]]
    assert run.notes.told_of == [
        *("begin a", "start 0", "start 1", "begin b", "start 2", "start 3", "start 4", "end b"),
        *("told b", "begin c", "start 5", "end c", "told c", "end a", "told a"),
    ]  # fmt: skip


def test_one_trial_at_a_time_each_experiment_has_ended_before_the_next_begins(
    turns: Callable[..., Turns],
) -> None:
    """Or the work of beginning would disturb a trial that is timed."""
    run = turns(1).ran(a=([0, 1], []), b=([2], []))
    assert run.notes.told_of == [
        *("begin a", "start 0", "start 1", "end a", "told a", "begin b", "start 2", "end b", "told b"),
    ]  # fmt: skip


def test_one_that_has_nothing_left_to_run_is_told_before_the_next_begins(turns: Callable[..., Turns]) -> None:
    run = turns(1).ran(a=([0], []), b=([0], ["a"]), c=([1], []))
    assert run.notes.told_of == [
        *("begin a", "start 0", "end a", "told a", "begin b", "end b", "told b"),
        *("begin c", "start 1", "end c", "told c"),
    ]


def test_a_trial_that_failed_for_another_does_not_count_as_done(turns: Callable[..., Turns]) -> None:
    run = turns(1)
    run.engine.failing = {1}
    run.ran(a=([0, 1], []), b=([0, 1, 2], ["a"]))
    assert run.engine.ran == [0, 1, 2]
    begun = run.notes.begun["b"]
    assert (len(begun.trials), begun.done) == (1, 1)


@pytest.mark.parametrize("again", ["nothing", "everything"])
def test_a_trial_that_is_in_hand_for_another_runs_once_and_is_waited_for(
    turns: Callable[..., Turns], again: Again
) -> None:
    run = turns(2, again, t0=9.0).ran(a=([0, 1], []), b=([0, 1, 2], ["a"]))
    assert run.engine.ran == [0, 1, 2]
    assert (run.saved("a"), run.saved("b")) == ([0, 1], [2])
    begun = run.notes.begun["b"]
    assert (len(begun.trials), begun.done, begun.in_hand) == (1, 1, 1)
    assert run.notes.told_of[-4:] == ["end b", "end a", "told a", "told b"]


def test_two_that_share_no_rows_each_run_a_trial_one_after_the_other(turns: Callable[..., Turns]) -> None:
    run = turns(2, t0=9.0).ran(a=([0, 1], []), b=([0, 2], []))
    assert run.engine.ran == [0, 1, 0, 2]
    assert (run.saved("a"), run.saved("b")) == ([0, 1], [0, 2])
    assert run.notes.told_of.index("end a") < run.notes.told_of.index("begin b")


def test_who_runs_in_the_next_folder_is_waited_for_once_nothing_is_in_hand(
    turns: Callable[..., Turns], caplog: pytest.LogCaptureFixture
) -> None:
    """Who is there may wait for a folder of ours, so that both would wait for ever."""
    run = turns(2, t0=9.0)
    (run.folder / "b").mkdir(parents=True)
    other = FileLock(run.folder / "b" / LOCK)
    other.acquire()

    class Leaves(Notes):
        def end(self, experiment: str, left: Collection[str], error: KfeatError | None) -> None:
            super().end(experiment, left, error)
            other.release()

    run.notes = Leaves()
    run.ran(a=([0, 1], []), b=([2], []))
    assert run.notes.told_of.index("end a") < run.notes.told_of.index("begin b")
    assert run.saved("b") == [2]
    assert not caplog.records


def test_an_error_ends_its_own_experiment(
    turns: Callable[..., Turns], monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Store.append

    def on_a_full_disk(store: Store, row: Row) -> None:
        if store.folder.name == "full":
            raise StoreError("no space left")
        append(store, row)

    monkeypatch.setattr(Store, "append", on_a_full_disk)
    run = turns(2, broken=[5], t1=99.0).ran(
        full=([0, 1, 2], []), lacking=([5, 6], []), shares=([0, 3], ["full"]), whole=([4], [])
    )
    assert {name: str(error) for name, error in run.errors.items()} == {
        "full": "no space left", "lacking": "own.csv: no such file", "shares": "None", "whole": "None",
    }  # fmt: skip
    assert (run.saved("shares"), run.saved("whole")) == ([0, 3], [4])
    assert 2 not in run.engine.ran  # nobody would take its row
    assert run.engine.now < 99.0  # nor is what ran waited for


def test_folders_are_given_back_whatever_ends_a_run(turns: Callable[..., Turns]) -> None:
    class Interrupted(Notes):
        def started(self, trial: Trial) -> None:
            super().started(trial)
            if trial.repeat == 2:
                raise KeyboardInterrupt

    run = turns(2, t0=9.0)
    run.notes = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        run.ran(a=([0, 1], []), b=([2, 3], []))
    for name in "ab":
        with FileLock(run.folder / name / LOCK, timeout=0):
            pass
    assert run.saved("a") == [1]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_has_nothing_to_run_is_told_before_anything_runs(turns: Callable[..., Turns], jobs: int) -> None:
    turns(1).ran(b=([2], []))
    run = turns(jobs, t0=9.0).ran(a=([0, 1], []), b=([2], []), c=([3], []))
    assert run.notes.told_of[:4] == ["begin b", "end b", "told b", "begin a"]


def test_before_anything_runs_a_trial_of_two_that_share_it_is_expected_once(
    turns: Callable[..., Turns],
) -> None:
    run = turns(2).ran(a=([0, 1], []), b=([0, 2, 3], ["a"]), c=([0], []))
    assert run.notes.expected == {"a": 2, "b": 2, "c": 1}


@pytest.mark.parametrize("again", ["nothing", "everything"])
def test_a_trial_that_an_error_took_from_another_is_run_after_all(
    turns: Callable[..., Turns], again: Again
) -> None:
    run = turns(3, again, broken=[1], t0=9.0, t1=2.5).ran(a=([0, 1], []), b=([0, 2, 3], ["a"]), c=([4], []))
    assert {name: str(error) for name, error in run.errors.items()} == {
        "a": "own.csv: no such file", "b": "None", "c": "None",
    }  # fmt: skip
    assert run.saved("b") == [0, 2, 3]
    assert run.engine.ran.count(0) == 2  # once for a, until it was ended
    assert run.engine.ran.count(2) == 1


def test_an_experiment_for_whose_trials_there_is_no_memory_keeps_others_from_beginning(
    turns: Callable[..., Turns], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or all would begin, and hold their folders, as long as the first ones take."""
    monkeypatch.setattr(
        "kfeat.experiments.in_turn.arranged",
        lambda trials, *_: Order(list(trials), {trial.id: 60 for trial in trials}, []),
    )
    run = turns(4)
    run.memory = 100
    run.ran(a=([0, 1], []), b=([2], []), c=([3], []))
    assert run.notes.told_of[:6] == ["begin a", "start 0", "begin b", "start 1", "end a", "told a"]
    assert run.engine.now == 4.0


def test_memory_is_measured_while_no_trial_takes_any(
    turns: Callable[..., Turns], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = turns(2, t0=9.0)
    monkeypatch.setattr(
        "kfeat.experiments.in_turn.available_memory", lambda: 1000 - 400 * len(run.engine.running)
    )
    given = []

    def noted(trials: list[Trial], expected: object, engine: object, memory: int) -> Order:
        given.append(memory)
        return Order(trials, {trial.id: 1 for trial in trials}, [])

    monkeypatch.setattr("kfeat.experiments.in_turn.arranged", noted)
    run.ran(a=([0, 1], []), b=([2], []), c=([3], []))
    assert run.notes.told_of.index("begin c") < run.notes.told_of.index("end a")
    assert given == [int(USABLE * 1000)] * 3


@pytest.mark.parametrize("seed", range(80))
def test_whatever_is_shared_each_runs_once_and_is_told_once_it_is_whole(
    turns: Callable[..., Turns], seed: int
) -> None:
    rng = random.Random(seed)
    seconds = {f"t{i}": rng.choice([0.1, 1.0, 1.0, 30.0]) for i in range(40)}
    parts: dict[str, tuple[list[int], list[str]]] = {}
    for name in "abcdef":
        own = rng.sample(range(40), rng.randint(0, 12))
        sharers = rng.sample(sorted(parts), rng.randint(0, min(2, len(parts))))
        taken = [i for other in sharers for i in rng.sample(parts[other][0], len(parts[other][0]) // 2)]
        parts[name] = (list(dict.fromkeys([*own, *taken])), sharers)
    jobs, broken = rng.randint(1, 5), rng.sample(range(40), rng.choice([0, 0, 1, 4]))
    run = turns(jobs, broken=broken, **seconds).ran(**parts)
    told = [line for line in run.notes.told_of if line.startswith("told ")]
    assert sorted(told) == [f"told {name}" for name in "abcdef"]
    rows = {name: run.saved(name) for name in "abcdef"}
    for name, (repeats, sharers) in parts.items():
        there = {*rows[name], *(i for other in sharers for i in rows[other])}
        assert (there >= set(repeats)) == (run.errors[name] is None) == set(repeats).isdisjoint(broken)
        assert set(rows[name]) <= set(repeats)
    assert not run.notes.time.left
    if not broken:
        assert len(run.engine.ran) == sum(map(len, rows.values()))
        again = turns(jobs).ran(**parts)
        assert not again.engine.ran
        assert [line for line in again.notes.told_of if line.startswith("told ")] == sorted(told)


def test_rows_from_before_are_held_by_what_runs_alone(turns: Callable[..., Turns]) -> None:
    """Or the rows of all configs would be in memory at once."""
    turns(1).ran(a=([0], []), b=([2], []), c=([4], []))
    run, held = turns(1), []

    class Looks(Notes):
        def started(self, trial: Trial) -> None:
            super().started(trial)
            parts = (*in_turn._coming, *in_turn._begun)
            held.append({part.wanted.name: len(part.earlier) for part in parts})

    run.notes = Looks()
    parts = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
    wanted = [run._wanted(name, repeats, []) for name, repeats in parts.items()]
    in_turn = InTurn(wanted, WorkerOptions(), run.notes, run.engine, "nothing")
    assert not [part for part in in_turn.carried_out() if part.earlier]
    assert held == [{"a": 1, "b": 0, "c": 0}, {"a": 0, "b": 1, "c": 0}, {"a": 0, "b": 0, "c": 1}]


def test_new_rows_of_an_experiment_that_has_ended_are_on_the_disk_alone(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[Part] = []
    carried_out = InTurn.carried_out

    def noted(in_turn: InTurn) -> Generator[Part, None, None]:
        for part in carried_out(in_turn):
            parts.append(part)
            yield part

    monkeypatch.setattr(InTurn, "carried_out", noted)
    experiment, engine = load_experiment(write()), Clockwork(1, {})
    running = run_experiments([experiment], tmp_path, WorkerOptions(offline=True), Notes(), engine=engine)
    held = [len(part.rows) for _ in running for part in parts]
    assert held == [0]
    assert len(read_rows(tmp_path / "small")) == len(engine.ran) == 5


def test_a_plan_is_made_once_however_often_a_part_cannot_begin(
    turns: Callable[..., Turns], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = turns(3, t0=9.0)
    made: list[str] = []
    given = run._wanted

    def counted(name: str, repeats: list[int], rows_from: list[str]) -> Wanted:
        wanted = given(name, repeats, rows_from)

        def plan() -> list[Trial]:
            made.append(name)
            return wanted.plan()

        return replace(wanted, plan=plan)

    monkeypatch.setattr(run, "_wanted", counted)
    run.ran(a=([0, 1, 2, 3, 4], []), b=([0, 7], []))
    assert made == ["a", "b"]
