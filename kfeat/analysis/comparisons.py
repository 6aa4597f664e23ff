"""Rows against the published rows: whether a score is the same up to rounding, or has regressed.

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
from math import inf, log, log1p, nan, sqrt
from operator import itemgetter
from statistics import fmean

import numpy as np
from scipy import special

from kfeat.analysis.cells import Cell, grouped
from kfeat.analysis.statistics import (
    Summary,
    error_with_ties,
    welch_half_width,
)
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.row import Row
from kfeat.text import counted

SAME = "same"
REGRESSED = "regressed"
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
