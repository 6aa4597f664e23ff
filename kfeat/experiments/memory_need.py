"""The peak memory of a trial, from the arrays that its map and its solver hold."""

from kfeat.experiments.workload import Parameters, Workload, components_of, mean_degree

BASE = 240_000_000  # Python with NumPy, SciPy and scikit-learn loaded: 172 to 230 MB
BLOCKS = 16_000_000  # a map's working memory: blocks are cut to this
DOUBLE, POINTER, NODE = 8, 8, 16
CACHE_SHARE = 0.5  # of the memory that is there goes to LIBSVM's kernel cache, as its estimator has it
LEAST_CACHE = 100 << 20
NATIVE_KERNELS = frozenset({"linear", "polynomial", "gaussian"})  # LIBSVM has them; others need a Gram matrix
ROUNDING = 7 * DOUBLE  # per feature, for arrays as large as the features while they are rounded to digits


def peak_bytes(work: Workload, available: float) -> int:
    """Return the bytes that a process takes at its peak while it carries out a trial.

    `available` is what there is, of which LIBSVM takes a share for its kernel cache. The estimate is held
    against the measured peaks of the published rows by a test: it is not below 0.8 of any, and nearly always
    below three times of it. What only the data decide is taken as large as it can be.
    """
    shape = work.shape
    if work.on_disk:
        return int(BASE + 5 * BLOCKS + _map(work) + _without_rows(work))
    generated = 2 * DOUBLE * shape.generated
    return int(BASE + max(generated, _data(work) + _map(work) + _use(work, available)))


def _without_rows(work: Workload) -> float:
    """Return the bytes that a solver takes whose rows and features stay on the disk.

    Vectors over the rows stay in memory (measured with Newton: 126 bytes per row of two classes).
    """
    d, k = work.columns, work.subproblems
    return (2 + k) * 8 * DOUBLE * work.shape.n_train + (DOUBLE + work.itemsize * (1 + k)) * d * d


def _data(work: Workload) -> float:
    """Return the bytes of the rows: dense, or CSR with an index of four bytes per value."""
    shape = work.shape
    each = work.itemsize if shape.stored == 1 else shape.stored * (work.itemsize + 4)
    return (shape.n_train + shape.n_test) * shape.n_features * each


def _map(work: Workload) -> float:
    """Return the bytes that the map holds, and those of its blocks."""
    if work.map is None:
        return 0.0
    maps: list[Parameters] = work.map.get("maps") or [work.map]
    return BLOCKS + sum(_state(one, work) for one in maps)


def _state(one: Parameters, work: Workload) -> float:
    """Return the bytes of a map's numbers, and of what it needs to find them.

    In general 2 d D doubles: the numbers and a copy in the precision of the data. A Maclaurin map has a
    vector of signs for each factor, drawn from doubles; Nystrom the Gram matrix of its c landmarks, its
    eigenvectors and their product, and what its rule for landmarks looks at; a map with learnt weights three
    matrices of its components and of the pairs of rows that it learns them on.
    """
    n, d, c = work.shape.n_train, work.shape.n_features, components_of(one)
    if "degree_law" in one:
        return c * mean_degree(one, work.kernel) * d * (DOUBLE + 1 + work.itemsize)
    if "n_pairs" in one:  # weights are learnt on the pairs of some rows
        return 2 * DOUBLE * d * c + 3 * DOUBLE * (c * c + min(n, one["n_rows"]) ** 2)
    if one["name"] != "nystrom":
        return 2 * DOUBLE * d * c
    rules = {"kmeans++": DOUBLE * n * d, "rpcholesky": DOUBLE * n * c, "leverage": 4 * DOUBLE * c * c}
    return 2 * DOUBLE * d * c + 3 * DOUBLE * c * c + rules.get(str(one.get("landmarks")), 0)


def _use(work: Workload, available: float) -> float:
    """Return the bytes of the features, and of what the solver or the measure does with them."""
    if work.solver is None:
        return _measured(work)
    shape = work.shape
    features = 0 if work.map is None else (shape.n_train + shape.n_test) * work.columns * work.itemsize
    return features + _solver(work, available)


def _measured(work: Workload) -> float:
    """Return the bytes of the mapped rows in both precisions, and of five Gram matrices of sampled rows."""
    assert work.measure is not None
    rows = work.rows_seen
    if "n_rows" not in work.measure:
        return 0.0 if work.measure["name"] == "map_size" else rows * work.columns * work.itemsize
    draws = "n_draws" in work.measure  # of the map; only norms and inner products of pairs are kept
    return rows * work.columns * (work.itemsize + DOUBLE) + (0 if draws else 5 * DOUBLE * rows**2)


def _solver(work: Workload, available: float) -> float:
    """Return the bytes that a solver takes beside the rows it is given."""
    assert work.solver is not None
    n, d, k, size = work.shape.n_train, work.columns, work.subproblems, work.itemsize
    name = work.solver["name"]
    if name in ("libsvm", "libsvm_cv", "svc"):
        return _libsvm(work, available)
    if name == "kernel_ridge":
        return DOUBLE * n * (n + 2 * d)
    if name in ("ridge", "ridge_cv"):
        return DOUBLE * d * d * (3 if name == "ridge" else 3 + (work.solver["folds"] or 0))
    if name in ("newton", "newton_cv"):
        # A copy of most rows, the Gram matrix, a factor of it per class; and vectors over the rows per class.
        copies = 1.0 if name == "newton" else 2.0
        return copies * size * n * d + (DOUBLE + size * (1 + k)) * d * d + 8 * DOUBLE * n * k
    rounding = ROUNDING * n * d if work.solver.get("significant_digits") else 0
    copy = DOUBLE * n * d if name == "dual_descent" else 0  # scikit-learn's, in double precision
    return NODE * n * (d + 1) + 4 * DOUBLE * d * k + copy + rounding


def _libsvm(work: Workload, available: float) -> float:
    """Return the bytes of LIBSVM's rows or Gram matrix, and of its cache for the largest problem.

    scikit-learn's SVC holds the rows in double precision, densely or as CSR.
    """
    assert work.solver is not None
    n, svc = work.shape.n_train, work.solver["name"] == "svc"
    native = work.kernel["name"] in NATIVE_KERNELS and (svc or not work.solver.get("max_iter"))
    each = DOUBLE if svc and work.shape.stored == 1 else NODE
    rows = each * n * work.shape.n_features * work.shape.stored if native else DOUBLE * n * n
    return rows + _cache(work, available)


def _cache(work: Workload, available: float) -> float:
    """Return the bytes of kernel cache for the largest problem of two classes."""
    pair = work.largest_pair
    fair = max(LEAST_CACHE, min(4 * pair**2 + 32 * pair, CACHE_SHARE * available))
    return fair if work.cache is None else work.cache
