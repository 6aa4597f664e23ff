"""The ranking of a search over switches: which combination is nearest to the printed numbers.

The score of a combination is the mean over the printed numbers of |ours - theirs| / max(slack, 2 sd). Here
theirs and sd are printed, and the slack (by default 1 point) is the difference that counts as reproduced.
Below 1, the numbers are reproduced on average.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import fmean

from kfeat.analysis.cells import Cell
from kfeat.experiments.paper import ReportedNumber
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.row import Row
from kfeat.experiments.search import Combination, Search


@dataclass(frozen=True)
class Ranked:
    """A combination with its cells; its rank is 1 for the lowest score, None if a cell lacks rows.

    `differences` are our means minus the printed ones, `distances` their absolute values over the slack.
    """

    combination: Combination
    cells: Sequence[Cell]
    differences: Sequence[float | None]
    distances: Sequence[float | None]
    score: float | None
    rank: int | None = None

    @property
    def worst(self) -> int | None:
        """Return the position of the cell with the largest distance; None if no cell has all its rows."""
        known = [(distance, -i) for i, distance in enumerate(self.distances) if distance is not None]
        return -max(known)[1] if known else None


def ranked(search: Search, rows: Mapping[str, Row]) -> list[Ranked]:
    """Return the combinations, lowest score first; equal scores share a rank, incomplete ones come last."""
    reported = search.experiment.reported
    assert reported is not None
    slacks = [reported.slack_of(number) for number in search.numbers]
    found = [_measured(combination, search.numbers, slacks, rows) for combination in search.combinations]
    scores = [item.score for item in found if item.score is not None]
    found = [
        item if item.score is None else replace(item, rank=1 + sum(score < item.score for score in scores))
        for item in found
    ]
    return sorted(found, key=lambda item: (item.rank or inf, item.combination.number))


def _measured(
    combination: Combination, numbers: Sequence[ReportedNumber], slacks: Sequence[float],
    rows: Mapping[str, Row],
) -> Ranked:  # fmt: skip
    pairs = zip(combination.cells, numbers, strict=True)
    cells = [Cell.of_trials(trials, rows, {SCORE: number}) for trials, number in pairs]
    differences = [_difference(cell) for cell in cells]
    distances = [
        None if change is None else abs(change) / slack
        for change, slack in zip(differences, slacks, strict=True)
    ]
    known = [distance for distance in distances if distance is not None]
    score = fmean(known) if len(known) == len(cells) else None
    return Ranked(combination, cells, differences, distances, score)


def _difference(cell: Cell) -> float | None:
    """Return our mean minus the printed one; None while a repeat has no row."""
    if cell.score is None or cell.reported is None or len(cell.rows) < len(cell.trials):
        return None
    return cell.score.mean - cell.reported.mean
