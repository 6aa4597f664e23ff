"""Showing a run: bars on a terminal, plain lines elsewhere, nothing when quiet; all on stderr."""

import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import ceil
from pathlib import Path
from types import TracebackType

import click
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

from kfeat.cli.time_left import TimeLeft
from kfeat.experiments.component import in_words
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.plan import Trial, dataset_name
from kfeat.experiments.store import Row
from kfeat.render.text import time
from kfeat.saying import plain

MINUTE = 60.0


class Quiet:
    """Watches a run without a word; `told` has the ids of trials whose end was shown, `time` what is left."""

    def __init__(self) -> None:
        self.told: set[str] = set()
        self.time = TimeLeft({})

    def __enter__(self) -> "Quiet":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""

    def downloads(self) -> Progress | None:
        """Return where downloads may show their bars, if anywhere."""
        return None

    def expect(self, expected: Mapping[str, Estimate]) -> None:
        """Take note of what each trial to run will take."""
        self.time = TimeLeft(expected)

    def begin(self, trials: Sequence[Trial], done: int) -> None:
        """Take note of the trials to run, and of how many of the plan were done before."""

    def started(self, trial: Trial) -> None:
        """Take note of a trial that has begun."""
        self.time.started(trial.id)

    def finished(self, trial: Trial, row: Row) -> None:
        """Take note of a trial that is saved."""
        self.time.finished(trial.id)


class Lines(Quiet):
    """Writes a line per finished trial: for logs and pipes."""

    def begin(self, trials: Sequence[Trial], done: int) -> None:
        """Say how much there is to do."""
        self._names, self._done, self._all = names(trials), done, len(trials) + done
        click.echo(f"{self._all} trials, {done} done before, {len(trials)} to run", err=True)

    def finished(self, trial: Trial, row: Row) -> None:
        """Say what came out, and how long the others will take where that is a minute or more."""
        super().finished(trial, row)
        self.told.add(trial.id)
        self._done += 1
        place, left = f"[{self._done}/{self._all}]", self.time.left or 0.0
        others = f" (about {time(left)} left)" if left >= MINUTE else ""
        click.echo(f"{place} {self._names[trial.id]}: {outcome(row)}{others}", err=True)


class Bars(Quiet):
    """Shows one bar over all trials with the time left, and a line with its clock per trial in hand."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.console = console or Console(stderr=True)
        self._files = downloads(self.console)
        self._trials = Progress(
            *(_text("trials"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn()),
            *(_text("left"), _LeftColumn(self)),
            expand=True,
        )  # fmt: skip
        self._in_hand = Progress(_text("  {task.description}", ratio=1), TimeElapsedColumn(), expand=True)
        self.shown = Group(self._files, self._trials, self._in_hand)
        self._live = Live(self.shown, console=self.console, transient=True)

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

    def begin(self, trials: Sequence[Trial], done: int) -> None:
        """Open the bar over all trials."""
        self._names = names(trials)
        self._all = self._trials.add_task("", total=len(trials) + done, completed=done)
        self._tasks: dict[str, TaskID] = {}

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
        self._trials.advance(self._all)
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


def observer(quiet: bool, log: Path | None = None, experiment: str = "") -> Quiet:
    """Return what shows a run here: nothing, bars on a terminal, or lines; and writes it to a log."""
    from kfeat.cli.event_log import EventLog

    shown = Quiet() if quiet else Bars() if sys.stderr.isatty() else Lines()
    return shown if log is None else EventLog(shown, log, experiment)


def downloads(console: Console | None = None) -> Progress:
    """Return a display for downloads: a bar in bytes per file."""
    columns = (_text("{task.description}", 1), BarColumn(20), DownloadColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console or Console(stderr=True), transient=True, expand=True)


def names(trials: Sequence[Trial]) -> dict[str, str]:
    """Return a short line for each trial by id; data and kernel are named where the plan has several.

    So is what the protocol does otherwise to the same data.
    """
    cells = {trial.cell: trial for trial in trials}  # a plan of many repeats is named quickly
    protocols = _protocols(list(cells.values()))
    settings = {
        cell: (dataset_name(trial.source), text, trial.kernel.formula)
        for (cell, trial), text in zip(cells.items(), protocols, strict=True)
    }
    shown = [i for i in range(3) if len({setting[i] for setting in settings.values()}) > 1]
    lines = {
        cell: plain(", ".join([*(setting[i] for i in shown if setting[i]), _method(cells[cell])]))
        for cell, setting in settings.items()
    }
    return {trial.id: f"{lines[trial.cell]}, repeat {trial.repeat}" for trial in trials}


def _protocols(trials: Sequence[Trial]) -> list[str]:
    """Return for each trial the switches of its protocol in which trials on the same data differ."""
    said = [trial.protocol.model_dump(mode="json") for trial in trials]
    values: dict[tuple[str, str], set[str]] = {}
    for trial, switches in zip(trials, said, strict=True):
        for key, value in switches.items():
            values.setdefault((trial.data_key, key), set()).add(str(value))
    return [
        " ".join(
            f"{key}={_said(value)}" for key, value in switches.items() if len(values[trial.data_key, key]) > 1
        )
        for trial, switches in zip(trials, said, strict=True)
    ]


def _said(value: object) -> str:
    """Return a switch's value in few words: of a mapping, what is not left out."""
    if not isinstance(value, dict):
        return str(value)
    return "(" + " ".join(f"{key}={each}" for key, each in value.items() if each is not None) + ")"


def _method(trial: Trial) -> str:
    return ", ".join(in_words(item) if item else "exact" for item in trial.components.values())


def outcome(row: Row) -> str:
    """Return what became of a trial, in a few words."""
    if row["status"] != "done":
        return plain(f"{row['status']}: {row['reason']}")
    score = _score(row)
    seconds = sum(phase["wall"] for phase in row["seconds"].values())
    return f"{score} in {seconds:.2f} s"


def _score(row: Row) -> str:
    if "accuracy" in row:
        return f"{100 * row['accuracy']:.2f} %"
    if "kernel_error" in row:
        return f"kernel error {row['kernel_error']['relative_frobenius']['value']:.4f}"
    return f"relative error {row['relative_error']:.4f}" if "relative_error" in row else "mapped"
