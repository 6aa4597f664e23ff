"""Rows of numbers, dense or sparse, and what is the same for both: form, checks, and some rows of many."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import DataError

DENSE_FROM = 0.2  # a sparse matrix with more non-zeros than this is kept dense: faster, and hardly larger
Matrix: TypeAlias = Any  # a NumPy array or a scipy.sparse.csr_array, which has no types to check against


def holds_strings(X: Matrix) -> bool:
    """Return whether X is a column of strings: rows for an ObjectKernel."""
    return bool(X.dtype.kind == "U" and X.shape[1:] == (1,))


CHECKED_ROWS = 4096  # checked together, so that a check needs no second copy of the data
ADVICE = "fill in or drop missing values before kfeat reads them"


def check_finite_matrix(X: Matrix, place: str, start: int = 0) -> None:
    """Raise DataError naming row and column (from 1) of the first NaN or infinity among the numbers X (n, d).

    `place` begins the message, and `start` is the number of rows before X.
    """
    from scipy.sparse import issparse
    from sklearn.utils import gen_batches

    if holds_strings(X):
        return
    if issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        if len(bad):
            row = int(np.searchsorted(X.indptr, bad[0], side="right"))
            raise not_finite(place, start + row, int(X.indices[bad[0]]) + 1, X.data[bad[0]])
        return
    for batch in gen_batches(len(X), CHECKED_ROWS):
        found = np.argwhere(~np.isfinite(X[batch]))
        if len(found):
            row, column = batch.start + int(found[0, 0]), int(found[0, 1])
            raise not_finite(place, start + row + 1, column + 1, X[row, column])


def check_finite_labels(y: NDArray[Any], place: str, start: int = 0) -> None:
    """Raise DataError naming the row (from 1) of the first NaN or infinity among n labels."""
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise not_finite(place, start + int(bad[0]) + 1, "of the labels", y[bad[0]])


def not_finite(place: str, row: int, column: int | str, value: float) -> DataError:
    """Return the error for one value that is not finite."""
    return DataError(f"{place}row {row}, column {column}: expected a finite number, got {value}; {ADVICE}")


Indices: TypeAlias = NDArray[np.int64]  # of rows, counted through the train and on through the test part
BLOCK_VALUES = 1 << 20  # values taken from a dataset at a time: 8 MB in float64


def block_rows(X: Matrix, n_columns: int, dense: bool) -> int:
    """Return how many rows of so many columns are taken at a time; sparse ones by the values they store."""
    whole = isinstance(X, np.ndarray) or dense
    values = n_columns if whole else -(-X.nnz // max(1, X.shape[0]))
    return max(1, BLOCK_VALUES // max(1, values))


def take(X: Matrix, rows: Indices) -> Matrix:
    """Return some rising rows of a matrix, as a slice where they follow one another."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return X[int(rows[0]) : int(rows[-1]) + 1]
    return X[rows]


@dataclass(frozen=True)
class Part:
    """Some rows of a dataset: X of shape (n, d), dense or CSR, and the n labels or targets y."""

    X: Matrix
    y: NDArray[Any]


def compact(parts: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts with sparse matrices in order, or all dense where that is better."""
    from scipy.sparse import issparse

    matrices = [part.X for part in parts.values()]
    for X in filter(issparse, matrices):
        X.sum_duplicates()
        X.eliminate_zeros()
    n_values = sum(X.nnz if issparse(X) else X.size for X in matrices)
    if n_values > DENSE_FROM * sum(X.shape[0] * X.shape[1] for X in matrices):
        dense = [X.toarray() if issparse(X) else np.ascontiguousarray(X) for X in matrices]
        return {name: Part(X, part.y) for X, (name, part) in zip(dense, parts.items(), strict=True)}
    return {name: Part(with_short_indices(part.X), part.y) for name, part in parts.items()}


def with_short_indices(X: Matrix) -> Matrix:
    """Return a CSR matrix with 32-bit indices if they suffice, which make it smaller and products faster."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
    return csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
