"""The standard error of a cell's mean, also for few timed runs and for equal scores."""

from collections.abc import Sequence
from math import inf, sqrt

from kfeat.analysis.cells import Cell
from kfeat.analysis.statistics import KNOWN, Error, Summary
from kfeat.experiments.quantities import SCORE, Quantity
from kfeat.experiments.row import Row

# The relative standard deviation that is assumed for few timed runs: of at least a second, and of less.
# (Measured over the published cells with at least three timed runs: pooled 9 % above a second, mostly since
# iterations differ between repeats, and 24 % below.)
LONG_TIME, SHORT_TIME = 0.1, 0.25
FEW = 3


def error_of(cell: Cell, name: str = SCORE) -> Error | None:
    """Return the standard error of a cell's quantity and its degrees of freedom; None if it is not known.

    A number that is not random has no error, such as the score of the exact kernel SVM on a given split; but
    memory, for example, varies from run to run. A single random score has no known error.
    """
    found = cell.of(name)
    if found is None:
        return None
    quantity = cell.named(name)
    if quantity.timed:
        return time_error(found, quantity.unit)
    if quantity.measured:
        return found.error
    return error_with_ties(found, quantity, cell.rows) if cell.drawn else KNOWN


def time_error(found: Summary, unit: str = "s") -> Error:
    """Return the standard error of a mean time.

    For fewer than three runs, the standard deviation is the larger of their own and LONG_TIME or SHORT_TIME
    times the mean.
    """
    if found.error is not None and found.n >= FEW:
        return found.error
    taken = LONG_TIME if found.mean >= 1 or unit != "s" else SHORT_TIME
    return max(taken * found.mean, found.sd or 0.0) / sqrt(found.n), inf


def error_with_ties(found: Summary, quantity: Quantity, rows: Sequence[Row]) -> Error | None:
    """Return the standard error of a mean of random runs; if all have the same value, that of their rounding.

    An accuracy is a count of test rows, so different runs may have the same one. A share of n rows is rounded
    to whole rows, with a standard deviation of 1 / (n sqrt(12)). If all runs have the same predictions,
    nothing is rounded.
    """
    if found.error is None or found.sd or len({row.get("predictions") for row in rows}) == 1:
        return found.error
    return resolution(quantity, rows) / sqrt(found.n), found.n - 1


def resolution(quantity: Quantity, rows: Sequence[Row]) -> float:
    """Return the standard deviation, in per cent, of rounding a share of the test rows to whole rows."""
    return 100 / min(row["n_test"] for row in rows) / sqrt(12) if quantity.of_rows else 0.0


def paired(a: Cell, b: Cell, name: str = SCORE) -> list[tuple[float, float]] | None:
    """Return the values of a quantity of two cells in pairs of the same random draw; None if not all match.

    Two solvers share the features of a map, and all methods share a random split. The effect of these draws
    on both cells cancels in the difference. Times are not paired.
    """
    same_map = a.trial.map is not None and _same_map_draws(a, b)
    same_split = a.trial.protocol.random and a.trial.protocol == b.trial.protocol
    if a.named(name).timed or not (same_map or same_split):
        return None
    seed = "map" if same_map else "data"
    ours, theirs = _by_seed(a, name, seed), _by_seed(b, name, seed)
    if ours.keys() != theirs.keys() or len(ours) < 2:
        return None
    return [(ours[key], theirs[key]) for key in ours]


def _same_map_draws(a: Cell, b: Cell) -> bool:
    """Return whether two cells draw the same maps; their seeds depend on data, split, kernel and map."""
    repeats = [[trial.repeat for trial in cell.trials] for cell in (a, b)]
    return repeats[0] == repeats[1] and a.trial.seeds["map"] == b.trial.seeds["map"]


def _by_seed(cell: Cell, name: str, seed: str) -> dict[int, float]:
    quantity = cell.named(name)
    values = ((row["seeds"][seed], quantity.read(row)) for row in cell.rows)
    return {key: value for key, value in values if value is not None}
