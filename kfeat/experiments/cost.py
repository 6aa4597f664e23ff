"""What a trial will take: memory and seconds, from its shape and from rows of like trials."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from math import inf, sqrt
from statistics import fmean, median
from typing import Any, NamedTuple

from kfeat.data import Protocol, Source
from kfeat.data.registry import class_shares
from kfeat.data.shapes import Shape
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row, cpu_seconds
from kfeat.memory import available_memory

BASE = 300_000_000  # bytes of Python with its libraries: 172 MB, or 380 after other trials
CACHE_SHARE = 0.5  # LIBSVM's kernel cache takes at most this share of the memory
NATIVE = ("linear", "polynomial", "gaussian")  # kernels of which LIBSVM keeps no Gram matrix beside its cache
TRIAL = 0.05  # seconds of a trial that does nothing
LIBSVM_ROWS = 50_000  # the estimate of LIBSVM's time grows only linearly beyond so many rows
GRAM_ROWS = 5_000  # up to so many, scikit-learn's SVC gets the whole Gram matrix
DEFAULT_COLUMNS = 100
SEARCHES = 20  # trainings of a solver that chooses: gammas times folds
SEARCH_BYTES = 80_000_000  # of the libraries that it loads besides


@dataclass(frozen=True)
class CostEstimate:
    """Seconds on one core and bytes at the peak; None if they are unknown before the data are loaded.

    An unknown number counts as zero: such a trial is treated as a small one.
    """

    seconds: float | None
    memory: int | None


class Work(NamedTuple):
    """The sizes that a trial's time and memory depend on.

    n of all `rows` are for training, with d features, of which a share is `stored`. A map makes D columns. D
    is None for an exact kernel solver, whose largest problem of two classes has `pair` rows. A measure draws
    its map `draws` times. Gram matrices of the n rows are kept if `gram` is true, and `cache` bytes of kernel
    values at most. `kind` names the data, kernel, map and solver or measure, and ends with "search"
    where the solver is trained for each of many choices, on `chosen` rows. `bytes` is the size of a number
    that the solver is given. A solver that divides the rows into cells has fewer than `cell` rows in each.
    """

    kind: tuple[str, ...]
    n: int
    rows: int
    d: int
    D: int | None
    k: int = 1
    pair: float = 0.0
    stored: float = 1.0
    generated: int = 0
    draws: int = 0
    gram: bool = False
    cache: float = inf
    on_disk: bool = False
    bytes: int = 4
    chosen: int | None = None
    cell: float = inf


def estimates(
    trials: Sequence[Trial], past: Iterable[Row], memory: float | None = None, time_limit: float = inf
) -> dict[str, CostEstimate]:
    """Return the estimate of each trial by its id, the same for all repeats of a cell.

    `past` are rows to learn from. `memory` is the number of bytes (None: what is available), of which LIBSVM
    takes a share. No trial runs longer than `time_limit` seconds.
    """
    learnt, available = Past(past), memory or available_memory()

    @cache  # many cells share their data
    def shape(source: Source, protocol: Protocol) -> Shape | None:
        return source.shape_under(protocol)

    by_cell: dict[str, CostEstimate] = {}
    for trial in trials:
        if trial.cell not in by_cell:
            sizes = shape(trial.source, trial.protocol)
            work = None if sizes is None else work_of(_described(trial), sizes)
            seconds = learnt.seconds(trial.cell, work)
            by_cell[trial.cell] = CostEstimate(
                None if seconds is None else min(seconds, time_limit),
                learnt.peaks.get(trial.cell) or (None if work is None else peak_bytes(work, available)),
            )
    return {trial.id: by_cell[trial.cell] for trial in trials}


def _described(trial: Trial) -> Row:
    """Return what a row says of the components of a trial."""
    known = {"kernel": trial.own_kernel, **trial.components}
    parts = {
        part: item and (item.description() if item.ready else item.entry()) for part, item in known.items()
    }
    return {"dataset": trial.source.name, "memory": trial.memory, **parts}


def work_of(row: Row, shape: Shape | None = None) -> Work:
    """Return the work of the trial of a row; without a `shape`, the shape of the data is that in the row."""
    shape = shape or _shape_in(row)
    solver, measure = row.get("solver") or {}, row.get("measure") or {}
    feature_map, name = row["map"] or solver.get("map"), (solver or measure)["name"]
    exact = not feature_map and row["kernel"] is not None
    method = (
        feature_map["name"] if feature_map else "exact" if exact else "baseline",
        *((solver["solver"], name) if name == "search" else (name,)),
    )
    kernel = row["kernel"]["name"] if row["kernel"] else ""
    n, classes = shape.n_train, len(shape.classes)
    return Work(
        kind=(row["dataset"], kernel, *method),
        n=min(measure.get("n_rows") or n, n),
        rows=n + shape.n_test,
        d=shape.n_features,
        D=None if exact else _columns(feature_map or {"n_components": shape.n_features}, shape.n_features),
        k=classes if classes > 2 else 1,
        pair=min(sum(shape.classes[:2]) or 1.0, 1.0) * n,
        stored=shape.stored,
        generated=shape.generated,
        draws=measure.get("n_draws", 1) if measure else 0,
        gram="n_rows" in measure or (exact and kernel not in NATIVE),
        cache=1e6 * (solver.get("cache_mb") or inf),
        on_disk=row.get("memory") == "out_of_core",
        bytes=8 if (row.get("protocol") or {}).get("dtype") == "float64" else 4,
        chosen=min(solver["rows"], n) if solver.get("rows") else None,
        cell=2 * (solver.get("cell_size") or inf),
    )


def _shape_in(row: Row) -> Shape:
    """Return the shape of a row's data; they count as dense, since the row does not say."""
    source, sizes = row["source"] or {}, (row["n_train"], row["n_test"], row["n_features"])
    generated = 0 if source.get("name") == "large_quadric" else source.get("n", 0) * source.get("d", 0)
    binary = row["protocol"].get("binarise", "none") != "none"
    return Shape(*sizes, classes=class_shares(row["dataset"], binary), generated=generated)


def _columns(feature_map: dict[str, Any], d: int) -> int:
    """Return the largest number of columns that a map makes from d features."""
    if "maps" in feature_map:
        return sum(_columns(inner, d) for inner in feature_map["maps"])
    D = int(feature_map.get("n_components") or DEFAULT_COLUMNS)
    return min(feature_map.get("rank") or D, D) + (1 + d if feature_map.get("h01") else 0)


def peak_bytes(work: Work, available: float) -> int:
    """Return the bytes that a trial takes at its peak: `BASE`, the data, the features, and the solver's own.

    The data are in double precision. A map keeps 2 d D numbers. Features count one and a half times; a
    measure's two and a half times, beside five Gram matrices of the rows that it samples, if any. Sparse
    features have D non-zeros in a row, of 12 bytes; while rows are mapped, each has 12 bytes more. A solver
    that says nothing, and a map that takes more, meet the limit of the process.
    """
    from kfeat.maps import MAPS
    from kfeat.solvers import SOLVERS, Solver  # slow to import
    from kfeat.solvers.kernel_svm import KernelSVM

    n, d, D, k = work.n, work.d, work.D, work.k
    base = BASE + SEARCH_BYTES * len(work.kind[4:])
    kind = SOLVERS.get(work.kind[3], Solver)
    own = kind.working_bytes
    if work.on_disk and D is not None:
        return int(BASE + own(n, D, k, on_disk=True))
    data = 8 * (work.rows * d * work.stored + 2 * work.generated)
    if D is None:
        if not issubclass(kind, KernelSVM):
            return int(base + 2 * data + own(n, d, k))
        cached = min(own(int(work.pair), d, k), CACHE_SHARE * available, work.cache)
        return int(base + 2 * data + cached + (8 * n**2 if work.gram else 0))
    sparse = work.kind[2] in MAPS and MAPS[work.kind[2]].sparse_output
    in_core = 12 * (work.rows + max(n, work.rows - n)) * D if sparse else 1.5 * work.bytes * work.rows * D
    features = 10 * n * D if work.draws else in_core + own(n, D, k)
    return int(base + data + 16 * d * D + features + (40 * n**2 if work.gram else 0))


def formula(work: Work) -> float:
    """Return the seconds on one core from the sizes alone, correct to a factor of ten."""
    n, d, D = work.n, work.d, work.D
    if work.kind[4:]:
        plain = work._replace(kind=work.kind[:4])
        if work.chosen is None:
            return SEARCHES * formula(plain)
        return SEARCHES * formula(plain._replace(n=work.chosen)) + formula(plain)
    if D is None:
        return TRIAL + 7e-10 * d * n * min(n, LIBSVM_ROWS, work.cell)
    mapping = 1e-9 * n * D * sqrt(d)  # between maps that multiply by a d x D matrix and those by FFTs
    if work.draws:
        return TRIAL + work.draws * (mapping + (5e-11 * n**2 * D if work.gram else 0.0))
    return TRIAL + mapping + 3e-7 * work.k * n * D


def effort(n: float, D: int, exact: bool, regression: bool) -> float:
    """Return how the time of training grows with n rows and D features, up to a factor of data and method.

    A time that was measured on fewer rows, or with fewer features, tells that of more: this is more certain
    than `formula`, which needs no measurement. Kernel ridge regression takes n^2.3; an SVM n^1.5 while it has
    its whole Gram matrix, and n^2.1 on more rows; a linear model n. A map of D features takes
    n (D^2 + 1000 D) + 10 D^3: the Hessian, the map, and the decompositions. In searches on six tables most
    predictions were within a factor of two.
    """
    if not exact:
        return n * (D**2 + 1000 * D) + 10 * D**3 if D else n
    return float(n**2.3 if regression else min(n, GRAM_ROWS) ** 1.5 * max(n / GRAM_ROWS, 1) ** 2.1)


class Past:
    """The seconds and the memory of trials, estimated from past rows.

    If the trial's cell has rows, the estimates are the mean of their seconds and the smallest of their memory
    peaks. (Exact kernel solvers get no peak from rows: their cache grows with the memory.) Otherwise the
    formula is multiplied by the median ratio of seconds to formula, over rows of the same kind, or else of
    the same map and solver on any data. Without such rows the formula alone is used. If all rows of a cell
    were stopped, the estimate is at least their limit.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.peaks: dict[str, int] = {}
        self._cells: dict[str, list[float]] = defaultdict(list)
        self._ratios: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._stopped: dict[str, float] = {}
        for row in rows:
            if row["status"] == "stopped":
                self._stopped[row["cell"]] = max(row["limit_s"], self._stopped.get(row["cell"], 0.0))
            elif row["status"] == "done":
                self._learn(row)

    def _learn(self, row: Row) -> None:
        """Learn from a row; a row that this version cannot interpret serves its own cell only."""
        seconds, cell = cpu_seconds(row), row["cell"]
        self._cells[cell].append(seconds)
        if (peak := row.get("peak_memory_mb")) and row["map"]:
            self.peaks[cell] = min(int(1e6 * peak), self.peaks.get(cell, int(1e6 * peak)))
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            work = work_of(row)
            own = seconds - row["seconds"].get("metric", {"cpu": 0.0})["cpu"]
            if 0 < (ratio := (own + TRIAL) / formula(work)) < inf:
                for key in (work.kind, work.kind[2:]):
                    self._ratios[key].append(ratio)

    def seconds(self, cell: str, work: Work | None) -> float | None:
        """Return the seconds of a trial of this cell; None if neither its work nor a past run is known."""
        if cell in self._cells:
            return fmean(self._cells[cell])
        if work is None:
            return self._stopped.get(cell)
        ratios = self._ratios.get(work.kind) or self._ratios.get(work.kind[2:]) or [1.0]
        return max(formula(work) * median(ratios), self._stopped.get(cell, 0.0))
