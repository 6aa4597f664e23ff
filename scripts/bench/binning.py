"""Random binning beside plain NumPy, scikit-learn's trees and the authors' program; solvers of its features.

All is float32, normal data. scikit-learn's RandomTreesEmbedding has as many trees as there are grids. The
program of Wu et al. 2016 is measured where RANDOM_BINNING names a copy. *Newton* and LIBLINEAR train an
l2-loss SVM with eps = 1e-3, LSMR has tolerances of 1e-6; all with one thread. *A path* is one map for each of
ten gammas; Mondrian trees give all ten at once, both in plain NumPy.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsmr
from sklearn.ensemble import RandomTreesEmbedding

from kfeat.kernels import Laplacian
from kfeat.maps import RandomBinning
from kfeat.maps.blocks import one_blas_thread
from kfeat.solvers import Liblinear, Newton, Ridge, RidgeCV
from scripts.bench import mondrian, wu_2016
from scripts.bench.harness import Timings, side_by_side
from scripts.bench.maps import Row, judged

N, R = 100_000, 64
FEW = 20_000
GAMMAS = np.geomspace(0.01, 1, 10)


def run(threads: int) -> Iterable[Row]:
    """Yield all rows; the solvers and the path know one thread alone."""
    yield from maps(threads)
    if threads == 1:
        yield from solvers()
        yield a_path()


def maps(threads: int) -> Iterable[Row]:
    """Yield fit and map of normal data, for the median bandwidth and one with three times as narrow bins."""
    for d in (8, 16, 54):
        X = np.random.default_rng(0).standard_normal((N, d)).astype(np.float32)
        kernel: Any = Laplacian("median").resolve(X, 0)
        for gamma, which in ((kernel.gamma, "median distance"), (3 * kernel.gamma, "a third of it")):
            ours = RandomBinning(Laplacian(gamma), R, random_state=0, n_jobs=threads)
            trees = RandomTreesEmbedding(R, random_state=0, n_jobs=threads)
            candidates = {"kfeat": partial(ours.fit_transform, X), "plain NumPy": partial(plain, X, gamma)}
            candidates |= {"RandomTreesEmbedding": partial(trees.fit_transform, X)}
            if wu_2016.at_hand():
                candidates["the authors' program"] = wu_2016.candidate(X, R, gamma, threads)
            with one_blas_thread():
                seconds = side_by_side(candidates)
            for other in list(candidates)[1:]:
                row = compared(seconds, "kfeat", other, f"{N:,} x {d}, R = {R}, bandwidth {which}")
                target = 5.0 if other == "plain NumPy" else 3.0
                yield {**row, "what": f"RandomBinning : {other}"} | (
                    judged(row["ratio"], target) if threads == 1 else {}
                )


def solvers() -> Iterable[Row]:
    """Yield the training on features of random binning, beside LIBLINEAR and SciPy's LSMR."""
    X = np.random.default_rng(0).standard_normal((FEW, 8)).astype(np.float32)
    rough = np.floor(2 * X[:, :4]).sum(axis=1)
    kernel: Any = Laplacian("median").resolve(X, 0)
    Z = RandomBinning(Laplacian(2 * kernel.gamma), R, random_state=0).fit_transform(X)
    shape = f"{FEW:,} rows, R = {R}, D = {Z.shape[1]:,}"
    with one_blas_thread():
        svms = {"kfeat": Newton(C=1.0, eps=1e-3), "other": Liblinear(C=1.0, solver_type=2, eps=1e-3)}
        yield compared(
            side_by_side({name: partial(solver.fit, Z, rough % 2) for name, solver in svms.items()}),
            "kfeat", "other", f"{shape}, C = 1", "Newton on sparse features : LIBLINEAR -s 2",
        )  # fmt: skip
        y, alphas = rough - rough.mean(), 10.0 ** np.arange(-3, 4)
        doubles = Z.astype(np.float64)
        damped = [partial(lsmr, doubles, y, damp=np.sqrt(alpha), atol=1e-6, btol=1e-6) for alpha in alphas]
        yield compared(
            side_by_side({"kfeat": partial(Ridge(alpha=1.0).fit, Z, y), "other": damped[3]}),
            "kfeat", "other", f"{shape}, alpha = 1", "Ridge on sparse features : LSMR",
        )  # fmt: skip
        path = partial(RidgeCV(alpha_min=1e-3, alpha_max=1e3).fit, Z, y)
        yield compared(
            side_by_side({"kfeat": path, "other": lambda: [solve() for solve in damped]}),
            "kfeat", "other", f"{shape}, seven alphas", "RidgeCV on sparse features : LSMR without folds",
        )  # fmt: skip


def a_path() -> Row:
    """Return the row of ten gammas: ten draws of grids, and one of Mondrian trees that are cut on."""
    X, trees = np.random.default_rng(0).standard_normal((FEW, 8)).astype(np.float32), 8
    ways = {
        "binning": lambda: [plain(X, gamma, trees) for gamma in GAMMAS],
        "mondrian": lambda: mondrian.path(X, GAMMAS, trees, seed=0),
    }
    shape = f"{FEW:,} x 8, R = {trees}, gamma from {GAMMAS[0]:g} to {GAMMAS[-1]:g}"
    return compared(
        side_by_side(ways), "binning", "mondrian", shape, "a path, plain binning : Mondrian trees"
    )


def compared(seconds: Timings, ours: str, other: str, shape: str, what: str = "") -> Row:
    """Return a row of the table without a target."""
    return {
        "what": what, "shape": shape, "kfeat_s": seconds[ours], "other_s": seconds[other],
        "ratio": seconds[other] / seconds[ours], "spread": seconds.spread(other, ours),
    }  # fmt: skip


def plain(X: NDArray[np.float32], gamma: float, R: int = R) -> csr_array:
    """Return random binning features as a user would write them: a hash of the bins, sorted for columns."""
    rng, (n, d) = np.random.default_rng(0), X.shape
    columns, D = np.empty((n, R), np.int32), 0
    for g in range(R):
        widths, shifts = rng.gamma(2.0, 1 / gamma, d), rng.random(d)
        factors = rng.integers(1, 2**62, d) * 2 + 1
        codes = np.zeros(n, np.int64)
        for j in range(d):
            codes += np.floor(X[:, j] / widths[j] + shifts[j]).astype(np.int64) * factors[j]
        cells, places = np.unique(codes, return_inverse=True)
        columns[:, g] = places + D
        D += len(cells)
    values = np.full(n * R, 1 / np.sqrt(R), np.float32)
    return csr_array((values, columns.ravel(), np.arange(0, n * R + 1, R)), shape=(n, D))
