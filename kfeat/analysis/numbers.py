"""Verdicts on what the paper prints: numbers, curves, spreads and times.

docs/concepts/verdicts.md has the rules. A printed mean *agrees* if Welch's 95 % interval of ours - theirs
lies within [-slack, slack], *differs* if it lies outside, and is *compatible* if it does neither, or
without an interval. If no standard deviation is printed, the paper's runs are assumed to vary as ours do. A
difference of which nothing is random is known up to the rounding of the printed number.

A *curve* is judged likewise by L, the mean over its points of log(ours / printed). A sample's part q is the
mean over the points of its value over the mean of all n samples there. The standard error of L is sd(q)
sqrt(1 / n + 1) with n - 1 degrees of freedom: the paper's runs are assumed to have one sample, which varies
as ours do. A single sample of ours has no interval, however many maps are drawn on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, inf, log, log1p, sqrt
from statistics import fmean

from kfeat.analysis.cells import Cell, by_seed, error_of, grouped
from kfeat.analysis.claims import Cited, LookUp, explains
from kfeat.analysis.statistics import (
    KNOWN,
    Interval,
    Summary,
    ratio_interval,
    spread_ratio_interval,
    welch_half_width,
)
from kfeat.experiments.paper import Reported, ReportedNumber, seconds_printed
from kfeat.experiments.quantities import Quantity

TIME_FACTOR = 2.0

AGREES = "agrees"
COMPATIBLE = "compatible"
EXPLAINED = "differs, explained"
UNEXPLAINED = "differs, not explained"
ALIKE = "alike"
MISSING = "missing"
# From the best to the worst, in the order of tallies.
MEANS = (AGREES, COMPATIBLE, EXPLAINED, UNEXPLAINED, MISSING)
DEVIATIONS = (ALIKE, "wider", "narrower", MISSING)
TIMES = (ALIKE, "quicker", "slower", MISSING)


@dataclass(frozen=True)
class Reproduction:
    """A printed mean and a cell's mean: ours - theirs, in the unit that is printed, and its interval."""

    cell: Cell
    quantity: Quantity
    ours: Summary
    difference: float
    interval: Interval | None
    verdict: str
    slack: float

    @property
    def distance(self) -> float:
        """Return |ours - theirs| / slack, which is at most 1 where the means are within the bound."""
        return abs(self.difference) / self.slack


@dataclass(frozen=True)
class PrintedRatio:
    """Ours over a printed number, with its interval."""

    number: float
    interval: Interval | None
    verdict: str


@dataclass(frozen=True)
class NumberVerdict:
    """A printed number, its cells in the plan, and the comparison with those that have rows."""

    number: ReportedNumber
    cells: Sequence[Cell]
    reproductions: Sequence[Reproduction]
    cited: Sequence[Cited]
    reported: Reported

    @property
    def verdict(self) -> str:
        """Return the worst verdict over its cells, one of MEANS; unexplained is worse than missing."""
        verdicts = [self.of(reproduction) for reproduction in self.reproductions]
        if UNEXPLAINED in verdicts:
            return UNEXPLAINED
        if not verdicts or len(verdicts) < len(self.cells):
            return MISSING
        return max(verdicts, key=MEANS.index)

    def of(self, reproduction: Reproduction) -> str:
        """Return the verdict on one cell; an explanation holds for all cells."""
        explained = reproduction.verdict == UNEXPLAINED and explains(self.number, self.cited)
        return EXPLAINED if explained else reproduction.verdict

    def times(self, cell: Cell) -> dict[str, PrintedRatio]:
        """Return a cell's seconds over the printed ones, for each quantity with a printed time."""
        return {name: _time_ratio(cell, name, printed) for name, printed in self.number.times.items()}

    def deviation(self, cell: Cell) -> PrintedRatio | None:
        """Return a cell's standard deviation over the printed one; None if none is printed."""
        sd = self.number.sd
        if not sd:
            return None
        ours, rounding = cell.of(self.number.of), self.reported.rounding_of(self.number)
        if ours is None or ours.sd is None:
            return PrintedRatio(0.0, None, MISSING)
        theirs = Summary(0.0, sd, self.number.runs or self.reported.runs)
        low, high = spread_ratio_interval(ours, theirs) or (0.0, 0.0)
        low = low * sd / (sd + rounding)
        high = high * sd / (sd - rounding) if sd > rounding else inf
        verdict = "wider" if low > 1 else "narrower" if high < 1 else ALIKE
        return PrintedRatio(ours.sd / sd, (low, high), verdict)


@dataclass(frozen=True)
class CurveVerdict:
    """The points of a printed curve, and ours over the printed ones on the samples that all points have."""

    where: str
    points: Sequence[NumberVerdict]
    samples: int
    ratio: PrintedRatio

    @property
    def verdict(self) -> str:
        """Return the verdict, one of MEANS; what differs is explained if that of every point is."""
        explained = all(explains(point.number, point.cited) for point in self.points)
        return EXPLAINED if explained and self.ratio.verdict == UNEXPLAINED else self.ratio.verdict


def curve_verdicts(numbers: Iterable[NumberVerdict]) -> list[CurveVerdict]:
    """Return a verdict for every printed curve: numbers whose `where` differs after its last comma."""
    points = (judged for judged in numbers if judged.reported.curves)
    curves = grouped(points, lambda judged: judged.number.where.rpartition(",")[0])
    several = {where: curve for where, curve in curves.items() if len(curve) > 1}
    return [CurveVerdict(where, curve, *_curve_ratio(curve)) for where, curve in several.items()]


def _curve_ratio(points: Sequence[NumberVerdict]) -> tuple[int, PrintedRatio]:
    """Return the number of samples, and ours over the printed numbers."""
    reported = points[0].reported
    pairs = [(point.number, cell) for point in points for cell in point.cells]
    all_values = [by_seed(cell, number.of, "data") for number, cell in pairs]
    samples = set.intersection(*map(set, all_values)) if all(point.cells for point in points) else set()
    if not samples:
        return 0, PrintedRatio(0.0, None, MISSING)
    means = [fmean(values[sample] for sample in samples) for values in all_values]
    if min(means) <= 0:  # a map that is exact
        return len(samples), PrintedRatio(0.0, None, UNEXPLAINED)
    ratio = fmean(log(mean / number.mean) for mean, (number, _) in zip(means, pairs, strict=True))
    scaled = list(zip(all_values, means, strict=True))
    parts = [fmean(values[sample] / mean for values, mean in scaled) for sample in samples]
    ours, half = Summary.of(parts), inf
    if ours.error is not None:
        error = ours.error[0] * sqrt(1 + ours.n), ours.error[1]  # the paper has one sample
        rounding = fmean(log1p(reported.rounding_of(number) / number.mean) for number, _ in pairs)
        half = welch_half_width(error) + rounding
    slack = fmean(log1p(reported.slack_of(number) / number.mean) for number, _ in pairs)
    verdict = held_against((ratio - half, ratio + half), slack)
    interval = None if half == inf else (exp(ratio - half), exp(ratio + half))
    return ours.n, PrintedRatio(exp(ratio), interval, verdict)


def _time_ratio(cell: Cell, name: str, printed: str) -> PrintedRatio:
    low, high = seconds_printed(printed)
    ours, error = cell.of(name, logs=True), error_of(cell, name)
    if ours is None or error is None:
        return PrintedRatio(0.0, None, MISSING)
    ends = ratio_interval(ours.mean, error, 1.0, KNOWN) or (0.0, inf)
    interval = (ends[0] / high, ends[1] / low if low else inf)
    theirs = (low + high) / 2 if low else high
    number = ours.mean / theirs
    quicker = low > 0 and number < 1 / TIME_FACTOR
    verdict = "slower" if number > TIME_FACTOR else "quicker" if quicker else ALIKE
    return PrintedRatio(number, interval, verdict)


def number_verdicts(
    cells: Sequence[Cell], reported: Reported, look_up: LookUp | None = None
) -> list[NumberVerdict]:
    """Return a verdict for every printed number; `look_up` finds the claims that explanations cite."""
    verdicts = []
    for number in reported.numbers:
        own = [cell for cell in cells if cell.printed.get(number.of) is number]
        reproductions = [item for cell in own if (item := reproduction(cell, number, reported))]
        cited = [look_up(citation) for citation in number.evidence] if look_up else []
        verdicts.append(NumberVerdict(number, own, reproductions, cited, reported))
    return verdicts


def reproduction(cell: Cell, number: ReportedNumber, reported: Reported) -> Reproduction | None:
    """Return the comparison of a cell's mean with a printed one; None if the cell has no rows with it."""
    quantity, ours = cell.named(number.of), cell.of(number.of)
    if ours is None:
        return None
    theirs = Summary(number.mean, number.sd, number.runs or reported.runs)
    interval = _interval(cell, quantity, ours, theirs, reported.rounding_of(number))
    slack = reported.slack_of(number)
    verdict = held_against(interval, slack)
    return Reproduction(cell, quantity, ours, ours.mean - theirs.mean, interval, verdict, slack)


def held_against(interval: Interval | None, slack: float) -> str:
    """Return whether a difference with this interval agrees, differs, or is compatible with either."""
    low, high = interval or (-inf, inf)
    if -slack <= low and high <= slack:
        return AGREES
    return UNEXPLAINED if low > slack or high < -slack else COMPATIBLE


def _interval(
    cell: Cell, quantity: Quantity, ours: Summary, theirs: Summary, rounding: float
) -> Interval | None:
    """Return Welch's 95 % interval of ours - theirs, widened by the rounding of the printed number.

    If nothing is random, as for the exact kernel SVM on a fixed split, the printed mean has no error. If
    something is random and no standard deviation is printed, the paper's runs are assumed to vary as ours do.
    None if our spread is not known.
    """
    error, printed = error_of(cell, quantity.name), theirs.error if cell.drawn else KNOWN
    if error is None:
        return None
    if printed is None:  # equal spreads: one estimate, with our degrees of freedom
        error, printed = (error[0] * sqrt(1 + ours.n / theirs.n), error[1]), KNOWN
    difference, half = ours.mean - theirs.mean, welch_half_width(error, printed) + rounding
    return difference - half, difference + half
