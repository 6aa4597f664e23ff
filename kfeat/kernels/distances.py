"""Distances between rows, without cancellation, and the bandwidths that are learnt from them."""

import os
from math import isnan
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import metrics
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms
from threadpoolctl import ThreadpoolController

from kfeat.errors import DataError
from kfeat.kernels.operands import as_operand, generator

TILE = 1024  # rows and columns of a tile; a float64 tile takes 8 MB, the only extra memory of a Gram block
DENSE_FROM = 0.05  # from this share of non-zeros on, a dense tile multiplies faster than a sparse one


def dense_if_quicker(Y: Any) -> Any:
    """Return a CSR operand as a dense array if it is not sparse enough to be faster."""
    return Y.toarray() if issparse(Y) and Y.nnz >= DENSE_FROM * Y.shape[0] * Y.shape[1] else Y


def inner_products(X: Any, Y: Any) -> NDArray[Any]:
    """Return <X[i], Y[j]> as a new dense array, for any mix of dense and CSR operands."""
    Y = dense_if_quicker(Y) if issparse(X) else Y.toarray() if issparse(Y) else Y
    product = X @ Y.T
    return product.toarray() if issparse(product) else product


def squared_norms(X: Any) -> NDArray[Any]:
    """Return <X[i], X[i]>, shape (n,), in X's precision or float64 for integers."""
    if X.dtype in (np.float32, np.float64):
        norms: NDArray[Any] = row_norms(X, squared=True)
        return norms
    return np.concatenate([squared_norms(as_operand(X[rows])) for rows in gen_batches(X.shape[0], TILE)])


BandwidthRule = Literal["mean_distance", "median"]
CLOSE = 1e-6  # ||x - y||^2 / (||x||^2 + ||y||^2) below which the difference of the norms cancels too much
SOME = 32  # number of rows that are used to find where most rows lie
FAR = 100  # a mean that is more than so many times the size of most rows away from them is due to outliers
IMPORTED_BY = os.getpid()
MAX_ROWS = 2000  # two million pairs; with more rows the heuristic uses a random sample of them


def euclidean_bandwidth(X: Any, rule: str, random_state: Any) -> float:
    """Return the mean or median of ||x - y|| over the distinct pairs of (at most MAX_ROWS) rows of X."""
    A = sampled(X, random_state)
    found = bandwidth(np.sqrt(squared_distances(A, A)), rule)
    norms = squared_norms(A if issparse(A) else A - centre_of(A))
    # If most rows are equal, these distances are only rounding errors.
    return bandwidth(exact_distances(A, A), rule) if found**2 < 2 * CLOSE * norms.max() else found


def bandwidth(distances: NDArray[Any], rule: str) -> float:
    """Return the mean or median over the pairs above the diagonal."""
    pairs = distances[np.triu_indices(len(distances), k=1)]
    value = float(np.median(pairs) if rule == "median" else pairs.mean()) if pairs.size else 0.0
    if not value > 0:
        if isnan(value):
            raise DataError(
                f"the {rule} bandwidth is not a number: squares of the rows' values overflow; scale the rows"
            )
        if rule == "median" and pairs.any():
            raise DataError(
                "the median distance is 0, since at least half of the pairs of rows are equal: set the "
                "kernel's bandwidth to mean_distance, or to a number"
            )
        raise DataError(
            f"the {rule} bandwidth is 0, since all rows are equal: set the kernel's bandwidth to a number"
        )
    return value


def sampled(X: Any, random_state: Any) -> Any:
    """Return all rows of X, or MAX_ROWS of them drawn without replacement, in float64."""
    sliced = isinstance(X, np.ndarray) or (issparse(X) and X.format == "csr")
    X = X if sliced and X.ndim == 2 else as_operand(X)
    n = X.shape[0]
    if n > MAX_ROWS:
        X = X[np.sort(generator(random_state).choice(n, MAX_ROWS, replace=False))]
    return as_operand(X).astype(np.float64)


def centre_of(Y: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of rows Y (m, d), or the median of some rows if the mean is far from most of them.

    Subtracting it changes no distance and keeps the terms of ||x||^2 + ||y||^2 - 2 <x, y> small, so that less
    cancels. One outlier could move the mean far away from all other rows.
    """
    if not len(Y):
        return np.zeros(Y.shape[1], Y.dtype)
    some = Y[:: -(-len(Y) // SOME)]
    with np.errstate(all="ignore"):
        mean, middle = Y.mean(axis=0), np.median(some, axis=0).astype(Y.dtype, copy=False)
        size = np.median(squared_norms(some - middle))
        pulled = squared_norms((mean - middle)[None])[0] > FAR * size
    found: NDArray[Any] = middle if pulled else mean
    return found


def squared_distances(X: Any, Y: Any) -> NDArray[Any]:
    """Return ||X[i] - Y[j]||^2 = ||x||^2 + ||y||^2 - 2 <x, y>, dense operands shifted by `centre_of(Y)`."""
    same = X is Y  # then the distances are exactly symmetric
    if not (issparse(X) or issparse(Y)):
        centre = centre_of(Y)
        Y = Y - centre
        X = Y if same else X - centre
    products = inner_products(X, Y)
    products *= 2
    squares = np.add.outer(squared_norms(X), squared_norms(Y))
    squares -= products
    return np.maximum(squares, 0, out=squares)


def exact_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    """Return ||X[i] - Y[j]||, computed from the differences for close rows, whose norms would cancel."""
    distances: NDArray[np.float64] = squared_distances(X, Y)
    centre = 0 if issparse(X) or issparse(Y) else centre_of(Y)  # as in squared_distances
    norms = (squared_norms(rows if issparse(rows) else rows - centre) for rows in (X, Y))
    close = distances < CLOSE * np.add.outer(*norms)
    i, j = np.nonzero(close)
    for start in range(0, len(i), TILE):
        some = i[start : start + TILE], j[start : start + TILE]
        distances[some] = squared_norms(X[some[0]] - Y[some[1]])
    return np.sqrt(distances, out=distances)


def is_forked() -> bool:
    """Return whether this is a forked child, where OpenMP would wait forever for the parent's threads."""
    return os.getpid() != IMPORTED_BY


def manhattan_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    """Return ||X[i] - Y[j]||_1, by SciPy (dense) or by scikit-learn's OpenMP (CSR)."""
    if not is_forked():
        return metrics.pairwise.manhattan_distances(X, Y)
    with ThreadpoolController().limit(limits=1, user_api="openmp"):
        return metrics.pairwise.manhattan_distances(X, Y)
