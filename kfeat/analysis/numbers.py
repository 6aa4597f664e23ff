"""Verdicts on what the paper prints: means, their standard deviations, and times.

A mean is reproduced if the difference is at most the slack or two of the printed standard deviations. It is
*within the error* if Welch's 95 % interval of the difference of means contains 0, else *within the slack*. If
no standard deviation is printed, the paper's runs are assumed to vary as ours do. A difference beyond the
slack is *open* if its interval contains 0, or if a single random run of ours gives no interval. Otherwise it
*differs*: *explained* if the config explains it and every claim that it cites is reproduced, else *not
explained*.

A wide interval contains 0 easily: few runs, or runs that vary much, are within the error of almost anything.
So a number within the error is *known to lie within the slack* if its whole interval does, and otherwise *too
wide to tell*: the true difference may be beyond the slack.

A standard deviation is *alike* if the 95 % F interval of ours over the printed one contains 1, else *wider*
or *narrower*. A time is *alike* if ours is within a factor TIME_FACTOR of the printed one, else *quicker* or
*slower*: the paper's machine was another, so only the order of magnitude can agree. A number without rows, or
a time without times that count, is *missing*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

from kfeat.analysis.cells import Cell
from kfeat.analysis.certainty import error_of
from kfeat.analysis.claims import Cited, LookUp, explains
from kfeat.analysis.statistics import KNOWN, Interval, Summary, spread_ratio_interval, welch_half_width
from kfeat.experiments.paper import Reported, ReportedNumber, seconds_printed
from kfeat.experiments.quantities import Quantity

TIME_FACTOR = 2.0

WITHIN_ERROR = "within the error"
WITHIN_SLACK = "within the slack"
AGREE = (WITHIN_ERROR, WITHIN_SLACK)
OPEN = "open"
EXPLAINED = "differs, explained"
UNEXPLAINED = "differs, not explained"
ALIKE = "alike"
MISSING = "missing"
# From the best to the worst, in the order of tallies.
MEANS = (WITHIN_ERROR, WITHIN_SLACK, OPEN, EXPLAINED, UNEXPLAINED, MISSING)
KNOWN_WELL, TOO_WIDE = "known to lie within the slack", "too wide to tell"
CERTAINTY = (KNOWN_WELL, TOO_WIDE)
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
        """Return |ours - theirs| / slack, which is at most 1 if the mean is reproduced."""
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
    runs: int

    @property
    def verdict(self) -> str:
        """Return the worst verdict over its cells, one of MEANS; unexplained is worse than missing."""
        found = [self.of(item) for item in self.reproductions]
        if UNEXPLAINED in found:
            return UNEXPLAINED
        if not found or len(found) < len(self.cells):
            return MISSING
        return max(found, key=MEANS.index)

    def of(self, item: Reproduction) -> str:
        """Return the verdict on one cell; an explanation holds for all cells."""
        return (
            EXPLAINED if item.verdict == UNEXPLAINED and explains(self.number, self.cited) else item.verdict
        )

    @property
    def certainty(self) -> str:
        """Return whether a number within the error is known well, one of CERTAINTY, over all of its cells."""
        intervals = [(one.interval or (-inf, inf), one.slack) for one in self.reproductions]
        known = all(-slack <= low and high <= slack for (low, high), slack in intervals)
        return KNOWN_WELL if known else TOO_WIDE

    def times(self, cell: Cell) -> dict[str, PrintedRatio]:
        """Return a cell's seconds over the printed ones, for each quantity with a printed time."""
        return {name: _time_ratio(cell, name, printed) for name, printed in self.number.times.items()}

    def deviation(self, cell: Cell) -> PrintedRatio | None:
        """Return a cell's standard deviation over the printed one; None if none is printed."""
        sd = self.number.sd
        if not sd:
            return None
        ours = cell.of(self.number.of)
        quantity = cell.named(self.number.of)
        if ours is None or ours.sd is None:
            return PrintedRatio(0.0, None, MISSING)
        found = spread_ratio_interval(ours, Summary(0.0, sd, self.number.runs or self.runs)) or (0.0, 0.0)
        low = found[0] * sd / (sd + quantity.rounding)
        high = found[1] * sd / (sd - quantity.rounding) if sd > quantity.rounding else inf
        verdict = "wider" if low > 1 else "narrower" if high < 1 else ALIKE
        return PrintedRatio(ours.sd / sd, (low, high), verdict)


def _time_ratio(cell: Cell, name: str, printed: str) -> PrintedRatio:
    """Return a cell's seconds over a printed time."""
    low, high = seconds_printed(printed)
    ours, error = cell.of(name), error_of(cell, name)
    if ours is None or error is None:
        return PrintedRatio(0.0, None, MISSING)
    half = welch_half_width(error)
    interval = (max(0.0, ours.mean - half) / high, (ours.mean + half) / low if low else inf)
    theirs = (low + high) / 2 if low else high
    number = ours.mean / theirs
    quicker = low > 0 and number < 1 / TIME_FACTOR
    verdict = "slower" if number > TIME_FACTOR else "quicker" if quicker else ALIKE
    return PrintedRatio(number, interval, verdict)


def number_verdicts(
    cells: Sequence[Cell], reported: Reported, look_up: LookUp | None = None
) -> list[NumberVerdict]:
    """Return a verdict for every printed number; `look_up` finds the claims that explanations cite."""
    found = []
    for number in reported.numbers:
        own = [cell for cell in cells if cell.printed.get(number.of) is number]
        judged = (reproduction(cell, number, reported) for cell in own)
        cited = [look_up(citation) for citation in number.evidence] if look_up else []
        known = [item for item in judged if item is not None]
        found.append(NumberVerdict(number, own, known, cited, reported.runs))
    return found


def reproduction(cell: Cell, number: ReportedNumber, reported: Reported) -> Reproduction | None:
    """Return the comparison of a cell's mean with a printed one; None if the cell has no rows with it."""
    quantity, ours = cell.named(number.of), cell.of(number.of)
    if ours is None:
        return None
    theirs = Summary(number.mean, number.sd, number.runs or reported.runs)
    difference = ours.mean - theirs.mean
    interval = _interval(cell, quantity, difference, theirs)
    by_chance = interval is not None and interval[0] <= 0 <= interval[1]
    slack = reported.slack_of(number)
    if abs(difference) <= slack:
        verdict = WITHIN_ERROR if by_chance else WITHIN_SLACK
    else:
        # The error of a single random run of ours is not known.
        verdict = OPEN if by_chance or interval is None else UNEXPLAINED
    return Reproduction(cell, quantity, ours, difference, interval, verdict, slack)


def _interval(cell: Cell, quantity: Quantity, difference: float, theirs: Summary) -> Interval | None:
    """Return Welch's 95 % interval of ours - theirs, widened by the rounding of the printed number.

    If nothing is random, as for the exact kernel SVM on a fixed split, the printed mean has no error. If
    something is random and no standard deviation is printed, the paper's runs are assumed to vary as ours do.
    None if our spread is not known.
    """
    found, ours = cell.of(quantity.name), error_of(cell, quantity.name)
    if found is None or ours is None:
        return None
    printed = theirs.error if cell.drawn else KNOWN
    if printed is None:  # equal spreads: one estimate, with our degrees of freedom
        ours, printed = (ours[0] * sqrt(1 + found.n / theirs.n), ours[1]), KNOWN
    half = welch_half_width(ours, printed) + quantity.rounding
    return difference - half, difference + half
