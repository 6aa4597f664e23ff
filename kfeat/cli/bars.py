"""Bars on a terminal: one over all trials, a line per trial in hand, one per download."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Self

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

from kfeat.cli.progress import Quiet, outcome
from kfeat.experiments.schedule import Event


class Bars(Quiet):
    """Shows one bar over all trials with the time left, and a line with its clock per trial in hand."""

    def __init__(
        self, log: Path | None = None, several: bool = False, console: Console | None = None
    ) -> None:
        super().__init__(log, several)
        self.console = console or Console(stderr=True)
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

    def __enter__(self) -> Self:
        super().__enter__()
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bars away."""
        self._live.stop()
        super().__exit__(kind, error, trace)

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

    def tell(self, event: Event) -> None:
        """Move the bar over all trials, open a line for a trial in hand, and close it with what came out."""
        super().tell(event)
        ids = [trial.id for trial in event.trials]
        if event.what == "begin":
            self._lengthen(len(ids) + event.done)
            self._trials.advance(self._bar.id, event.done)
        elif event.what == "started":
            name = self._of(event) + self._names[ids[0]]
            self._tasks[ids[0]] = self._in_hand.add_task(name, total=1)
        elif event.what in ("finished", "end"):
            for task in [self._tasks.pop(identity) for identity in ids if identity in self._tasks]:
                self._in_hand.remove_task(task)
        if event.row is not None:
            self.told.add(ids[0])
            self._trials.advance(self._bar.id)
            line = f"{self._of(event)}{self._names[ids[0]]}: {outcome(event.row)}"
            self.console.print(line, highlight=False, markup=False)
        elif event.what == "end" and self._trials.tasks:
            self._lengthen(-len(ids))

    def _lengthen(self, by: int) -> None:
        self._trials.update(self._bar.id, total=(self._bar.total or 0) + by)

    @property
    def _bar(self) -> Task:
        """The bar over all trials, which opens when it is first asked for."""
        if not self._trials.tasks:
            self._trials.add_task("", total=0)
        return self._trials.tasks[0]


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
