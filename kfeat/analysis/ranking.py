"""The ranking of a search over switches: which combination comes nearest to the printed numbers.

The score of a combination is the mean over the printed numbers of |ours - theirs| / max(slack, 2 sd), with
theirs and sd as printed and slack (1 point, unless the config says otherwise) the difference that counts as
reproduced: below 1, the numbers are reproduced on average.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from statistics import fmean

from kfeat.analysis.cells import Cell
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.search import Combination, Search
from kfeat.experiments.store import Row


@dataclass(frozen=True)
class Ranked:
    """A combination with its cells; its rank is 1 for the lowest score, None if a cell lacks rows."""

    combination: Combination
    cells: Sequence[Cell]
    slack: float
    rank: int | None = None

    @cached_property
    def distances(self) -> list[float | None]:
        """Return |ours - theirs| / max(slack, 2 sd) of each cell, None where a row is missing."""
        return [_distance(cell, self.slack) for cell in self.cells]

    @property
    def score(self) -> float | None:
        """Return the mean distance, None if a cell lacks rows."""
        there = [distance for distance in self.distances if distance is not None]
        return fmean(there) if len(there) == len(self.cells) else None

    @property
    def worst(self) -> int | None:
        """Return the position of the cell that is furthest off, None if none has all its rows."""
        there = [(distance, i) for i, distance in enumerate(self.distances) if distance is not None]
        return max(there, key=lambda pair: pair[0])[1] if there else None


def _distance(cell: Cell, slack: float) -> float | None:
    ours = difference(cell)
    if ours is None or cell.reported is None:
        return None
    return abs(ours) / max(slack, 2 * (cell.reported.sd or 0.0))


def difference(cell: Cell) -> float | None:
    """Return our mean less the printed one; None while a repeat has no row."""
    if cell.score is None or cell.reported is None or len(cell.rows) < len(cell.trials):
        return None
    return cell.score.mean - cell.reported.mean


def present(found: Sequence[Ranked]) -> Ranked:
    """Return the combination that turns no switch."""
    return next(item for item in found if not item.combination.turned)


def ranked(search: Search, rows: Mapping[str, Row]) -> list[Ranked]:
    """Return the combinations, lowest score first; equal scores share a rank, incomplete ones come last."""
    reported = search.experiment.reported
    assert reported is not None
    found = []
    for combination in search.combinations:
        cells = [
            Cell.of_trials(trials, rows, {SCORE: number})
            for trials, number in zip(combination.cells, search.numbers, strict=True)
        ]
        found.append(Ranked(combination, cells, reported.slack))
    scores = [item.score for item in found if item.score is not None]
    found = [
        item if item.score is None else replace(item, rank=1 + sum(s < item.score for s in scores))
        for item in found
    ]
    return sorted(found, key=lambda item: (item.rank or inf, item.combination.number))
