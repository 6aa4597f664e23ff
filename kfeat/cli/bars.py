"""Progress bars on a terminal: one for all trials, a line for each running trial, one for each download."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import ceil
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
    """Shows one bar for all trials with the time left, and a line with a clock for each running trial."""

    def __init__(self, several: bool = False, console: Console | None = None) -> None:
        super().__init__(several)
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

    def __exit__(self, *_: object) -> None:
        """Remove the bars."""
        self._live.stop()

    def downloads(self) -> Progress:
        """Return the display to which downloads add a bar for each file."""
        return self._files

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Hide the bars while something else is written."""
        self._live.stop()
        try:
            yield
        finally:
            self._live = self._to_show()  # the old one would clear lines that are not its own
            self._live.start()

    def tell(self, event: Event) -> None:
        """Advance the bar, add a line for a trial that starts, and print its result when it ends."""
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
            self.reported.add(ids[0])
            self._trials.advance(self._bar.id)
            line = f"{self._of(event)}{self._names[ids[0]]}: {outcome(event.row)}"
            self.console.print(line, highlight=False, markup=False)
        elif event.what == "end" and self._trials.tasks:
            self._lengthen(-len(ids))

    def _lengthen(self, by: int) -> None:
        self._trials.update(self._bar.id, total=(self._bar.total or 0) + by)

    @property
    def _bar(self) -> Task:
        """The bar for all trials, which is created on first use."""
        if not self._trials.tasks:
            self._trials.add_task("", total=0)
        return self._trials.tasks[0]


class _LeftColumn(ProgressColumn):
    """The estimated time that a run has left, as h:mm:ss, or dashes while it is unknown."""

    def __init__(self, run: Quiet) -> None:
        super().__init__()
        self._run = run

    def render(self, task: Task) -> Text:
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
