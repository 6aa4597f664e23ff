"""How many further runs would decide a verdict that is open, or an interval that is too wide.

The half-width h of an interval falls as 1 / sqrt(n) with the number n of runs. A verdict is decided once h is
below the distance d of our number from the bound: by n (h / d)^2 runs, if mean and spread stay as they are.
Where n is small, fewer may do, since Student's quantile falls too. Against a printed number a part p of h is
that of the paper's own runs and of rounding: n (h^2 - p^2) / (d^2 - p^2) runs, and none if p is above d.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt

from kfeat.analysis.cells import Cell
from kfeat.analysis.certainty import error_of
from kfeat.analysis.claims import OPEN
from kfeat.analysis.judgement import Judgement
from kfeat.analysis.numbers import TOO_WIDE, WITHIN_ERROR, Reproduction
from kfeat.analysis.statistics import Summary, welch_half_width
from kfeat.experiments.estimates import wall_seconds
from kfeat.experiments.paper import Reported, ReportedNumber
from kfeat.render.table import Table, paragraph, readable, time

MOST = 256  # times the present runs; beyond it a number of runs is of no use
FIRST = 3  # runs that show how much a cell varies
HEADERS = ("time", "runs", "needed", "config", "what is open")


@dataclass(frozen=True)
class Undecided:
    """A verdict that is open or too wide to tell, and what would decide it.

    `runs` is the smallest number of runs of its cells now, and `needed` the number that decides it; None: it
    is more than MOST times as many. `seconds` is the time of the further runs, one after another. `timed`:
    they need an idle machine. `first`: a cell has a single run, so that its spread is not known, and `needed`
    only shows it.
    """

    experiment: str
    what: str
    verdict: str
    runs: int
    needed: int | None
    seconds: float
    timed: bool
    first: bool = False


def undecided(judgements: Iterable[Judgement]) -> list[Undecided]:
    """Return every verdict that is open or too wide: the cheapest first, those that no runs decide last."""
    verdicts = (item for judgement in judgements for of in (_numbers, _claims) for item in of(judgement))
    return sorted(verdicts, key=lambda item: (item.needed is None, item.seconds))


def _numbers(judgement: Judgement) -> Iterator[Undecided]:
    reported = judgement.experiment.reported
    for item in judgement.numbers:
        wide = item.verdict == WITHIN_ERROR and item.certainty == TOO_WIDE
        if reported is not None and (wide or item.verdict == OPEN):
            factor = max(_factor(reproduction, item.number, reported) for reproduction in item.reproductions)
            what = f"{item.number.where}: {judgement.names.of(item.cells[0])}"
            timed = item.cells[0].named(item.number.of).timed
            yield _undecided(judgement, what, TOO_WIDE if wide else OPEN, item.cells, timed, factor)


def _factor(item: Reproduction, number: ReportedNumber, reported: Reported) -> float:
    """Return (h^2 - p^2) / (d^2 - p^2): d is the distance from 0 or from the slack, whichever is farther."""
    error = error_of(item.cell, number.of)
    if item.interval is None or error is None or not item.cell.drawn:
        return inf
    runs = number.runs or reported.runs
    printed = Summary(number.mean, number.sd, runs).error or (error[0] * sqrt(item.ours.n / runs), inf)
    paper = welch_half_width(printed) + item.quantity.rounding
    half = (item.interval[1] - item.interval[0]) / 2
    distance = max(abs(item.difference), item.slack - abs(item.difference))
    return (half**2 - paper**2) / (distance**2 - paper**2) if distance > paper else inf


def _claims(judgement: Judgement) -> Iterator[Undecided]:
    for item in judgement.claims:
        if item.verdict == OPEN:
            cells = {cell.trial.cell: cell for case, _ in item.undecided for cell in case.cells if cell.drawn}
            factor = max((ratio**2 for _, ratio in item.undecided), default=inf)
            timed = judgement.cells[0].named(item.claim.of).timed
            what = f"{item.claim.where}: {item.claim.text}"
            yield _undecided(judgement, what, OPEN, list(cells.values()), timed, factor)


def _undecided(
    judgement: Judgement, what: str, verdict: str, cells: Sequence[Cell], timed: bool, factor: float
) -> Undecided:
    """Return a verdict that `factor` times the runs of these cells decide."""
    runs = min((len(cell.rows) for cell in cells), default=0)
    first = runs == 1 and not timed
    needed = FIRST if first else ceil(factor * runs) if runs and factor <= MOST else None
    more = 0.0 if needed is None else needed / runs - 1
    seconds = more * sum(wall_seconds(row) for cell in cells for row in cell.rows)
    return Undecided(judgement.experiment.name, what, verdict, runs, needed, seconds, timed, first)


def terminal(verdicts: Sequence[Undecided], width: int | None = None) -> str:
    """Return a line for each verdict, the cheapest first, and the sum of their times."""
    if not verdicts:
        return "nothing is open"
    lines = [_line(item) for item in verdicts]
    shown = Table(HEADERS, lines, (3, 4), (0, 1, 2)).terminal(readable(width))
    return "\n\n".join([shown, *(paragraph(note, "", width) for note in _notes(verdicts))])


def markdown(verdicts: Sequence[Undecided]) -> str:
    """Return the same for a Markdown file, with a count of those that more runs do not decide."""
    without = Counter(item.experiment for item in verdicts if item.needed is None)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(without.items()))
    shown = Table(HEADERS, [_line(item) for item in verdicts if item.needed is not None]).markdown(str)
    return "\n\n".join([*_notes(verdicts), *([f"Those are: {counts}."] if counts else []), shown])


def _line(item: Undecided) -> list[str]:
    marks = " (first)" * item.first + " (timed)" * item.timed
    seconds, needed = ("–", "–") if item.needed is None else (time(item.seconds), f"{item.needed}{marks}")
    return [seconds, str(item.runs), needed, item.experiment, f"{item.what} ({item.verdict})"]


def _notes(verdicts: Sequence[Undecided]) -> list[str]:
    """Return the sums, and what the words in the lines mean."""
    decided = [item for item in verdicts if item.needed is not None]
    seconds = sum(item.seconds for item in decided)
    notes = [
        f"{len(verdicts)} verdicts are open or too wide to tell; more runs would decide {len(decided)} of "
        f"them, in at most {time(seconds)} one after another (verdicts that share runs are counted twice)."
    ]
    if rest := len(verdicts) - len(decided):
        notes.append(
            f"{rest} would stay as they are with {MOST} times the runs: the error is that of the paper's own "
            "runs, or of a fit, or our number lies at the bound."
        )
    if any(item.first for item in verdicts):
        notes.append("first: there is a single run; these runs show how much it varies.")
    if any(item.timed for item in verdicts):
        notes.append("timed: the runs need an idle machine (--jobs 1).")
    return notes
