"""Cells: the repeats of one method on one setting, summarised, with the paper's number beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean, mean, stdev
from typing import Any, Literal

from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, counts_as_timed
from kfeat.experiments.schema import Quantity, ReportedNumber
from kfeat.experiments.selectors import reported_number

# What a clock of the row is called in a table: mapping and training rows count as training time.
Phase = Literal["map", "train", "test"]
PHASES: dict[Phase, tuple[str, ...]] = {
    "map": ("map_fit", "map_train"),
    "train": ("train",),
    "test": ("map_test", "predict"),
}


MANY_DIGITS = 1e7  # from here on a score is written with an exponent


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
        spread = "" if sd is None else f" ± {self._number(sd)}"
        return f"{self._number(mean)}{spread}"

    def _number(self, value: float) -> str:
        if self.form == "g" or abs(value) < MANY_DIGITS:
            return f"{value:.{self.decimals}{self.form}}"
        return f"{value:.{self.decimals + 1}g}"

    def change(self, difference: float) -> str:
        """Return a difference with its sign."""
        return "+" * (difference >= 0) + self._number(difference)


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
        try:
            middle = fmean(values)
        except OverflowError:  # of the sum: errors of a regression have no upper end
            middle = mean(values)
        return cls(middle, stdev(values) if len(values) > 1 else None, len(values))

    @property
    def standard_error(self) -> float | None:
        """Return sd / sqrt(n)."""
        return None if self.sd is None else self.sd / sqrt(self.n)


@dataclass(frozen=True)
class Shown:
    """A number as a table shows it: perhaps from times of a busy machine, perhaps as a bound (`> `, `< `)."""

    value: float | None
    busy: bool = False
    sign: Literal["", "> ", "< "] = ""

    def over(self, other: "Shown") -> "Shown":
        """Return the ratio of two; nothing where a time is too short for the clock, or both are bounds."""
        if self.value is None or not other.value or (self.sign and other.sign):
            return Shown(None)
        return Shown(self.value / other.value, self.busy or other.busy, "< " if other.sign else self.sign)


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
    def folds(self) -> int:
        """Return over how many splits its runs are a mean: 1, but for the mean over folds."""
        return len({trial.protocol for trial in self.trials})

    @property
    def metric(self) -> Metric:
        """Return the score of the rows: the accuracy, or an error of a regression or of the kernel."""
        there = (metric for row in self.rows for metric in METRICS if metric.path[0] in row)
        return next(there, ACCURACY)

    @cached_property
    def score(self) -> Estimate | None:
        """Return the score over the repeats, in the unit of `metric`."""
        return Estimate.of([self.metric.of(row) for row in self.rows]) if self.rows else None

    @property
    def there(self) -> list[Row]:
        """Return all rows, however they ended."""
        return [*self.rows, *self.failed, *self.stopped]

    def quantity(self, name: Quantity, busy: bool = False) -> float | None:
        """Return what claims and layouts speak of, as `Quantity` lists it; None where rows do not tell.

        With `busy`, times of a busy machine serve where there are no others.
        """
        if name == "score":
            return self.score.mean if self.score else None
        if name == "spread":
            return self.score.sd if self.score else None
        if name == "live":
            return self.columns("live")
        if name == "share":
            mapping, both = self.seconds("map", busy=busy), self.fit_seconds(busy=busy)
            return mapping / both if mapping is not None and both else None
        return self.fit_seconds(busy=busy) if name == "fit" else self.seconds(name, busy=busy)

    def is_busy(self, name: Quantity) -> bool:
        """Tell whether the quantity is known from times of a busy machine only."""
        return self.quantity(name) is None and self.quantity(name, busy=True) is not None

    def seconds(self, phase: Phase, clock: str = "cpu", busy: bool = False) -> float | None:
        """Return the mean seconds of a phase (map, train, test) over the rows that have it and count.

        With `busy`, rows of a busy machine serve where none counts: their times are longer than need be.
        """
        timed = [row["seconds"] for row in self.rows if counts_as_timed(row)]
        if busy and not timed:
            timed = [row["seconds"] for row in self.rows]
        timed = [seconds for seconds in timed if not seconds.keys().isdisjoint(PHASES[phase])]
        if not timed:
            return None
        return fmean(sum(s[part][clock] for part in PHASES[phase] if part in s) for s in timed)

    def fit_seconds(self, clock: str = "cpu", busy: bool = False) -> float | None:
        """Return the mean seconds from raw training rows to a trained machine: mapping and training."""
        mapping = self.seconds("map", clock, busy) if self.trial.map else 0.0
        training = self.seconds("train", clock, busy)
        return None if mapping is None or training is None else mapping + training

    @property
    def bound(self) -> "Shown | None":
        """Return the seconds after which its trials were stopped, where none has ended: a lower bound."""
        if self.rows or not self.stopped:
            return None
        timed = [row["limit_s"] for row in self.stopped if counts_as_timed(row)]
        return Shown(min(timed or [row["limit_s"] for row in self.stopped]), busy=not timed, sign="> ")

    def shown(self, name: Quantity) -> "Shown":
        """Return a quantity as tables show it.

        Of a map's stopped trial, how its time falls into mapping and training is not known.
        """
        whole = name == "fit" or (name == "train" and self.trial.map is None)
        if whole and self.bound:
            return self.bound
        return Shown(self.quantity(name, busy=True), busy=self.is_busy(name))

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
    protocol = f"{cell.folds} {trial.protocol.model_dump_json()}"
    return (trial.data_key, protocol, str(trial.kernel.identity()))


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
