"""How well a cell's mean is known: its standard error, with what a single timed run is worth."""

from math import inf, sqrt

from kfeat.analysis.cells import Cell
from kfeat.analysis.statistics import KNOWN, Error
from kfeat.experiments.quantities import SCORE

# The relative standard deviation that a single timed run is taken to have, of a second and more, and of less.
# (Measured over the published cells with at least three timed runs: pooled 9 % above a second, mostly since
# iterations differ from draw to draw, and 24 % below.)
LONG_TIME, SHORT_TIME = 0.1, 0.25
FEW = 3


def error_of(cell: Cell, name: str = SCORE) -> Error | None:
    """Return the standard error of a cell's quantity and its degrees of freedom; None where nobody knows.

    What no draw moves is known exactly: the score of the exact kernel SVM on a given split. Fewer than three
    timed runs tell too little of their spread: theirs is taken to be LONG_TIME or SHORT_TIME of the mean, or
    what they show where that is more. A single draw of a score has none.
    """
    found = cell.of(name)
    if found is None:
        return None
    quantity = cell.named(name)
    if quantity.timed and found.n < FEW:
        taken = LONG_TIME if found.mean >= 1 or quantity.unit != "s" else SHORT_TIME
        return max(taken * found.mean, found.sd or 0.0) / sqrt(found.n), inf
    if quantity.timed:
        return found.error
    return found.error if cell.drawn else KNOWN
