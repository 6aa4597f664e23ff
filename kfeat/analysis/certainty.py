"""How well a cell's mean is known: its standard error, with what a single timed run is worth."""

from math import inf, sqrt

from kfeat.analysis.cells import Cell
from kfeat.analysis.statistics import KNOWN, Error
from kfeat.experiments.quantities import SCORE

# The relative standard deviation that a single timed run is taken to have. (Measured over the published cells
# with at least three timed runs: see `tests/analysis/test_certainty.py`.)
SINGLE_TIME = 0.1
FEW = 3


def error_of(cell: Cell, name: str = SCORE) -> Error | None:
    """Return the standard error of a cell's quantity and its degrees of freedom; None where nobody knows.

    What no draw moves is known exactly: the score of the exact kernel SVM on a given split. Fewer than three
    timed runs tell too little of their spread: theirs is taken to be SINGLE_TIME of the mean, or what they
    show where that is more. A single draw of a score has none.
    """
    found = cell.of(name)
    if found is None:
        return None
    quantity = cell.named(name)
    if quantity.timed and found.n < FEW:
        return max(SINGLE_TIME * found.mean, found.sd or 0.0) / sqrt(found.n), inf
    if quantity.timed:
        return found.error
    return found.error if cell.drawn else KNOWN
