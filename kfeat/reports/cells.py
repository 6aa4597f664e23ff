"""Cells: the repeats of one method on one setting, summarised, with the paper's number beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from kfeat.experiments.config import Experiment
from kfeat.experiments.file_model import Quantity, ReportedNumber
from kfeat.experiments.plan import Trial
from kfeat.experiments.selectors import reported_number
from kfeat.experiments.store import Row

# What a clock of the row is called in a table: mapping and training rows count as training time.
PHASES = {"map": ("map_fit", "map_train"), "train": ("train",), "test": ("map_test", "predict")}


@dataclass(frozen=True)
class Metric:
    """A score of the rows: where it stands there, and how tables and figures print it.

    `decimals` are digits after the point, or with `form` "g" digits in all, for scores of any size.
    """

    path: tuple[str, ...]
    title: str
    factor: float
    decimals: int
    form: str = "f"

    def of(self, row: Row) -> float:
        """Return the row's score in the unit that is printed."""
        value: Any = row
        for key in self.path:
            value = value[key]
        return self.factor * float(value)

    def text(self, mean: float, sd: float | None) -> str:
        """Return `mean ± sd`."""
        spread = "" if sd is None else f" ± {sd:.{self.decimals}{self.form}}"
        return f"{mean:.{self.decimals}{self.form}}{spread}"

    def change(self, difference: float) -> str:
        """Return a difference with its sign."""
        return f"{difference:+.{self.decimals}{self.form}}"


ACCURACY = Metric(("accuracy",), "accuracy (%)", 100.0, 2)
METRICS = (
    Metric(("relative_error",), "relative error", 1.0, 4),
    Metric(("kernel_error", "relative_frobenius", "value"), "relative kernel error (Frobenius)", 1.0, 4),
    Metric(("mean_square",), "mean ‖z(x)‖²", 1.0, 4, "g"),
    Metric(("bound_ratio",), "over the lemma's bound", 1.0, 3),
    ACCURACY,
)


@dataclass(frozen=True)
class Estimate:
    """A mean over n runs and their standard deviation (None for a single run)."""

    mean: float
    sd: float | None
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate":
        """Return mean and sample standard deviation of at least one value."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    @property
    def standard_error(self) -> float | None:
        """Return sd / sqrt(n)."""
        return None if self.sd is None else self.sd / sqrt(self.n)


@dataclass(frozen=True)
class Cell:
    """All repeats of one method on one setting."""

    trials: Sequence[Trial]
    rows: Sequence[Row]
    failed: Sequence[Row]
    stopped: Sequence[Row]
    reported: ReportedNumber | None

    @classmethod
    def of(cls, trials: Sequence[Trial], rows: Mapping[str, Row], reported: ReportedNumber | None) -> "Cell":
        """Return the cell of these trials, with those of `rows` that are theirs."""
        there = [rows[trial.id] for trial in trials if trial.id in rows]
        done, failed, stopped = (
            [row for row in there if row["status"] == status] for status in ("done", "failed", "stopped")
        )
        return cls(trials, done, failed, stopped, reported)

    @property
    def trial(self) -> Trial:
        """Return one of the trials, for what they have in common."""
        return self.trials[0]

    @property
    def metric(self) -> Metric:
        """Return the score of the rows: the accuracy, or an error of a regression or of the kernel."""
        there = (metric for row in self.rows for metric in METRICS if metric.path[0] in row)
        return next(there, ACCURACY)

    @cached_property
    def score(self) -> Estimate | None:
        """Return the score over the repeats, in the unit of `metric`."""
        return Estimate.of([self.metric.of(row) for row in self.rows]) if self.rows else None

    def quantity(self, name: Quantity) -> float | None:
        """Return what claims and layouts speak of, as `Quantity` lists it; None where rows do not tell."""
        if name == "score":
            return self.score.mean if self.score else None
        if name == "spread":
            return self.score.sd if self.score else None
        if name == "live":
            return self.columns("live")
        if name == "share":
            mapping, both = self.seconds("map"), self.fit_seconds()
            return mapping / both if mapping is not None and both else None
        return self.fit_seconds() if name == "fit" else self.seconds(name)

    def seconds(self, phase: str, clock: str = "cpu") -> float | None:
        """Return the mean seconds of a phase (map, train, test) over the rows that have it and count."""
        timed = [row["seconds"] for row in self.rows if row["timed"]]
        timed = [seconds for seconds in timed if not seconds.keys().isdisjoint(PHASES[phase])]
        if not timed:
            return None
        return fmean(sum(s[part][clock] for part in PHASES[phase] if part in s) for s in timed)

    def fit_seconds(self, clock: str = "cpu") -> float | None:
        """Return the mean seconds from raw training rows to a trained machine: mapping and training."""
        mapping = self.seconds("map", clock) if self.trial.map else 0.0
        training = self.seconds("train", clock)
        return None if mapping is None or training is None else mapping + training

    @property
    def more_than(self) -> float | None:
        """Return the seconds after which its trials were stopped, where none has ended and that counts."""
        limits = [row["limit_s"] for row in self.stopped if row["timed"]]
        return min(limits) if limits and not self.rows else None

    def columns(self, kind: str) -> float | None:
        """Return the mean number of live, zero or constant features."""
        counts = [row["columns"][kind] for row in self.rows if row["columns"]]
        return fmean(counts) if counts else None


def summarise(experiment: Experiment, trials: Iterable[Trial], rows: Mapping[str, Row]) -> list[Cell]:
    """Return the planned cells, the exact machine of each setting first, as the papers print them."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.cell, []).append(trial)
    found = [
        Cell.of(members, rows, reported_number(experiment.reported, members[0]))
        for members in groups.values()
    ]
    position = {key: i for i, key in enumerate(dict.fromkeys(setting(cell) for cell in found))}
    return sorted(found, key=lambda cell: (position[setting(cell)], cell.trial.map is not None))


def setting(cell: Cell) -> tuple[str, str, str]:
    """Return what methods are compared on: dataset, protocol and kernel."""
    trial = cell.trial
    return (trial.fingerprint, trial.protocol.model_dump_json(), str(trial.kernel.identity()))


def by_setting(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells setting by setting."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(setting(cell), []).append(cell)
    return list(groups.values())


def exact_of(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """Return the exact machine of the same setting, if it is planned."""
    same = (other for other in cells if other.trial.map is None and setting(other) == setting(cell))
    return next(same, None)
