"""Showing a run on stderr: bars (`bars`) on a terminal, plain lines elsewhere, nothing when quiet.

The time that a run has left is estimated from its trials, and corrected by those that have ended.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from statistics import fmean
from time import monotonic
from typing import TYPE_CHECKING, Self

import click

from kfeat.analysis.cells import Cell
from kfeat.analysis.names import Names
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, wall_seconds
from kfeat.experiments.schedule import Event
from kfeat.render.numbers import time
from kfeat.text import counted, plain

if TYPE_CHECKING:
    from rich.progress import Progress

MINUTE = 60.0
AROUND = 0.5  # seconds of a trial beside its work, such as for its data
PRIOR = 1.0  # seconds that count as right estimates, before any trial has ended


class TimeLeft:
    """Estimates the seconds that a run has left.

    A trial counts as its estimate plus `AROUND`, times the ratio of the actual to the expected time of the
    trials that have ended. A trial without an estimate counts as the mean of the others.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._expected: dict[str, dict[str, float | None]] = {}  # by experiment and trial's id
        self._began: dict[str, float] = {}
        self._at_once = 1
        self._planned = self._taken = PRIOR
        self._mean: float | None = None

    def tell(self, event: Event) -> None:
        """Process an event."""
        ids = [trial.id for trial in event.trials]
        if event.what in ("expected", "begin"):
            self._expected[event.experiment] = {key: event.expected[key].seconds for key in ids}
            times = [seconds for trials in self._expected.values() for seconds in trials.values()]
            known = [seconds for seconds in times if seconds is not None]
            self._mean = fmean(known) if known else self._mean
        elif event.what == "started":
            self._began[ids[0]] = self._clock()
            self._at_once = max(self._at_once, len(self._began))
        elif event.what == "finished":
            seconds = self._seconds(self._expected[event.experiment].pop(ids[0]))
            if ids[0] in self._began:
                self._planned += seconds
                self._taken += self._clock() - self._began.pop(ids[0])
        else:
            self._expected.pop(event.experiment, None)
            for key in ids:
                self._began.pop(key, None)

    def _seconds(self, expected: float | None) -> float:
        return AROUND + (expected if expected is not None else self._mean or 0.0)

    @property
    def left(self) -> float | None:
        """The seconds until all trials have ended, with as many at a time as so far; None if unknown."""
        trials = [pair for expected in self._expected.values() for pair in expected.items()]
        if trials and self._mean is None:
            return None
        now, factor = self._clock(), self._taken / self._planned
        waiting = sum(self._seconds(expected) for key, expected in trials if key not in self._began) * factor
        running = [
            max(self._seconds(expected) * factor - (now - self._began[key]), 0.0)
            for key, expected in trials
            if key in self._began
        ]
        return max((waiting + sum(running)) / self._at_once, max(running, default=0.0))


class Quiet:
    """Follows a run without showing it.

    `time` estimates the time left, `failed` has the ids of trials that failed, and `reported` the ids of
    trials whose result was shown.
    """

    def __init__(self, several: bool = False) -> None:
        self.failed: set[str] = set()
        self.reported: set[str] = set()
        self.time = TimeLeft()
        self._names: dict[str, str] = {}
        self._several = several

    def __enter__(self) -> Self:
        """Begin to show the run."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what shows the run."""

    def downloads(self) -> "Progress | None":
        """Return the display for the bars of downloads, if there is one."""
        return None

    def aside(self) -> AbstractContextManager[None]:
        """Hide the display while something else is written."""
        return nullcontext()

    def tell(self, event: Event) -> None:
        """Process an event."""
        self.time.tell(event)
        if event.what == "begin":
            self._names |= names(event.trials)
        elif event.row is not None and event.row["status"] == "failed":
            self.failed.add(event.row["id"])

    def _of(self, event: Event) -> str:
        """Return the beginning of a line: the experiment, if there are several."""
        return f"{event.experiment}: " if self._several else ""


class Lines(Quiet):
    """Writes a line per finished trial: for logs and pipes."""

    def __init__(self, several: bool = False) -> None:
        super().__init__(several)
        self._counts: dict[str, tuple[int, int]] = {}  # by experiment: trials done, all trials

    def tell(self, event: Event) -> None:
        """Print the number of trials, each result, and the time left if it is a minute or more."""
        super().tell(event)
        if event.what == "begin":
            done, to_run = event.done, len(event.trials)
            self._counts[event.experiment] = done, done + to_run
            planned = f"{counted(done + to_run, 'trials')}, {done} done before, {to_run} to run"
            click.echo(f"{self._of(event)}{planned}", err=True)
        elif event.row is not None:
            identity = event.row["id"]
            self.reported.add(identity)
            done, planned_trials = self._counts[event.experiment]
            self._counts[event.experiment] = done + 1, planned_trials
            place, left = f"{self._of(event)}[{done + 1}/{planned_trials}]", self.time.left or 0.0
            others = f" (about {time(left)} left)" if left >= MINUTE else ""
            click.echo(f"{place} {self._names[identity]}: {outcome(event.row)}{others}", err=True)


def names(trials: Sequence[Trial]) -> dict[str, str]:
    """Return a short name for each trial by id: the name of its cell, as in tables, and its repeat."""
    cells = {trial.cell: Cell.of_trials([trial], {}) for trial in trials}
    of = Names(list(cells.values())).of
    name = {key: of(cell) for key, cell in cells.items()}  # once for all repeats, which may be thousands
    return {trial.id: f"{name[trial.cell]}, repeat {trial.repeat}" for trial in trials}


def outcome(row: Row) -> str:
    """Return the result of a trial in a few words."""
    if row["status"] != "done":
        return plain(f"{row['status']}: {row['reason']}")
    return f"{_score(row)} in {wall_seconds(row):.2f} s"


def _score(row: Row) -> str:
    if "accuracy" in row:
        return f"{100 * row['accuracy']:.2f} %"
    if "kernel_error" in row:
        return f"kernel error {row['kernel_error']['relative_frobenius']['value']:.4f}"
    return f"relative error {row['relative_error']:.4f}" if "relative_error" in row else "mapped"
