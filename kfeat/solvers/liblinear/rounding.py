"""Rounding to significant digits, as a matrix that is written to a text file and read back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


def round_significant(X: Any, digits: int) -> Any:
    """Return X in double precision rounded to `digits` significant decimal digits, as "%.{digits}g" does.

    x -> round(x 10^s) / 10^s with s = digits - 1 - floor(log10 |x|); dense or CSR, any shape.
    """
    if issparse(X):
        return type(X)((_rounded(X.data, digits), X.indices, X.indptr), shape=X.shape)
    return _rounded(X, digits)


def _rounded(values: NDArray[Any], digits: int) -> NDArray[np.float64]:
    values = values.astype(np.float64)
    size = np.abs(values)
    # Zeros and subnormal dust have no logarithm worth taking; they round to themselves.
    shift = digits - 1 - np.floor(np.log10(np.where(size > 1e-290, size, 1.0)))
    up, down = 10.0 ** np.maximum(shift, 0), 10.0 ** np.maximum(-shift, 0)
    return np.rint(values * up / down) / up * down
