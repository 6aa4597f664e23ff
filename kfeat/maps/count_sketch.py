"""Count Sketch (Charikar, Chen & Farach-Colton 2002; Pham & Pagh 2013, Definition 1), and its hashes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

PRIME = 2**31 - 1  # products of two residues fit into 64 bits


class CountSketch:
    """The sketch (Cx)_j = sum of s(i) x_i over the features i with h(i) = j, plus one constant feature.

    `buckets` h and `values` s (signs times a scale) have d + 1 entries; the last is the constant feature's,
    whose value is added to its bucket without touching X.
    """

    def __init__(self, buckets: NDArray[np.int64], values: NDArray[Any], n_buckets: int) -> None:
        self.buckets, self.values = buckets[:-1].astype(np.int32), values[:-1]
        self.constant_bucket, self.constant = int(buckets[-1]), values[-1]
        self.n_buckets = n_buckets
        shape = (n_buckets, len(self.buckets))
        self.matrix = csr_array((self.values, (self.buckets, np.arange(shape[1]))), shape=shape)

    def __call__(self, X: Any, X_transposed: Any = None) -> NDArray[Any]:
        """Return the sketches of a block X (n, d), shape (n, D); `X_transposed` saves transposing it again.

        Dense: one sparse product on (features x rows), so that whole rows of the block are added up. CSR: the
        same numbers with hashed column indices; making that dense adds up what falls into one bucket.
        """
        sketch: NDArray[Any]
        if issparse(X):
            data, indices = X.data * self.values[X.indices], self.buckets[X.indices]
            sketch = csr_array((data, indices, X.indptr), shape=(X.shape[0], self.n_buckets)).toarray()
        else:
            sketch = (self.matrix @ (transposed(X) if X_transposed is None else X_transposed)).T
        if self.constant:
            sketch[:, self.constant_bucket] += self.constant
        return sketch


def transposed(X: Any) -> Any:
    """Return a dense block as a contiguous (features x rows) array, and None for a CSR block."""
    return None if issparse(X) else np.ascontiguousarray(X.T)


def random_tables(
    rng: np.random.Generator, degree: int, d: int, n_buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return fully random hashes h: [d] -> [n_buckets] and signs s: [d] -> {-1, 1}, shapes (degree, d)."""
    buckets = rng.integers(n_buckets, size=(degree, d))
    signs = 2 * rng.integers(2, size=(degree, d), dtype=np.int8) - 1
    return buckets, signs.astype(np.int8)


def universal_tables(
    rng: np.random.Generator, degree: int, d: int, n_buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return hashes ((a i + b) mod P) mod D from a 2-wise independent family (Carter & Wegman 1979).

    P = 2^31 - 1; the bias of the last modulus is below D / P.
    """
    i = np.arange(d, dtype=np.int64)
    a, b = rng.integers(PRIME, size=(2, 2, degree, 1))
    residues = (a * i + b) % PRIME
    return residues[0] % n_buckets, (1 - 2 * (residues[1] % 2)).astype(np.int8)
