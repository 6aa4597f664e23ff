"""Checks of rows in batches at the edge of a solver."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from kfeat.batches import Batches
from kfeat.errors import DataError
from kfeat.solvers.dask_batches import DaskBatches


def as_batches(X: Any) -> Any:
    """Return a Dask array as batches, and anything else as it is."""
    return DaskBatches(X) if type(X).__module__.startswith("dask.array") else X


def targets_beside(X: Batches, y: Any, solver: str, how: str) -> NDArray[Any]:
    """Return y, checked to stand beside the rows of X, whose numbers are checked as they are used.

    Raises DataError for a solver that does not take batches, and scikit-learn's ValueError for a bad y.
    """
    if how not in ("passes", "one pass"):
        able = "Newton, Ridge, and RidgeCV with folds"
        raise DataError(f"{solver} needs all rows at once; solvers that take batches: {able}")
    y = column_or_1d(np.asarray(y))
    check_consistent_length(X, y)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    return y


def check_columns(X: Batches, n_features: int, solver: str) -> None:
    """Raise DataError unless the rows have the features that a solver was fitted to."""
    if X.shape[1] != n_features:
        raise DataError(f"{solver} was fitted to {n_features} features, and the batches have {X.shape[1]}")
