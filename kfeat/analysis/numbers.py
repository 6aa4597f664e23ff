"""Verdicts on what the paper prints: means, their standard deviations, and times.

A mean counts as reproduced if the difference is at most the slack or two of the printed standard deviations:
it is *within the error* where Welch's 95 % interval of the difference of means has 0 inside, else *within the
slack*. Where no standard deviation is printed, the paper's runs are taken to vary as ours do. A difference
beyond the slack is *open* where its interval has 0 inside, or where a single draw of ours leaves none; else
it *differs*, *explained* if the config says why and every claim that it cites is reproduced, else *not
explained*.

The wider an interval is, the more easily it has 0 inside: few runs, or runs that vary much, are within the
error of almost anything. So a number within the error is *known to lie within the slack* where its whole
interval does, and otherwise *too wide to tell*: the difference may be beyond the slack, and nothing shows it.

A standard deviation is *alike* if the 95 % F interval of ours over the printed one has 1 inside, else
*wider* or *narrower*. A time is *alike* if ours is within a factor TIME_FACTOR of the printed one, else
*quicker* or *slower*: the paper's was taken on another machine, so that only its order of magnitude can be
met. What has no rows, or no times that count, is *missing*.
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
# From the best to the worst, as tallies list them.
MEANS = (WITHIN_ERROR, WITHIN_SLACK, OPEN, EXPLAINED, UNEXPLAINED, MISSING)
KNOWN_WELL, TOO_WIDE = "known to lie within the slack", "too wide to tell"
CERTAINTY = (KNOWN_WELL, TOO_WIDE)
DEVIATIONS = (ALIKE, "wider", "narrower", MISSING)
TIMES = (ALIKE, "quicker", "slower", MISSING)


@dataclass(frozen=True)
class Reproduction:
    """A printed mean beside that of a cell: ours - theirs, in the unit that is printed, and its interval."""

    cell: Cell
    quantity: Quantity
    ours: Summary
    difference: float
    interval: Interval | None
    verdict: str
    slack: float


@dataclass(frozen=True)
class PrintedRatio:
    """Ours over a printed number, with its interval."""

    number: float
    interval: Interval | None
    verdict: str


@dataclass(frozen=True)
class NumberVerdict:
    """A printed number, the cells of the plan that it speaks of, and how those with rows compare."""

    number: ReportedNumber
    cells: Sequence[Cell]
    reproductions: Sequence[Reproduction]
    cited: Sequence[Cited]
    runs: int

    @property
    def verdict(self) -> str:
        """Return the worst verdict over its cells, one of MEANS; missing only where none is unexplained."""
        found = [self.of(item) for item in self.reproductions]
        if UNEXPLAINED in found:
            return UNEXPLAINED
        if not found or len(found) < len(self.cells):
            return MISSING
        return max(found, key=MEANS.index)

    def of(self, item: Reproduction) -> str:
        """Return the verdict on one cell: an explanation holds for all of them."""
        return (
            EXPLAINED if item.verdict == UNEXPLAINED and explains(self.number, self.cited) else item.verdict
        )

    @property
    def certainty(self) -> str:
        """Return how well a number within the error is known, one of CERTAINTY, over all of its cells."""
        intervals = [(one.interval or (-inf, inf), one.slack) for one in self.reproductions]
        known = all(-slack <= low and high <= slack for (low, high), slack in intervals)
        return KNOWN_WELL if known else TOO_WIDE

    def times(self, cell: Cell) -> dict[str, PrintedRatio]:
        """Return a cell's seconds over the printed ones, for each quantity of which a time is printed."""
        return {name: _time_ratio(cell, name, printed) for name, printed in self.number.times.items()}

    def deviation(self, cell: Cell) -> PrintedRatio | None:
        """Return a cell's standard deviation over the printed one; None where none is printed."""
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
        there = [item for item in judged if item is not None]
        found.append(NumberVerdict(number, own, there, cited, reported.runs))
    return found


def reproduction(cell: Cell, number: ReportedNumber, reported: Reported) -> Reproduction | None:
    """Return how a cell's mean compares with a printed one; None where the cell has no rows with it."""
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
        # Of a single draw of ours nobody knows how far it may be off.
        verdict = OPEN if by_chance or interval is None else UNEXPLAINED
    return Reproduction(cell, quantity, ours, difference, interval, verdict, slack)


def _interval(cell: Cell, quantity: Quantity, difference: float, theirs: Summary) -> Interval | None:
    """Return Welch's 95 % interval of ours - theirs, widened by the rounding of the printed number.

    Where nothing is drawn, such as for the exact kernel SVM on a fixed split, the printed mean has no error.
    Where something is and no standard deviation is printed, the paper's runs are taken to vary as ours do.
    None if the spread of ours is not known.
    """
    found, ours = cell.of(quantity.name), error_of(cell, quantity.name)
    if found is None or ours is None:
        return None
    printed = theirs.error if cell.drawn else KNOWN
    if printed is None:  # equal spreads: one estimate, with our degrees of freedom
        ours, printed = (ours[0] * sqrt(1 + found.n / theirs.n), ours[1]), KNOWN
    half = welch_half_width(ours, printed) + quantity.rounding
    return difference - half, difference + half
