"""Count Sketch (Charikar, Chen & Farach-Colton 2002; Pham & Pagh 2013, Definition 1), and its hashes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from kfeat.maps.signs import random_signs

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

    def __call__(self, block: Any) -> NDArray[Any]:
        """Return the sketches of the n rows of an arranged block, shape (n, D).

        Dense: one sparse product on (features x rows) adds up whole rows of the block. CSR: the same numbers
        with hashed column indices; making that dense adds up what falls into one bucket.
        """
        sketch: NDArray[Any]
        if issparse(block):
            hashed = (block.data * self.values[block.indices], self.buckets[block.indices], block.indptr)
            sketch = csr_array(hashed, shape=(block.shape[0], self.n_buckets)).toarray()
        else:
            sketch = (self.matrix @ block).T
        if self.constant:
            sketch[:, self.constant_bucket] += self.constant
        return sketch


def arranged(X: Any) -> Any:
    """Return a block as `CountSketch` takes it: dense as (features x rows), CSR as it is."""
    return X if issparse(X) else np.ascontiguousarray(X.T)


def random_tables(
    rng: np.random.Generator, degree: int, d: int, n_buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return fully random hashes h: [d] -> [n_buckets] and signs s: [d] -> {-1, 1}, shapes (degree, d)."""
    buckets = rng.integers(n_buckets, size=(degree, d))
    return buckets, random_signs(rng, (degree, d))


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
