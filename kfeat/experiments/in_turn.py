"""Experiments in turn: each begins when there is room for its trials, and ends when its last one is saved.

Where several trials run at a time, those of the next experiment take what the last ones of those before leave
free: on many cores nothing waits for one long trial. All are planned, and their data fetched, before the
first trial runs: nobody would watch trials meanwhile, or save their rows.
"""

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from kfeat.data import load_raw
from kfeat.data.loading import is_kept
from kfeat.errors import KfeatError, StoreError
from kfeat.experiments.engines.base import Engine
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.estimates import Estimate, estimates
from kfeat.experiments.observer import Begun, RunObserver
from kfeat.experiments.order import arranged
from kfeat.experiments.pending import Again, pending
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.store import Store, ended
from kfeat.experiments.worker import WorkerOptions
from kfeat.memory import USABLE, available_memory

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Wanted:
    """A part of a run: its plan, the rows there are, and the folder of new ones.

    The `rows` are asked for once the folder is locked, so that nothing runs twice that another process did
    meanwhile. These, and the rows of the `past`, tell how long trials will take. `rows_from` names the parts
    whose rows it takes, too.
    """

    name: str
    folder: Path
    plan: Callable[[], list[Trial]]
    rows: Callable[[], dict[str, Row]]
    past: Callable[[], dict[str, Row]] = dict
    rows_from: Sequence[str] = ()

    @property
    def sharers(self) -> set[str]:
        """The names of the parts whose rows it takes, its own among them."""
        return {self.name, *self.rows_from}


@dataclass(eq=False)
class Part:
    """A part that is ready: what of its plan it runs once it has begun, and what of that is left, by id.

    `before` are trials that it ran when it had begun once before; `theirs` are parts whose trials it waits
    for.
    """

    wanted: Wanted
    store: Store
    trials: list[Trial] = field(default_factory=list)
    before: set[str] = field(default_factory=set)
    earlier: dict[str, Row] = field(default_factory=dict)
    todo: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    rows: list[Row] = field(default_factory=list)
    theirs: "list[Part]" = field(default_factory=list)
    error: KfeatError | None = None


class InTurn:
    """Parts in their order, carried out by one engine; each begins when there is room for its trials.

    A trial that came further before, done or stopped at a longer limit, keeps its row, but where `again` is
    everything.
    """

    def __init__(
        self,
        wanted: Iterable[Wanted],
        options: WorkerOptions,
        observer: RunObserver,
        engine: Engine,
        again: Again,
    ) -> None:
        self._options, self._observer, self._engine, self._again = options, observer, engine, again
        self._wanted = list(wanted)
        self._coming: deque[Part] = deque()
        self._blocked: set[str] = set()  # trials that have to end before the first that comes can begin
        self._begun: list[Part] = []
        self._untold: set[Part] = set()  # that have ended
        self._by_trial: dict[str, Part] = {}  # by the ids of all that is left
        self._packing = Packing(more=self._begin_next)
        self._measure_memory()

    def carried_out(self) -> Generator[Part, None, None]:
        """Carry all out; yield each part when its last trial is saved, or an error has ended it."""
        try:
            for wanted in self._wanted:
                self._make_ready(wanted)
                yield from self._told()
            while self._coming or self._packing.waiting:
                if self._packing.waiting or self._begin_next():
                    with closing(self._engine.carried_out(self._packing, self._options)) as events:
                        for trial, came in events:
                            self._take(trial, came)
                            yield from self._told()
                yield from self._told()
        finally:
            for part in self._begun:
                part.store.close()

    def _make_ready(self, wanted: Wanted) -> None:
        """Plan a part and fetch its data; where nothing of it is to run, begin it, and so end it, at once."""
        part = Part(wanted, Store(wanted.folder))
        try:
            part.trials, part.earlier = wanted.plan(), wanted.rows()
            todo = self._pending(part)
            if self._engine.here:
                fetch(todo, self._options, self._observer)
            if todo:
                self._announce(part, todo)
                part.earlier = {}  # or those of all would be held; they are read anew when it begins
                self._coming.append(part)
                return
            part.store.open()  # which mends what a killed process left
            self._begin(part, [], set())
        except KfeatError as error:
            self._end(part, error)
        self._begun.append(part)

    def _announce(self, part: Part, todo: list[Trial]) -> None:
        """Say what a part will take beside those before it, so that the time left is that of all."""
        if len(self._wanted) == 1:
            return  # it begins now
        before = [one for one in self._coming if one.wanted.name in part.wanted.sharers]
        theirs = {trial.id for one in before for trial in one.trials}
        own = [trial for trial in todo if trial.id not in theirs]
        expected = self._expected(part, own)
        self._observer.expect(part.wanted.name, [one.seconds for one in expected.values()])

    def _expected(self, part: Part, todo: list[Trial]) -> dict[str, Estimate]:
        """Return what trials of a part will take, by their ids."""
        known = [*_of_the_past(part.wanted.past), *part.earlier.values()] if todo else []
        return estimates(todo, known, self._there, self._options.time_limit)

    def _measure_memory(self) -> None:
        """See how much memory there is while no trial runs."""
        given = self._options.memory
        self._there = given or available_memory()
        self._packing.memory = given or int(USABLE * self._there)

    def _pending(self, part: Part) -> list[Trial]:
        return pending(part.trials, part.earlier, self._again, self._options.time_limit)

    def _is_in_hand(self, identity: str) -> bool:
        return identity in self._by_trial or identity in self._packing.running

    def _told(self) -> Iterator[Part]:
        """Yield the parts that have ended, and wait for no trials of others, in their order.

        Where an error has ended one that was waited for, a part begins once more, for the trials it lacks.
        """
        for part in list(self._begun):
            if part in self._untold and not any(other.left for other in part.theirs):
                self._untold.remove(part)
                if part.error is None and any(other.error for other in part.theirs):
                    self._begun.remove(part)
                    self._coming.appendleft(Part(part.wanted, part.store, part.trials, before=part.todo))
                else:
                    yield part

    def _begin_next(self) -> bool:
        """Begin the next part, and tell whether there was one that could begin, be it with an error."""
        if not self._coming or any(map(self._is_in_hand, self._blocked)):
            return False
        if any(part.left and not part.started for part in self._begun):
            return False  # which has no room for its trials yet
        if self._untold and not self._by_trial:
            return False  # what has ended is to be told first
        part = self._coming[0]
        try:
            if not self._has_begun(part):
                return False
        except KfeatError as error:
            self._end(part, error)
        self._begun.append(part)
        self._coming.popleft()
        self._blocked = set()
        return True

    def _has_begun(self, part: Part) -> bool:
        """Begin a part, unless another process is in its folder, or its trials run in another part."""
        # With trials in hand nothing is waited for: who is in that folder may wait for one of ours.
        if not part.store.open(waits=not self._by_trial):
            return False
        try:
            part.earlier = part.wanted.rows()
            before = (one for one in self._begun if one.wanted.name in part.wanted.sharers)
            shared = [one for one in before if one.error is None]
            not_ours = part.before.union(*(one.todo for one in shared))
            todo = [trial for trial in self._pending(part) if trial.id not in not_ours]
            part.todo = {trial.id for trial in todo}
            self._blocked = set(filter(self._is_in_hand, part.todo))
            if self._blocked:
                part.store.close()
                return False
            ids = {trial.id for trial in part.trials}
            part.theirs = [one for one in shared if one.left & ids]
            self._begin(part, todo, in_hand=set[str]().union(*(one.left for one in part.theirs)) & ids)
        except BaseException:
            part.store.close()
            raise
        return True

    def _begin(self, part: Part, todo: list[Trial], in_hand: set[str]) -> None:
        """Let trials of a part wait for their turn."""
        packing = self._packing
        if not packing.running:
            self._measure_memory()
        expected = self._expected(part, todo)
        order = arranged(todo, expected, self._engine, packing.memory)
        not_done = {identity for identity, row in part.earlier.items() if row["status"] == "failed"}
        not_done |= part.todo | in_hand
        done = sum(trial.id not in not_done for trial in part.trials)
        self._observer.begin(Begun(part.wanted.name, todo, expected, done, len(in_hand)))
        part.left = set(part.todo)
        self._by_trial.update(dict.fromkeys(part.left, part))
        if not todo:
            self._end(part)
        for trial, row in order.refused:
            self._take(trial, row)
        if part.left:
            packing.add(order.trials, order.needs)

    def _take(self, trial: Trial, came: Row | KfeatError | None) -> None:
        """Take what came out of a trial, None if it has begun; a row is on disk before the engine goes on."""
        part = self._by_trial.get(trial.id)
        if part is None:  # an error has ended its part
            return
        if came is None:
            part.started.add(trial.id)
            self._observer.started(trial)
        elif isinstance(came, KfeatError):
            self._end(part, came)
        else:
            try:
                self._keep(part, trial, came)
            except StoreError as error:
                self._end(part, error)
                return
            part.left.remove(trial.id)
            del self._by_trial[trial.id]
            self._observer.finished(trial, came)
            if not part.left:
                self._end(part)

    def _keep(self, part: Part, trial: Trial, row: Row) -> None:
        """Save a row, but not in the place of one that is worth more."""
        before = part.earlier.get(trial.id)
        replaces = self._again == "everything" and trial.id in part.started
        if before is None or ended(row) >= ended(before) or replaces:
            part.store.append(row)
        else:
            log.warning("%s: %s (%s); its earlier row, which is %s, stays", trial.id, row["status"],
                        row["reason"], before["status"])  # fmt: skip
        part.rows.append(row)

    def _end(self, part: Part, error: KfeatError | None = None) -> None:
        """Give a part's folder back, and take out what is left of it."""
        left, part.left, part.error, part.earlier = part.left, set(), error, {}
        self._packing.drop(left)
        for identity in left:
            del self._by_trial[identity]
        part.store.close()
        self._untold.add(part)
        self._observer.end(part.wanted.name, left, error)


def _of_the_past(past: Callable[[], dict[str, Row]]) -> Iterable[Row]:
    """Return rows that only tell how long trials take, so that one which cannot be read stops nothing."""
    try:
        return past().values()
    except StoreError as error:
        log.warning("not used to estimate times: %s", error)
        return ()


def fetch(trials: Sequence[Trial], options: WorkerOptions, observer: RunObserver) -> None:
    """Download and parse the data of `trials`, once, with the observer's progress bar.

    Generated data that no cache keeps are left to the processes that use them.
    """
    for source in {trial.source: None for trial in trials if is_kept(trial.source)}:
        load_raw(source, mirror=options.mirror, offline=options.offline, progress=observer.downloads())
