"""What the columns of a feature matrix are worth: zero and constant ones carry nothing."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from kfeat.kernels.base import slices


class ColumnCounts(NamedTuple):
    """Numbers of columns: those that vary, those that are zero, those that are constant but not zero."""

    live: int
    zero: int
    constant: int


def column_counts(Z: Any) -> ColumnCounts:
    """Return how many columns of a feature matrix (n, D) vary, are zero, or are constant."""
    first = np.asarray(Z[:1].toarray() if issparse(Z) else Z[:1])[0]
    same = np.ones(Z.shape[1], dtype=bool)
    for rows in slices(Z.shape[0], 1024):
        block = Z[rows].toarray() if issparse(Z) else Z[rows]
        same &= (block == first).all(axis=0)
    zero = int((same & (first == 0)).sum())
    return ColumnCounts(Z.shape[1] - int(same.sum()), zero, int(same.sum()) - zero)
