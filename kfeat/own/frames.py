"""Rows and targets as users of scikit-learn have them: frames, arrays with gaps or words, sparse matrices."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.data.cells import in_seconds
from kfeat.data.reading import Reading
from kfeat.errors import DataError
from kfeat.kernels.operands import canonical

DENSE_VALUES = 200_000_000  # n d up to which a sparse matrix may become dense: 0.8 GB in float32
CODED = Reading(categorical="one_hot", missing="mean")  # how the columns of a frame become numbers


def frame_of(X: Any) -> Any:
    """Return a Polars frame, and an array or a list with gaps or words, as a pandas frame, else X."""
    if type(X).__module__.startswith("polars"):
        if not hasattr(X, "shape"):
            raise DataError(f"expected a frame of rows, got a {type(X).__name__}; call collect() first")
        return pd.DataFrame({name: X[name].to_numpy() for name in X.columns})
    if not isinstance(X, np.ndarray | list):
        return X
    try:
        rows = np.asarray(X)
        gaps = rows.dtype.kind in "fO" and bool(np.isnan(rows.astype(np.float64)).any())
    except TypeError:  # of cells that are no numbers or words
        return X
    except ValueError:  # of words, or of rows of different lengths
        rows, gaps = np.asarray(X, dtype=object), True
    if rows.ndim != 2 or not (gaps or rows.dtype.kind == "U"):
        return X
    return pd.DataFrame(rows.astype(object), columns=[f"x{i}" for i in range(rows.shape[1])]).infer_objects()


def as_targets(y: Any) -> NDArray[np.float64]:
    """Return targets (n,) as numbers, NaN where one is missing; raises DataError for words and dates."""
    cells = np.asarray(in_seconds(y if hasattr(y, "iloc") else np.asarray(y)))
    if cells.dtype.kind == "c":
        return cells  # scikit-learn's checks refuse it
    with suppress(TypeError, ValueError):
        if cells.dtype.kind in "fiubO":
            return cells.astype(np.float64)
    got = f"{cells.ravel()[0]!s:.50}" if cells.size else "nothing"
    raise DataError(f"expected numbers as targets, got {got}; labels that are words need KernelClassifier")


def as_dense(Z: Any) -> Any:
    """Return coded columns (n, d) as a dense array, which z-scores need, unless it would be very large."""
    if issparse(Z) and Z.shape[0] * Z.shape[1] > DENSE_VALUES:
        return canonical(Z)
    return np.asarray(Z.toarray() if issparse(Z) else Z, dtype=np.float64)
