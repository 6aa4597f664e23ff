"""When trials run: the scheduler that gives an engine the trials of each part.

All parts are planned, and their data fetched, before the first trial runs. A part begins when no trial waits
any more: its trials use the cores that the last trials of the part before leave free.
"""

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from kfeat.errors import KfeatError, StoreError
from kfeat.experiments.cost import CostEstimate, estimates
from kfeat.experiments.engine import Engine
from kfeat.experiments.plan import Again, Trial, pending
from kfeat.experiments.row import Row, ended
from kfeat.experiments.store import Store
from kfeat.experiments.trial import header
from kfeat.memory import USABLE, available_memory

log = logging.getLogger(__name__)


class Event(NamedTuple):
    """An event of a run.

    "expected": an experiment will begin later. "begin": it begins; `trials` will run, `expected` has their
    estimates, and `done` others are done. "started": a trial has started. "finished": it has ended and its
    `row` is saved. "end": an experiment has ended; if `trials` are left, by an `error`.
    """

    what: Literal["expected", "begin", "started", "finished", "end"]
    experiment: str
    trials: Sequence[Trial] = ()
    expected: Mapping[str, CostEstimate] = {}
    done: int = 0
    row: Row | None = None
    error: KfeatError | None = None


class Observer(Protocol):
    """An object that is informed about a run."""

    def downloads(self) -> Any:
        """Return a `rich.progress.Progress` for downloads, or None."""

    def tell(self, event: Event) -> None:
        """Handle an event."""


@dataclass(eq=False)
class ExperimentRun:
    """An experiment in a run: its plan, its existing rows, and the folder of new rows.

    The `rows` are read after the folder is locked, so that no trial runs twice if another process has just
    run it. They and the `past` rows serve to estimate times. `rows_from` names the parts whose rows it
    shares.
    """

    name: str
    folder: Path
    plan: Callable[[], list[Trial]]
    rows: Callable[[], dict[str, Row]]
    past: Callable[[], dict[str, Row]] = dict
    rows_from: Sequence[str] = ()
    error: KfeatError | None = field(default=None, init=False)
    trials: list[Trial] = field(default_factory=list, init=False)
    expected: dict[str, CostEstimate] = field(default_factory=dict, init=False)
    earlier: dict[str, Row] = field(default_factory=dict, init=False)  # of the trials that will run
    left: dict[str, Trial] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.folder)
        self.row_sources = {self.name, *self.rows_from}  # the names of the parts whose rows it uses


class _Task(NamedTuple):
    """A trial that waits or runs, the part that it belongs to, and the bytes that it needs."""

    trial: Trial
    part: ExperimentRun
    need: int


class Scheduler:
    """Runs the pending trials of each part on an engine.

    On this machine trials run at the same time if they fit into memory together. A better earlier row, done
    or stopped at a longer limit, is kept, unless everything runs again.
    """

    def __init__(
        self, parts: Iterable[ExperimentRun], engine: Engine, observer: Observer, again: Again = "nothing"
    ) -> None:
        self._parts, self._engine, self._tell, self._again = list(parts), engine, observer.tell, again
        self._downloads = observer.downloads()
        self._available = engine.options.memory or available_memory()  # before any trial runs
        self._memory = engine.options.memory or int(USABLE * self._available)
        self._coming: deque[ExperimentRun] = deque()
        self._blocked: set[str] = set()  # trials that have to end before the next part can begin
        self._ended: list[ExperimentRun] = []
        self._waiting: dict[str, _Task] = {}
        self._running: dict[str, _Task] = {}
        self._passed: set[str] = set()  # running trials that overtook the first waiting one
        self._finished: set[tuple[str, str]] = set()  # names of parts, ids of trials

    def run(self) -> Generator[ExperimentRun, None, None]:
        """Run all parts; yield each when its last row is saved or an error has ended it."""
        try:
            for part in self._parts:
                self._prepare(part)
                yield from self._take_ended()
            while self._coming or self._waiting or self._running:
                if not (self._start_next() or self._begin_next()):
                    for trial, outcome in self._engine.events():
                        if trial.id in self._running:  # no error has ended its part
                            self._take(self._running[trial.id], outcome)
                yield from self._take_ended()
        finally:
            self._engine.cancel(self._running)
            for part in self._parts:
                part.store.close()

    def _take_ended(self) -> Iterable[ExperimentRun]:
        parts, self._ended = self._ended, []
        return parts

    def _prepare(self, part: ExperimentRun) -> None:
        """Plan a part and fetch its data; a part without pending trials begins and ends at once."""
        try:
            part.trials, rows = part.plan(), part.rows()
            todo = self._pending(part, rows)
            if not todo:
                part.store.open()  # opening repairs what a killed process left
                self._begin(part, rows, todo)
                return
            how = self._engine.options
            sources = dict.fromkeys(trial.source for trial in todo) if self._engine.here else {}
            for source in sources:
                if source.kept:  # other data are made when they are used
                    source.load(replace(how.access, progress=self._downloads))
            past = list(rows.values())
            try:
                past = [*part.past().values(), *past]
            except StoreError as error:
                log.warning("not used to estimate times: %s", error)
            part.expected = estimates(part.trials, past, self._available, how.time_limit)
            before = [other for other in self._coming if other.name in part.row_sources]
            theirs = {trial.id for other in before for trial in other.trials}
            own = [trial for trial in todo if trial.id not in theirs]
            self._tell(Event("expected", part.name, own, part.expected))
            self._coming.append(part)
        except KfeatError as error:
            self._end(part, error)

    def _pending(self, part: ExperimentRun, rows: dict[str, Row]) -> list[Trial]:
        return pending(part.trials, rows, self._again, self._engine.options.time_limit)

    def _begin_next(self) -> bool:
        """Begin the next part if it can begin now; return whether it has begun or ended in an error."""
        if (
            not self._coming
            or self._waiting
            or not self._engine.has_room()
            or self._blocked & self._running.keys()
        ):
            return False
        part = self._coming[0]
        try:
            # While trials run, do not wait for the folder: its process may wait for one of our folders.
            if not part.store.open(waits=not self._running):
                return False
            rows = part.rows()
            done = {identity for name, identity in self._finished if name in part.row_sources}
            todo = [trial for trial in self._pending(part, rows) if trial.id not in done]
            self._blocked = self._running.keys() & {trial.id for trial in todo}
            if self._blocked:
                part.store.close()
                return False
            self._begin(part, rows, todo)
        except KfeatError as error:
            self._end(part, error)
        self._coming.popleft()
        return True

    def _begin(self, part: ExperimentRun, rows: dict[str, Row], todo: list[Trial]) -> None:
        """Queue the trials of a part; a trial that needs more memory than available fails.

        If several run at a time, the longest comes first, so that no long trial is left at the end. One at a
        time they keep the order of the plan. The memory of other machines is not checked.
        """
        part.left = {trial.id: trial for trial in todo}
        part.earlier = {identity: rows[identity] for identity in part.left if identity in rows}
        others = [trial.id for trial in part.trials if trial.id not in part.left]
        done = sum(rows.get(identity, {}).get("status") != "failed" for identity in others)
        expected = {identity: part.expected[identity] for identity in part.left}
        self._tell(Event("begin", part.name, todo, expected, done))
        if not (self._engine.here and self._engine.alone):
            todo = sorted(todo, key=lambda trial: -(expected[trial.id].seconds or 0.0))
        for trial in todo:
            need = expected[trial.id].memory or 0 if self._engine.here else 0
            if trial.id not in part.left:  # an error has ended the part
                break
            task = _Task(trial, part, need)
            if need > self._memory:
                self._take(task, _refusal(trial, need, self._memory))
            else:
                self._waiting[trial.id] = task
        if not todo:
            self._end(part)

    def _start_next(self) -> bool:
        """Start the next trial if one can start now, and return whether it was started."""
        identity = self._next() if self._waiting and self._engine.has_room() else None
        if identity is None:
            return False
        task = self._running[identity] = self._waiting.pop(identity)
        self._engine.submit(task.trial)
        self._tell(Event("started", task.part.name, [task.trial]))
        return True

    def _next(self) -> str | None:
        """Return the id of the trial that starts now; None if none can.

        While the first trial waits for memory, others may overtake it only if they also fit beside it, so
        that they do not delay it. If nothing runs, the first trial starts, whatever memory it needs.
        """
        used = sum(task.need for task in self._running.values())
        first, task = next(iter(self._waiting.items()))
        if task.need <= self._memory - used or not self._running:
            self._passed.clear()
            return first
        passed = self._passed & self._running.keys()
        free = self._memory - max(used, task.need + sum(self._running[identity].need for identity in passed))
        overtaking = next((key for key, other in self._waiting.items() if other.need <= free), None)
        if overtaking is not None:
            self._passed.add(overtaking)
        return overtaking

    def _take(self, task: _Task, outcome: Row | KfeatError) -> None:
        """Handle the result of a trial: a row is on the disk before another trial starts."""
        trial, part, _ = task
        if isinstance(outcome, KfeatError):
            self._end(part, outcome)
            return
        ran = self._running.pop(trial.id, None) is not None
        before = part.earlier.get(trial.id)
        if before is None or ended(outcome) >= ended(before) or (ran and self._again == "everything"):
            try:
                part.store.append(outcome)
            except StoreError as error:
                self._end(part, error)
                return
        else:
            log.warning("%s: %s (%s); its earlier row, which is %s, is kept", trial.id, outcome["status"],
                        outcome["reason"], before["status"])  # fmt: skip
        del part.left[trial.id]
        self._finished.add((part.name, trial.id))
        self._tell(Event("finished", part.name, [trial], row=outcome))
        if not part.left:
            self._end(part)

    def _end(self, part: ExperimentRun, error: KfeatError | None = None) -> None:
        """Unlock a part's folder and remove its remaining trials."""
        left, part.left, part.earlier, part.error = part.left, {}, {}, error
        self._engine.cancel(left.keys() & self._running.keys())
        for identity in left:
            self._waiting.pop(identity, None)
            self._running.pop(identity, None)
        part.store.close()
        self._ended.append(part)
        self._tell(Event("end", part.name, list(left.values()), error=error))


def _refusal(trial: Trial, need: int, memory: float) -> Row:
    return header(trial) | {
        "status": "failed",
        "reason": f"it needs about {need:,} bytes of memory, more than the {memory:,.0f} available: run it "
        "with more (--memory SIZE, or another machine), or take fewer rows or components",
    }
