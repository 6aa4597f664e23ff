"""Bars on a terminal: one over all trials, a line per trial in hand, one per download."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import ceil
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from kfeat.cli.progress import Quiet, names, outcome
from kfeat.errors import KfeatError
from kfeat.experiments.observer import Begun
from kfeat.experiments.plan import Trial
from kfeat.experiments.store import Row


class Bars(Quiet):
    """Shows one bar over all trials with the time left, and a line with its clock per trial in hand."""

    def __init__(self, console: Console | None = None, several: bool = False) -> None:
        super().__init__()
        self.console = console or Console(stderr=True)
        self._several = several
        self._names: dict[str, str] = {}
        self._tasks: dict[str, TaskID] = {}
        self._files = downloads(self.console)
        self._trials = Progress(
            *(_text("trials"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn()),
            *(_text("left"), _LeftColumn(self)),
            expand=True,
        )  # fmt: skip
        self._in_hand = Progress(_text("  {task.description}", ratio=1), TimeElapsedColumn(), expand=True)
        self.shown = Group(self._files, self._trials, self._in_hand)
        self._live = self._to_show()

    def _to_show(self) -> Live:
        return Live(self.shown, console=self.console, transient=True)

    def __enter__(self) -> "Bars":
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bars away."""
        self._live.stop()

    def downloads(self) -> Progress:
        """Return the display, for a bar per file."""
        return self._files

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bars away while something else is written."""
        self._live.stop()
        try:
            yield
        finally:
            self._live = self._to_show()  # the one before would clear as many lines as it had shown
            self._live.start()

    def begin(self, begun: Begun) -> None:
        """Open the bar over all trials, or make it longer."""
        super().begin(begun)
        of = f"{begun.experiment}: " if self._several else ""
        self._names |= {identity: of + name for identity, name in names(begun.trials).items()}
        self._lengthen(len(begun.trials) + begun.done)
        self._trials.advance(self._bar.id, begun.done)

    def _lengthen(self, by: int) -> None:
        self._trials.update(self._bar.id, total=(self._bar.total or 0) + by)

    @property
    def _bar(self) -> Task:
        """The bar over all trials, which opens when it is first asked for."""
        if not self._trials.tasks:
            self._trials.add_task("", total=0)
        return self._trials.tasks[0]

    def end(self, experiment: str, left: Collection[str], error: KfeatError | None) -> None:
        """Take away what an error has left."""
        super().end(experiment, left, error)
        for task in [self._tasks.pop(identity) for identity in left if identity in self._tasks]:
            self._in_hand.remove_task(task)
        if left:
            self._lengthen(-len(left))

    def started(self, trial: Trial) -> None:
        """Open a line for the trial in hand."""
        super().started(trial)
        self._tasks[trial.id] = self._in_hand.add_task(self._names[trial.id], total=1)

    def finished(self, trial: Trial, row: Row) -> None:
        """Close the trial's line and move the bar."""
        super().finished(trial, row)
        self.told.add(trial.id)
        if (task := self._tasks.pop(trial.id, None)) is not None:
            self._in_hand.remove_task(task)
        self._trials.advance(self._bar.id)
        line = f"{self._names[trial.id]}: {outcome(row)}"
        self.console.print(line, highlight=False, markup=False)


class _LeftColumn(ProgressColumn):
    """The time that a run has left, as it is expected now."""

    def __init__(self, run: Quiet) -> None:
        super().__init__()
        self._run = run

    def render(self, task: Task) -> Text:
        """Return h:mm:ss, or dashes as long as nobody can tell."""
        left = self._run.time.left
        return Text(
            "-:--:--" if left is None else str(timedelta(seconds=ceil(left))), style="progress.remaining"
        )


def _text(text: str, ratio: int | None = None) -> TextColumn:
    """Return a column of text that stays on one line, shortened where there is no room for it."""
    column = Column(no_wrap=True, overflow="ellipsis", ratio=ratio)
    return TextColumn(text, markup=False, table_column=column)


def downloads(console: Console | None = None) -> Progress:
    """Return a display for downloads: a bar in bytes per file."""
    columns = (_text("{task.description}", 1), BarColumn(20), DownloadColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console or Console(stderr=True), transient=True, expand=True)
