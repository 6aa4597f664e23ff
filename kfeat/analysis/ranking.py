"""The ranking of a search over switches: which combination is nearest to the printed numbers.

The score of a combination is the mean over the printed numbers of |ours - theirs| / max(slack, 2 sd). Here
theirs and sd are printed, and the slack (by default 1 point) is the difference that counts as reproduced.
Below 1, the numbers are reproduced on average.
"""

from collections.abc import Mapping
from math import nan

import pandas as pd

from kfeat.analysis.cells import Cell
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.row import Row
from kfeat.experiments.search import Search


def ranked(search: Search, rows: Mapping[str, Row]) -> pd.DataFrame:
    """Return a line per combination and printed number, the lowest score first, incomplete ones last.

    Columns: the combination and the cell; difference: our mean minus the printed one, NaN while a repeat has
    no row; distance: its absolute value over the slack; score and rank of the combination, NaN if it is
    incomplete. Equal scores share a rank.
    """
    reported = search.experiment.reported
    assert reported is not None
    lines = []
    for combination in search.combinations:
        for trials, number in zip(combination.cells, search.numbers, strict=True):
            cell = Cell.of_trials(trials, rows, {SCORE: number})
            complete = cell.score is not None and len(cell.rows) == len(trials)
            difference = cell.score.mean - number.mean if cell.score and complete else nan
            distance = abs(difference) / reported.slack_of(number)
            lines.append((combination.number, combination, cell, difference, distance))
    found = pd.DataFrame(lines, columns=["number", "combination", "cell", "difference", "distance"])
    scores = found.groupby("number")["distance"].agg(lambda distances: distances.mean(skipna=False))
    found["score"] = found["number"].map(scores)
    found["rank"] = found["number"].map(scores.rank(method="min"))
    return found.sort_values(["rank", "number"], kind="stable")
