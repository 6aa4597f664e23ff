"""Verdicts on numbers: on what the paper prints, and on new rows against the published ones.

docs/concepts/verdicts.md has the rules. A printed mean *agrees* if Welch's 95 % interval of ours - theirs
lies within [-slack, slack], *differs* if it lies outside, and is *compatible* if it does neither, or
without an interval. If no standard deviation is printed, the paper's runs are assumed to vary as ours do. A
difference of which nothing is random is known up to the rounding of the printed number.

A *curve* is judged likewise by L, the mean over its points of log(ours / printed). A sample's part q is the
mean over the points of its value over the mean of all n samples there. The standard error of L is sd(q)
sqrt(1 / n + 1) with n - 1 degrees of freedom: the paper's runs are assumed to have one sample, which varies
as ours do. A single sample of ours has no interval, however many maps are drawn on it.

New rows are the *same* as the published ones or *regressed*. Rows with the same identity are the same
computation, so only rounding may change them. Null hypothesis: rounding flips at most FLIP_SHARE of the
test predictions, independently, and equally often for better and for worse. A cell is regressed if the
change in its number of correct predictions is beyond the two-sided quantile of the sum of such flips at
FALSE_ALARM / (number of cells of all configs of the check). (Measured on the digits: with OpenBLAS's code
for three processors, and with two threads, at most 1 of 2,985 predictions of a cell changed.) Errors of a
regression or of a kernel are not counts: rounding may change that of a shared trial by at most the share
RELATIVE_ROUNDING of it plus ABSOLUTE_ROUNDING, since the error of a map that is exact is nothing but
rounding. (Measured on Nursery, whose polynomial of degree 2 has rank 44: with 64 landmarks or more,
Nystrom's error is 3e-7 to 1e-6, and processors differ by up to 1e-7.) An ill-conditioned system in single
precision magnifies rounding beyond that: of 854 published trials on an Intel Xeon with AVX-512, four (all of
scikit-learn's maps) regressed, and with AVX2 alone none, since then most are equal bit for bit. So
`check --rerun-budget` runs a trial that regressed from a row of another processor once more with AVX2 alone.
Rows without a common identity (for example with another seed) are compared by Welch's t-test at the same
level.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, inf, log, log1p, nan, sqrt
from operator import itemgetter
from statistics import fmean

import numpy as np
from scipy import special

from kfeat.analysis.cells import Cell, by_seed, error_of, grouped
from kfeat.analysis.claims import Cited, LookUp, explains
from kfeat.analysis.statistics import (
    KNOWN,
    Interval,
    Summary,
    error_with_ties,
    ratio_interval,
    spread_ratio_interval,
    welch_half_width,
)
from kfeat.experiments.paper import Reported, ReportedNumber, seconds_printed
from kfeat.experiments.quantities import SCORE, Quantity
from kfeat.experiments.row import Row
from kfeat.text import counted

TIME_FACTOR = 2.0

AGREES = "agrees"
COMPATIBLE = "compatible"
EXPLAINED = "differs, explained"
UNEXPLAINED = "differs, not explained"
ALIKE = "alike"
MISSING = "missing"
SAME = "same"
REGRESSED = "regressed"
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
    """Return a verdict for every printed curve: the numbers whose `where` is equal up to the last comma."""
    points = (judged for judged in numbers if judged.reported.curves)
    curves = grouped(points, lambda judged: judged.number.where.rpartition(",")[0])
    return [CurveVerdict(where, curve, *_curve_ratio(curve)) for where, curve in curves.items()]


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


FALSE_ALARM = 0.001
FLIP_SHARE = 0.005
RELATIVE_ROUNDING = 1e-3
ABSOLUTE_ROUNDING = 1e-6  # 8 times the precision of float32


@dataclass(frozen=True)
class Comparison:
    """One cell and its published rows: the change in the unit of its score, the test and its verdict.

    `elsewhere` says that one of the published rows was computed on another processor.
    """

    cell: Cell
    change: float
    limit: float
    test: str
    verdict: str
    elsewhere: bool


def comparisons(
    cells: Sequence[Cell], published: Mapping[str, Row], tests: int | None = None
) -> list[Comparison]:
    """Return a verdict for every cell that has rows here and published rows.

    `tests` is the number of such cells in the whole check, by default in `cells`.
    """
    pairs = comparable(cells, published)
    level = 1 - FALSE_ALARM / max(1, tests or len(pairs))
    return [_compared(cell, theirs, level) for cell, theirs in pairs]


def comparable(cells: Iterable[Cell], published: Mapping[str, Row]) -> list[tuple[Cell, list[Row]]]:
    """Return the cells that have rows here and published rows, with the published rows."""
    done = (row for row in published.values() if row["status"] == "done")
    by_cell = grouped(done, itemgetter("cell"))
    return [(cell, by_cell[cell.trial.cell]) for cell in cells if cell.rows and cell.trial.cell in by_cell]


def number_compared(cells: Iterable[Iterable[Cell]], published: Iterable[Mapping[str, Row]]) -> int:
    """Return how many cells of several experiments are compared with their published rows."""
    return sum(len(comparable(own, theirs)) for own, theirs in zip(cells, published, strict=True))


def _compared(cell: Cell, theirs: Sequence[Row], level: float) -> Comparison:
    by_id = {row["id"]: row for row in theirs}
    shared = [(row, by_id[row["id"]]) for row in cell.rows if row["id"] in by_id]
    if not cell.drawn:
        shared = shared[:1]  # its repeats are the same computation
    elsewhere = any(a["environment"]["processor"] != b["environment"]["processor"] for a, b in shared)
    if shared and all(_same(cell, a, b) for a, b in shared):
        return Comparison(cell, 0.0, 0.0, f"{len(shared)} shared, equal bit for bit", SAME, elsewhere)
    if shared:
        change, limit, test = _paired(cell, shared, level)
    else:
        change, limit, test = _unpaired(cell, theirs, level)
    verdict = SAME if abs(change) <= limit else REGRESSED
    return Comparison(cell, change, limit, test, verdict, elsewhere)


def _same(cell: Cell, ours: Row, theirs: Row) -> bool:
    if "predictions" in ours and "predictions" in theirs:
        return bool(ours["predictions"] == theirs["predictions"])
    return _score(cell, ours) == _score(cell, theirs)


def _score(cell: Cell, row: Row) -> float:
    score = cell.named(SCORE).read(row)
    return nan if score is None else score  # the other rows of its cell have another score


def _paired(cell: Cell, shared: Sequence[tuple[Row, Row]], level: float) -> tuple[float, float, str]:
    pairs = [(_score(cell, a), _score(cell, b)) for a, b in shared]
    if cell.named(SCORE).name != "accuracy":
        # The worst trial counts: in the mean, changes up and down would cancel.
        ours, theirs = max(pairs, key=lambda pair: abs(pair[0] - pair[1]) - _rounding(pair[1]))
        test = f"{counted(len(shared), 'shared trials')}, rounding of {RELATIVE_ROUNDING:g}"
        return ours - theirs, _rounding(theirs), test
    change = fmean(a - b for a, b in pairs)
    total = sum(b["n_test"] for _, b in shared)
    return (
        change,
        100 * flips(total, 1 - level) / total,
        f"{counted(len(shared), 'shared trials')}, flips of rounding",
    )


def _rounding(error: float) -> float:
    return RELATIVE_ROUNDING * abs(error) + ABSOLUTE_ROUNDING


@cache
def flips(rows: int, alarm: float) -> float:
    """Return the smallest integer L with P(|S| > L) <= alarm, plus 1e-6 to allow for rounding.

    S is the change of the number of correct predictions by flips: each of `rows` rows flips with the
    probability FLIP_SHARE, equally often for better and for worse. If B of k flips are for better,
    S = 2 B - k. (The normal quantile gave up to 20 times more false alarms than stated on small test sets.)
    """
    expected = FLIP_SHARE * rows
    k = np.arange(min(rows, int(expected + 20 * sqrt(expected) + 100)) + 1)
    log_chance = k * log(FLIP_SHARE) + (rows - k) * log1p(-FLIP_SHARE)
    chance = np.exp(
        log_chance + special.gammaln(rows + 1) - special.gammaln(k + 1) - special.gammaln(rows - k + 1)
    )
    low, high = -1, int(k[-1])  # P(|S| > low) is too large, P(|S| > high) is 0
    while high - low > 1:
        middle = (low + high) // 2
        above = np.where(k > middle, special.bdtrc((k + middle) // 2, k, 0.5), 0.0)
        low, high = (low, middle) if 2 * chance @ above <= alarm else (middle, high)
    return high + 1e-6


def _unpaired(cell: Cell, theirs: Sequence[Row], level: float) -> tuple[float, float, str]:
    ours, other = cell.score, Summary.of([_score(cell, row) for row in theirs])
    assert ours is not None
    quantity = cell.named(SCORE)
    change, test = ours.mean - other.mean, f"Welch's t-test, {ours.n} and {other.n} runs"
    errors = [error_with_ties(ours, quantity, cell.rows), error_with_ties(other, quantity, theirs)]
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return change, inf, f"{test}: too few to tell"
    return change, welch_half_width(known[0], known[1], level), test
