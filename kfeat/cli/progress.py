"""Showing a run: bars (`bars`) on a terminal, plain lines elsewhere, nothing when quiet; all on stderr."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from kfeat.cli.event_log import EventLog
from kfeat.cli.time_left import TimeLeft
from kfeat.data import Source
from kfeat.experiments.component import in_words
from kfeat.experiments.estimates import wall_seconds
from kfeat.experiments.plan import Trial, dataset_name
from kfeat.experiments.schedule import Event
from kfeat.experiments.store import Row
from kfeat.render.text import time
from kfeat.saying import plain

if TYPE_CHECKING:
    from rich.progress import Progress

MINUTE = 60.0


class Quiet:
    """Watches a run without a word; `time` is what is left, and a log may have every event.

    `failed` has the ids of trials that failed in it, `told` of those whose end was shown.
    """

    def __init__(self, log: Path | None = None, several: bool = False) -> None:
        self.failed: set[str] = set()
        self.told: set[str] = set()
        self.time = TimeLeft()
        self._names: dict[str, str] = {}
        self._several = several
        self._log = None if log is None else EventLog(log)

    def __enter__(self) -> Self:
        """Open the log; raises StoreError where it cannot be written, before anything runs."""
        if self._log:
            self._log.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write to the log what has ended the run."""
        if self._log:
            self._log.close(error, self.time.left)

    def downloads(self) -> "Progress | None":
        """Return where downloads may show their bars, if anywhere."""
        return None

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to what is written within."""
        return nullcontext()

    def tell(self, event: Event) -> None:
        """Take note of what has happened."""
        self.time.tell(event)
        if event.what == "begin":
            self._names |= names(event.trials)
        elif event.row is not None and event.row["status"] == "failed":
            self.failed.add(event.row["id"])
        if self._log:
            self._log.tell(event, self._names, self.time.left)

    def _of(self, event: Event) -> str:
        """Return how a line begins: with the experiment, if there are several."""
        return f"{event.experiment}: " if self._several else ""


class Lines(Quiet):
    """Writes a line per finished trial: for logs and pipes."""

    def __init__(self, log: Path | None = None, several: bool = False) -> None:
        super().__init__(log, several)
        self._counts: dict[str, tuple[int, int]] = {}  # of each experiment: its trials that are done, and all

    def tell(self, event: Event) -> None:
        """Say how much there is to do, what came out, and what time is left, if a minute or more."""
        super().tell(event)
        if event.what == "begin":
            done, to_run = event.done, len(event.trials)
            self._counts[event.experiment] = done, done + to_run
            planned = f"{done + to_run} trials, {done} done before, {to_run} to run"
            click.echo(f"{self._of(event)}{planned}", err=True)
        elif event.row is not None:
            identity = event.row["id"]
            self.told.add(identity)
            done, planned_trials = self._counts[event.experiment]
            self._counts[event.experiment] = done + 1, planned_trials
            place, left = f"{self._of(event)}[{done + 1}/{planned_trials}]", self.time.left or 0.0
            others = f" (about {time(left)} left)" if left >= MINUTE else ""
            click.echo(f"{place} {self._names[identity]}: {outcome(event.row)}{others}", err=True)


def observer(quiet: bool, log: Path | None = None, several: bool = False) -> Quiet:
    """Return what shows a run here: nothing, bars on a terminal, or lines; and writes it to a log."""
    if quiet:
        return Quiet(log)
    if not sys.stderr.isatty():
        return Lines(log, several)
    from kfeat.cli.bars import Bars  # which brings rich in: nobody waits for it who has no terminal

    return Bars(log, several)


def names(trials: Sequence[Trial]) -> dict[str, str]:
    """Return a short line for each trial by id; data and kernel are named where the plan has several.

    So is what the protocol does otherwise to the same data.
    """
    cells = {trial.cell: trial for trial in trials}  # a plan of many repeats is named quickly
    protocols = _protocols(list(cells.values()))
    data = _data(dict.fromkeys(trial.source for trial in cells.values()))
    settings = {
        cell: (data[trial.source], text, trial.kernel.formula)
        for (cell, trial), text in zip(cells.items(), protocols, strict=True)
    }
    shown = [i for i in range(3) if len({setting[i] for setting in settings.values()}) > 1]
    lines = {
        cell: plain(", ".join([*(setting[i] for i in shown if setting[i]), _method(cells[cell])]))
        for cell, setting in settings.items()
    }
    return {trial.id: f"{lines[trial.cell]}, repeat {trial.repeat}" for trial in trials}


def _data(sources: Iterable[Source]) -> dict[Source, str]:
    """Return each dataset's name, with what tells it from others of that name."""
    said = {one: {} if isinstance(one, str) else one.model_dump(mode="json") for one in sources}
    namesakes: dict[str, list[dict[str, Any]]] = {}
    for source, keys in said.items():
        namesakes.setdefault(dataset_name(source), []).append(keys)
    found = {}
    for source, keys in said.items():
        others = namesakes[dataset_name(source)]
        there = {key: value for key, value in keys.items() if value is not None}
        apart = [key for key, value in there.items() if any(other.get(key) != value for other in others)]
        found[source] = " ".join([dataset_name(source), *(f"{key}={keys[key]}" for key in apart)])
    return found


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
    return f"{_score(row)} in {wall_seconds(row):.2f} s"


def _score(row: Row) -> str:
    if "accuracy" in row:
        return f"{100 * row['accuracy']:.2f} %"
    if "kernel_error" in row:
        return f"kernel error {row['kernel_error']['relative_frobenius']['value']:.4f}"
    return f"relative error {row['relative_error']:.4f}" if "relative_error" in row else "mapped"
