"""The seconds that a trial will take: those of past rows of its kind, scaled by a count of operations."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from math import inf, log2
from statistics import fmean, median

from kfeat.experiments.row import Row
from kfeat.experiments.workload import Parameters, Workload, components_of, mean_degree, of_row

# Seconds per operation on one core of 2020, each the median of the published rows to one digit.
PRODUCT = 5e-11  # of a matrix product
VALUE = 2e-9  # written, read or compared
COORDINATE = 1e-6  # of a feature, in all of LIBLINEAR's passes
KERNEL = 7e-10  # of a factor of LIBSVM's kernel values, in all of its iterations
DRAW = 2e-3  # for fitting a map to a few rows, whatever their number
TRIAL = 0.05  # for a trial in which nothing is to do
STRETCH = 6  # operations of an FFT per value and binary digit of the length
LIBSVM_ROWS = 50_000  # most rows that a row's kernel values are computed with again and again


def formula(work: Workload) -> float:
    """Return the seconds on one core by the numbers of rows, features and columns alone.

    Right to a factor of three or so where the number of iterations is not far from usual: that, as the
    features' values, only a run tells.
    """
    shape = work.shape
    n, all_rows = shape.n_train, shape.n_train + shape.n_test
    if work.measure is not None and work.map is not None:
        draws = work.measure.get("n_draws", 1)
        rows = work.rows_seen
        pairs = rows**2 * (PRODUCT * work.columns + 20 * VALUE) if "n_rows" in work.measure else 0.0
        return TRIAL + draws * (DRAW + _mapping(work.map, work, rows) + pairs)
    mapping = 0.0 if work.map is None else _mapping(work.map, work, all_rows)
    return TRIAL + mapping + _training(work, n) + VALUE * shape.n_test * work.columns * work.subproblems


def _mapping(one: Parameters, work: Workload, rows: int) -> float:
    """Return the seconds of fitting a map and mapping so many rows."""
    if "maps" in one:
        return sum(_mapping(part, work, rows) for part in one["maps"])
    d, c = work.shape.n_features, components_of(one)
    degree = float(work.kernel.get("degree", 2))
    written = VALUE * rows * c
    if "degree_law" in one:
        return written + PRODUCT * rows * d * c * mean_degree(one, work.kernel)
    if one["name"] in ("tensor_sketch", "complex_tensor_sketch", "recursive_sketch", "tensor_srht"):
        return written + PRODUCT * rows * degree * (d + STRETCH * c * log2(c + 1))
    if one["name"] == "nystrom":
        return written + PRODUCT * (rows * c * (d + c / 2) + 10 * c**3)
    return written + PRODUCT * rows * d * c


def _training(work: Workload, n: int) -> float:
    """Return the seconds of training on n rows, and of what an exact machine takes to predict."""
    assert work.solver is not None
    d, k, name = work.columns, work.subproblems, work.solver["name"]
    if name in ("libsvm", "libsvm_cv", "svc"):
        times = 1 + 6 * work.solver["folds"] if name == "libsvm_cv" else 1
        return times * KERNEL * d * n * (min(n, LIBSVM_ROWS) + work.shape.n_test / 10)
    if name == "kernel_ridge":
        return PRODUCT * n * (n * n / 3 + (n + work.shape.n_test) * (d + 20))
    if name in ("ridge", "ridge_cv"):
        return PRODUCT * d * d * (n + (d if name == "ridge" else 10 * d * (1 + (work.solver["folds"] or 0))))
    if name in ("newton", "newton_cv"):
        times = 1 if name == "newton" else 10 * work.solver["folds"]
        return times * k * n * d * (PRODUCT * d + 10 * VALUE)
    return COORDINATE * n * d * k


class PastSeconds:
    """What past rows say of the seconds of trials.

    A trial whose cell has rows takes the mean of theirs. One of a kind that has rows (the same data, kernel,
    map and solver by name), or else of the same map and solver on any data, takes its formula times the
    median ratio of their seconds to their formulas; any other its formula. One whose cell has only rows that
    were stopped takes their limit at least. A row whose components other versions of kfeat had tells of its
    own cell alone.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._cells: dict[str, list[float]] = defaultdict(list)
        self._ratios: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._stopped: dict[str, float] = {}
        for row in rows:
            if row["status"] == "stopped":
                self._stopped[row["cell"]] = max(row["limit_s"], self._stopped.get(row["cell"], 0.0))
            elif row["status"] == "done":
                seconds = seconds_of_row(row)
                self._cells[row["cell"]].append(seconds)
                with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                    self._learn(of_row(row), seconds)

    def _learn(self, work: Workload, seconds: float) -> None:
        """Take note of a run; raises one of many errors where another version of kfeat described it."""
        ratio = (seconds + TRIAL) / formula(work)
        if 0 < ratio < inf:
            for key in (work.kind, work.method):
                self._ratios[key].append(ratio)

    def of(self, cell: str, work: Workload | None) -> float | None:
        """Return the seconds of a trial of this cell; None where neither its work nor a past run is known."""
        if cell in self._cells:
            return fmean(self._cells[cell])
        if work is None:
            return self._stopped.get(cell)
        found = next((self._ratios[key] for key in (work.kind, work.method) if key in self._ratios), [1.0])
        return max(formula(work) * median(found), self._stopped.get(cell, 0.0))


def seconds_of_row(row: Row) -> float:
    """Return the CPU seconds of all phases of a row, which other trials beside it do not stretch."""
    return float(sum(phase["cpu"] for phase in row["seconds"].values()))
