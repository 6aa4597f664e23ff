"""The Walsh-Hadamard transform, by two products with small Hadamard matrices."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard


def walsh_hadamard(X: NDArray[Any]) -> NDArray[Any]:
    """Return X H for the rows of X (n, m), m a power of two: H symmetric, its entries -1 and 1, H H = m I.

    H of size a b is the Kronecker product of those of sizes a and b (Sylvester), so that the transform of a
    row, written as an a x b matrix R, is H_a R H_b: 2 m (a + b) operations in BLAS, in X's precision.
    """
    n, m = X.shape
    a = 1 << (m.bit_length() - 1) // 2
    left, right = _small(a, X.dtype), _small(m // a, X.dtype)
    rows = np.matmul(left, np.ascontiguousarray(X).reshape(n, a, m // a))
    return (rows.reshape(n * a, m // a) @ right).reshape(n, m)


def next_power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()


@cache
def _small(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(hadamard(size), dtype=dtype)
