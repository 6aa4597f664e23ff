"""The Walsh-Hadamard transform, by products with small Hadamard matrices."""

from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import hadamard

from kfeat.maps.base import Array


def walsh_hadamard(X: Array, columns: int | None = None) -> Array:
    """Return X H for the rows of X (n, m), m a power of two; H is symmetric with entries +-1, H H = m I.

    H of size a b is the Kronecker product of those of sizes a and b (Sylvester). So the transform of a row,
    written as an a x b matrix R, is H_a R H_b: 2 m (a + b + ...) operations in BLAS, in X's precision.
    With `columns`, only that many of the first columns of X H are computed and returned.
    """
    n, m = X.shape
    n_columns = m if columns is None else columns
    *left, last = _factors(m)
    rows, width, rest = X, 1, m
    for a in left:
        rest //= a
        # Only the first factor can be cut: later ones work within the kept columns.
        kept = a if width > 1 else -(-n_columns // rest)
        rows = np.matmul(_small(a, X.dtype)[:kept], rows.reshape(n * width, a, rest))
        width *= kept
    rows = rows.reshape(n * width, last) @ _small(last, X.dtype)
    return rows.reshape(n, width * last)[:, :n_columns]


def next_power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << int(n - 1).bit_length()


def _factors(m: int) -> list[int]:
    """Return powers of two with the product m: about 16 each, the largest last.

    Measured for m = 64 to 8,192: 1 to 2 ns per value in single precision. Two factors near sqrt(m) are up to
    2 times slower from 2,048 on; factors of 4, or additions in NumPy, are 3 to 8 times slower.
    """
    exponent = m.bit_length() - 1
    stages = max(-(-(exponent - 1) // 4), 1)
    return [1 << (exponent + i) // stages for i in range(stages)]


@cache
def _small(size: int, dtype: np.dtype[Any]) -> Array:
    return np.ascontiguousarray(hadamard(size), dtype=dtype)
