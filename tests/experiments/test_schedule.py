"""What runs when, where its row goes, and what is told of it: an engine whose trials take no time."""

import heapq
import random
from dataclasses import replace

import pytest
from filelock import FileLock, Timeout

from kfeat.cli.progress import Quiet
from kfeat.data import Access, RegisteredSource
from kfeat.data.sources.generators import Dense
from kfeat.data.sources.large_quadric import LargeQuadric
from kfeat.errors import DataError, StoreError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.cost import CostEstimate
from kfeat.experiments.plan import pending, plan
from kfeat.experiments.run import run_trials
from kfeat.experiments.schedule import ExperimentRun, Scheduler
from kfeat.experiments.store import LOCK, Store, gathered_rows, read_rows
from kfeat.experiments.worker import WorkerOptions
from tests.cells import fake_row
from tests.experiments.rows import row


class Clockwork:
    """An engine with `jobs` places, whose trials take seconds by their repeat, one if none are given."""

    def __init__(self, jobs, seconds, broken=()):
        self.options, self.here, self.alone = WorkerOptions(access=Access(offline=True)), False, jobs == 1
        self.jobs, self.seconds, self.broken = jobs, seconds, set(broken)
        self.failing = set()
        self.running = []  # and when each ends
        self.now = 0.0
        self.ran = []

    def has_room(self):
        return len(self.running) < self.jobs

    def submit(self, trial):
        assert self.has_room()
        self.ran.append(trial.repeat)
        heapq.heappush(self.running, (self.now + self.seconds.get(trial.repeat, 1.0), len(self.ran), trial))

    def events(self):
        self.now, _, trial = heapq.heappop(self.running)
        return [(trial, self._outcome(trial))]

    def cancel(self, identities):
        self.running = [one for one in self.running if one[2].id not in identities]
        heapq.heapify(self.running)

    def _outcome(self, trial):
        if trial.repeat in self.broken:
            return DataError("own.csv: no such file")
        failed = {"status": "failed", "reason": "out of luck"} if trial.repeat in self.failing else {}
        return fake_row(trial, 0.5, **failed)


class Notes(Quiet):
    """Keeps what happens, by the names of experiments and the repeats of trials."""

    def __init__(self):
        super().__init__()
        self.told_of = []
        self.events = {}

    def tell(self, event):
        super().tell(event)
        self.events[event.what, event.experiment] = event
        if event.what in ("begin", "end"):
            self.told_of.append(f"{event.what} {event.experiment}")
        if event.what == "started":
            self.told_of.append(f"start {event.trials[0].repeat}")


class Turns:
    """Parts of a run in a folder, by their names, each with some of the trials."""

    def __init__(self, folder, trials, engine, again="nothing"):
        self.folder, self.trials, self.engine, self.again = folder, trials, engine, again
        self.notes = Notes()
        self.errors = {}

    def ran(self, **parts):
        """Carry out parts, each given by the repeats of its trials and the names of those it shares with."""
        wanted = [self._part(name, *part) for name, part in parts.items()]
        for part in Scheduler(wanted, self.engine, self.notes, self.again).run():
            self.notes.told_of.append(f"told {part.name}")
            self.errors[part.name] = part.error
        return self

    def _part(self, name, repeats, rows_from):
        def rows():
            return gathered_rows(self.folder, [name, *rows_from])

        plan = [self.trials[repeat] for repeat in repeats]
        return ExperimentRun(name, self.folder / name, lambda: plan, rows, rows_from=rows_from)

    def needs(self, patch, memory, **needs):
        """Have trials need so many bytes of a memory, each 1 if nothing is said."""
        self.engine.options = WorkerOptions(memory=memory)
        self.engine.here = True

        def estimates(trials, *_):
            return {t.id: CostEstimate(1.0, needs.get(f"t{t.repeat}", 1)) for t in trials}

        patch.setattr("kfeat.experiments.schedule.estimates", estimates)

    def saved(self, name):
        """The repeats of the rows in a part's folder."""
        return sorted(row["repeat"] for row in read_rows(self.folder / name).values())


@pytest.fixture
def trials(write):
    experiment = load_experiment(write(), repeats=40)
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    return [trial for trial in trials if trial.map and trial.map.name == "tensor_sketch"]


@pytest.fixture
def turns(trials, tmp_path):
    def made(jobs, again="nothing", broken=(), **seconds):
        given = {int(key.lstrip("t")): value for key, value in seconds.items()}
        return Turns(tmp_path / "out", trials, Clockwork(jobs, given, broken), again)

    return made


def test_trials_of_the_next_take_what_the_last_of_one_leaves_free(turns):
    run = turns(2, t0=9.0).ran(a=([0, 1], []), b=([2, 3, 4], []), c=([5], []))
    assert run.engine.now == 9.0
    assert [run.saved(name) for name in "abc"] == [[0, 1], [2, 3, 4], [5]]
    assert run.notes.told_of == [
        *("begin a", "start 0", "start 1", "begin b", "start 2", "start 3", "start 4", "end b"),
        *("told b", "begin c", "start 5", "end c", "told c", "end a", "told a"),
    ]  # fmt: skip


def test_one_trial_at_a_time_each_experiment_has_ended_before_the_next_begins(
    turns,
):
    """Or the work of beginning would disturb a trial that is timed."""
    run = turns(1).ran(a=([0], []), b=([0], ["a"]), c=([1], []))
    assert run.notes.told_of == [
        *("begin a", "start 0", "end a", "told a", "begin b", "end b", "told b"),
        *("begin c", "start 1", "end c", "told c"),
    ]


def test_a_trial_that_failed_for_another_does_not_count_as_done_and_does_not_run_again(
    turns,
):
    run = turns(1)
    run.engine.failing = {1}
    run.ran(a=([0, 1], []), b=([0, 1, 2], ["a"]))
    assert run.engine.ran == [0, 1, 2]
    begun = run.notes.events["begin", "b"]
    assert (len(begun.trials), begun.done) == (1, 1)


def test_who_runs_in_the_next_folder_is_waited_for_once_nothing_runs_here(turns, caplog):
    """Who is there may wait for a folder of ours, so that both would wait for ever."""
    run = turns(2, t0=9.0)
    (run.folder / "b").mkdir(parents=True)
    other = FileLock(run.folder / "b" / LOCK)
    other.acquire()

    class Leaves(Notes):
        def tell(self, event):
            super().tell(event)
            if event.what == "end":
                other.release()

    run.notes = Leaves()
    run.ran(a=([0, 1], []), b=([2], []))
    assert run.notes.told_of.index("end a") < run.notes.told_of.index("begin b")
    assert run.saved("b") == [2]
    assert not caplog.records


def test_what_to_run_is_found_out_under_the_lock(trials, tmp_path):
    """A process that waited for data meanwhile does not repeat what another one did."""
    locked = []

    def rows():
        try:
            with FileLock(tmp_path / LOCK, timeout=0):
                locked.append(False)
                return {}  # at the first look, for the data that are needed
        except Timeout:
            locked.append(True)
            return {trial.id: row(trial.id) for trial in trials}

    assert run_trials(trials, tmp_path, Clockwork(1, {}), Quiet(), rows) == {}
    assert locked == [False, True]


def test_an_error_ends_its_own_experiment(turns, monkeypatch):
    append = Store.append

    def on_a_full_disk(store, row):
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


def test_folders_are_given_back_and_trials_ended_whatever_ends_a_run(turns):
    class Interrupted(Notes):
        def tell(self, event):
            super().tell(event)
            if event.what == "started" and event.trials[0].repeat == 2:
                raise KeyboardInterrupt

    run = turns(2, t0=9.0)
    run.notes = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        run.ran(a=([0, 1], []), b=([2, 3], []))
    for name in "ab":
        with FileLock(run.folder / name / LOCK, timeout=0):
            pass
    assert run.saved("a") == [1]
    assert not run.engine.running


@pytest.mark.parametrize(("jobs", "order"), [(1, [0, 1, 2, 3]), (2, [2, 0, 3, 1])])
def test_the_longest_come_first_where_several_run_at_a_time(turns, monkeypatch, jobs, order):
    run, seconds = turns(jobs), (2.0, None, 5.0, 1.0)
    run.engine.here = True
    monkeypatch.setattr(
        "kfeat.experiments.schedule.estimates",
        lambda trials, *_: {trial.id: CostEstimate(seconds[trial.repeat], 10) for trial in trials},
    )
    assert run.ran(a=([0, 1, 2, 3], [])).engine.ran == order


def test_trials_run_together_that_fit_into_memory_together_and_none_waits_for_ever(turns, monkeypatch):
    run = turns(9, t0=3.5, t3=10.0, t4=10.0)
    run.needs(monkeypatch, 100, t0=60, t1=60, **{f"t{i}": 15 for i in range(2, 8)})
    run.ran(a=(list(range(8)), []))
    # 60 + 15 + 15, and 4 in the place of 2; then 1, which was first in line, before any other small one.
    assert run.engine.ran == [0, 2, 3, 4, 1, 5, 6, 7]
    run = turns(3)
    run.needs(monkeypatch, 100, t1=90, **{f"t{i}": 40 for i in (0, 2, 3)})
    assert run.ran(b=(list(range(4)), [])).engine.ran == [0, 1, 2, 3]  # 2 fits beside 0, but not beside 1


def test_a_trial_too_big_for_the_memory_is_a_failed_row_before_anything_starts(turns, monkeypatch):
    run = turns(1)
    run.needs(monkeypatch, 1000, t0=2000, t1=1001, t2=1000)
    run.ran(a=([0, 1, 2], []))
    assert run.engine.ran == [2]
    rows = {row["repeat"]: row for row in read_rows(run.folder / "a").values()}
    assert [rows[i]["status"] for i in range(3)] == ["failed", "failed", "done"]
    assert rows[0]["reason"].startswith("it needs about 2,000 bytes of memory, more than the 1,000 available")
    assert "--memory" in rows[0]["reason"]
    run.needs(monkeypatch, 2000)
    assert run.ran(a=([0, 1, 2], [])).engine.ran == [2, 0, 1]


def test_an_experiment_for_whose_trials_there_is_no_memory_keeps_others_from_beginning(turns, monkeypatch):
    """Or all would begin, and hold their folders, as long as the first ones take."""
    run = turns(4)
    run.needs(monkeypatch, 100, t0=60, t1=60, t2=60, t3=60)
    run.ran(a=([0, 1], []), b=([2], []), c=([3], []))
    assert run.notes.told_of.index("begin b") > run.notes.told_of.index("start 1")
    assert run.engine.now == 4.0


@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_shared_each_runs_once_and_is_told_once_it_is_whole(turns, seed):
    rng = random.Random(seed)
    seconds = {f"t{i}": rng.choice([0.1, 1.0, 1.0, 30.0]) for i in range(40)}
    parts = {}
    for name in "abcdef":
        own = rng.sample(range(40), rng.randint(0, 12))
        row_sources = rng.sample(sorted(parts), rng.randint(0, min(2, len(parts))))
        taken = [i for other in row_sources for i in rng.sample(parts[other][0], len(parts[other][0]) // 2)]
        parts[name] = (list(dict.fromkeys([*own, *taken])), row_sources)
    jobs, broken = rng.randint(1, 5), rng.sample(range(40), rng.choice([0, 0, 1, 4]))
    again = rng.choice(["nothing", "everything"])
    run = turns(jobs, again, broken, **seconds).ran(**parts)
    told = [line for line in run.notes.told_of if line.startswith("told ")]
    assert sorted(told) == [f"told {name}" for name in "abcdef"]
    rows = {name: run.saved(name) for name in "abcdef"}
    for name, (repeats, row_sources) in parts.items():
        there = {*rows[name], *(i for other in row_sources for i in rows[other])}
        assert (there >= set(repeats)) == (run.errors[name] is None) == set(repeats).isdisjoint(broken)
        assert set(rows[name]) <= set(repeats)
    assert not run.notes.time.left
    if not broken:
        assert len(run.engine.ran) == sum(map(len, rows.values()))
        later = turns(jobs).ran(**parts)
        assert not later.engine.ran
        assert [line for line in later.notes.told_of if line.startswith("told ")] == sorted(told)


def test_seconds_on_more_threads_than_the_row_says_are_measured_anew(trials):
    one, two = trials[:2]
    rows = {one.id: row(one.id), two.id: row(two.id, seconds={"train": {"cpu": 1.8, "wall": 1.0}})}
    assert pending([one, two], rows) == []
    assert pending([one, two], rows, "untimed") == [two]


def test_only_as_much_is_timed_again_as_gives_each_cell_its_number_of_timed_runs(trials):
    trials = trials[:5]
    timed = [False, True, False, False, None]  # None: without a row, so that it runs anyway
    rows = {t.id: row(t.id, timed=done) for t, done in zip(trials, timed, strict=True) if done is not None}
    found = {
        again: [trials.index(trial) for trial in pending(trials, rows, again)] for again in (1, 2, 3, 4, 9)
    }
    assert found == {1: [4], 2: [4], 3: [0, 4], 4: [0, 2, 4], 9: [0, 2, 3, 4]}
    assert pending(trials, rows, "untimed") == pending(trials, rows, 9)
    rows[trials[1].id] = row(trials[1].id, "failed")  # it runs, and may fail again
    assert pending(trials[:4], rows, 1) == trials[:2]


def test_generated_data_that_no_cache_keeps_are_made_where_they_are_used_alone(turns, monkeypatch):
    run, loaded = turns(1), []
    run.engine.here = True
    for kind in (Dense, LargeQuadric, RegisteredSource):
        monkeypatch.setattr(kind, "load", lambda source, access: loaded.append(source))
    sources = [
        Dense(name="dense", n=10, d=2),
        LargeQuadric(name="large_quadric", n=10, d=2),
        RegisteredSource(name="adult"),
    ]
    run.trials = [replace(trial, source=source) for trial, source in zip(run.trials, sources, strict=False)]
    run.ran(a=([0, 1, 2], []))
    assert loaded == sources[1:]
