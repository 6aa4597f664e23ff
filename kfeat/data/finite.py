"""The first value of a matrix or of labels that is not a finite number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.models import Matrix
from kfeat.errors import DataError

CHECKED_ROWS = 4096  # checked together, so that a check needs no second copy of the data
ADVICE = "fill in or drop missing values before kfeat reads them"


def check_finite_matrix(X: Matrix, place: str, start: int = 0) -> None:
    """Raise DataError naming row and column (from 1) of the first NaN or infinity in X (n, d).

    `place` begins the message, and `start` is the number of rows before X.
    """
    from scipy.sparse import issparse
    from sklearn.utils import gen_batches

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
