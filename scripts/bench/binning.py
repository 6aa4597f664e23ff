"""Random binning beside a plain version in NumPy, and scikit-learn's RandomTreesEmbedding of equal size."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import RandomTreesEmbedding

from kfeat.kernels import Laplacian
from kfeat.maps import RandomBinning
from kfeat.maps.base import one_blas_thread
from scripts.bench.harness import side_by_side
from scripts.bench.maps import Row, judged

N, R = 100_000, 64


def run(threads: int) -> Iterable[Row]:
    """Yield fit and map of normal data, for the median bandwidth and one with three times as narrow bins."""
    for d in (8, 16, 54):
        X = np.random.default_rng(0).standard_normal((N, d)).astype(np.float32)
        kernel: Any = Laplacian("median").resolve(X, 0)
        for gamma, which in ((kernel.gamma, "median distance"), (3 * kernel.gamma, "a third of it")):
            ours = RandomBinning(Laplacian(gamma), R, random_state=0, n_jobs=threads)
            trees = RandomTreesEmbedding(R, random_state=0, n_jobs=threads)
            candidates = {"kfeat": partial(ours.fit_transform, X), "plain": partial(plain, X, gamma)}
            candidates |= {"trees": partial(trees.fit_transform, X)}
            with one_blas_thread():
                seconds = side_by_side(candidates, rounds=3)
            shape = f"{N:,} x {d}, R = {R}, bandwidth {which}"
            others = (("plain", "plain NumPy", 5.0), ("trees", "RandomTreesEmbedding", 3.0))
            for other, name, target in others:
                ratio = seconds[other] / seconds["kfeat"]
                yield {
                    "what": f"RandomBinning : {name}",
                    "shape": shape,
                    "kfeat_s": seconds["kfeat"],
                    "other_s": seconds[other],
                    "ratio": ratio,
                    "spread": seconds.spread(other, "kfeat"),
                    **(judged(ratio, target) if threads == 1 else {}),
                }


def plain(X: NDArray[np.float32], gamma: float) -> csr_array:
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
