"""Showing a run: bars (`bars`) on a terminal, plain lines elsewhere, nothing when quiet; all on stderr."""

import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli.time_left import TimeLeft
from kfeat.data import Source
from kfeat.errors import KfeatError
from kfeat.experiments.component import in_words
from kfeat.experiments.observer import Begun
from kfeat.experiments.plan import Trial, dataset_name
from kfeat.experiments.store import Row
from kfeat.render.text import time
from kfeat.saying import plain

if TYPE_CHECKING:
    from rich.progress import Progress

MINUTE = 60.0


class Quiet:
    """Watches a run without a word; `time` is what is left.

    `failed` has the ids of trials that failed in it, `told` of those whose end was shown.
    """

    def __init__(self) -> None:
        self.failed: set[str] = set()
        self.told: set[str] = set()
        self.time = TimeLeft()

    def __enter__(self) -> "Quiet":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""

    def downloads(self) -> "Progress | None":
        """Return where downloads may show their bars, if anywhere."""
        return None

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to what is written within."""
        return nullcontext()

    def expect(self, experiment: str, seconds: Sequence[float | None]) -> None:
        """Take note of what an experiment will take that begins later."""
        self.time.announce(experiment, seconds)

    def begin(self, begun: Begun) -> None:
        """Take note of an experiment's trials, and of what each will take."""
        self.time.over(begun.experiment)
        self.time.add(begun.expected)

    def started(self, trial: Trial) -> None:
        """Take note of a trial that has begun."""
        self.time.started(trial.id)

    def finished(self, trial: Trial, row: Row) -> None:
        """Take note of a trial that is saved."""
        self.time.finished(trial.id)
        if row["status"] == "failed":
            self.failed.add(trial.id)

    def end(self, experiment: str, left: Collection[str], error: KfeatError | None) -> None:
        """Take note of an experiment that has ended, and of the trials that an error has left."""
        self.time.over(experiment)
        self.time.drop(left)


class Lines(Quiet):
    """Writes a line per finished trial: for logs and pipes; it names the experiment if there are several."""

    def __init__(self, several: bool = False) -> None:
        super().__init__()
        self._several = several
        self._names: dict[str, str] = {}
        self._counts: dict[str, _Count] = {}  # by the ids of trials, one for each experiment

    def begin(self, begun: Begun) -> None:
        """Say how much there is to do."""
        super().begin(begun)
        trials, done = begun.trials, begun.done
        count = _Count(f"{begun.experiment}: " if self._several else "", done, len(trials) + done)
        self._names |= names(trials)
        self._counts |= {trial.id: count for trial in trials}
        others = f", {begun.in_hand} in hand for another" if begun.in_hand else ""
        planned = count.all + begun.in_hand
        click.echo(f"{count.of}{planned} trials, {done} done before{others}, {len(trials)} to run", err=True)

    def finished(self, trial: Trial, row: Row) -> None:
        """Say what came out, and how long the others will take where that is a minute or more."""
        super().finished(trial, row)
        self.told.add(trial.id)
        count = self._counts[trial.id]
        count.done += 1
        place, left = f"{count.of}[{count.done}/{count.all}]", self.time.left or 0.0
        others = f" (about {time(left)} left)" if left >= MINUTE else ""
        click.echo(f"{place} {self._names[trial.id]}: {outcome(row)}{others}", err=True)


@dataclass
class _Count:
    """How many of an experiment's trials are done, and how a line says which experiment that is."""

    of: str
    done: int
    all: int


def observer(quiet: bool, log: Path | None = None, several: bool = False) -> Quiet:
    """Return what shows a run here: nothing, bars on a terminal, or lines; and writes it to a log."""
    from kfeat.cli.event_log import EventLog

    shown = Quiet() if quiet else _bars(several) if sys.stderr.isatty() else Lines(several)
    return shown if log is None else EventLog(shown, log)


def _bars(several: bool) -> Quiet:
    """Return bars; they bring rich in, for which nobody waits who has no terminal."""
    from kfeat.cli.bars import Bars

    return Bars(several=several)


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
    score = _score(row)
    seconds = sum(phase["wall"] for phase in row["seconds"].values())
    return f"{score} in {seconds:.2f} s"


def _score(row: Row) -> str:
    if "accuracy" in row:
        return f"{100 * row['accuracy']:.2f} %"
    if "kernel_error" in row:
        return f"kernel error {row['kernel_error']['relative_frobenius']['value']:.4f}"
    return f"relative error {row['relative_error']:.4f}" if "relative_error" in row else "mapped"
