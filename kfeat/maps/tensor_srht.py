"""TensorSRHT: polynomial kernels by products of subsampled randomised Hadamard transforms."""

from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.linalg import hadamard
from scipy.sparse import issparse

from kfeat.maps.base import Array, BlockMapper, Facts, random_signs, register
from kfeat.maps.tensor_sketch import PolynomialSketch
from kfeat.parameters import Components


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


@register("tensor_srht")
class TensorSRHT(PolynomialSketch):
    """TensorSRHT of the polynomial kernel (gamma <x, y> + coef0)^p (Ahle et al. 2020).

    z_r(x) = sqrt(1 / D) prod_{k <= p} (H D_k x)_{i_k(r)}, with the Walsh-Hadamard matrix H, p independent
    diagonals D_k of random signs, and x = (sqrt(gamma) x, sqrt(coef0)) padded with zeros to m numbers, a
    power of two. Each factor samples its coordinates i_k(1), ..., i_k(D) without replacement from ceil(D / m)
    copies of {1, ..., m} (the paper samples with replacement). Unbiased. With a = <x, y>^2,
    N = m ceil(D / m) and g = ||x||^2 ||y||^2 + a - 2 sum x_i^2 y_i^2,
    Var <z(x), z(y)> = ((a + g)^p - a^p) / D - (1 - 1 / D) (a^p - (a - g / (N - 1))^p),
    and (a + g)^p - a^p <= (3^p - 1) ||x||^2p ||y||^2p. For p = 1 and D a multiple of m the map is exact.

    Cost: p transforms of length m and p D products.

    Parameters
    ----------
    kernel : Polynomial or Linear, default <x, y>^2
    n_components : int, default 100
        The number D of features.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    signs_ : ndarray of shape (p, d) or (p, d + 1)
        The diagonals, without the padding; the last column is for the constant feature, if coef0 > 0.
    coordinates_ : ndarray of shape (p, D)
        The coordinates that each factor samples.

    Examples
    --------
    >>> from kfeat.kernels import Polynomial
    >>> from kfeat.maps import TensorSRHT
    >>> X = [[0.6, 0.8], [0.8, 0.6]]
    >>> kernel = Polynomial(degree=2, coef0=1.0)
    >>> Z = TensorSRHT(kernel, n_components=4096, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.5)  # the values of the kernel are 3.84 and 4
    True
    """

    facts = Facts(
        cost="p d log d + p D",
        variance="<= (3^p - 1) ||x||^2p ||y||^2p / D; 0 for p = 1 where every coordinate is sampled",
        source="Ahle et al. 2020 (SODA), with coordinates sampled without replacement",
        use="degrees 1 and 2, with d below D; tensor_sketch for higher degrees and long sparse rows",
    )

    n_components: Components = 100

    def _draw(self, X: Any, rng: Generator) -> int:
        width = X.shape[1] + int(self.kernel_.coef0 > 0)
        m, p, D = next_power_of_two(width), self.kernel_.degree, self.n_components
        copies = np.tile(np.arange(m), -(-D // m))
        self._check_memory(f"{p:,} factors", 8 * p * len(copies))
        self.signs_ = random_signs(rng, (p, width))
        self.coordinates_ = np.stack([rng.permutation(copies)[:D] for _ in range(p)])
        return D

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        d, width = int(self.n_features_in_), self.signs_.shape[1]
        diagonals = self.signs_ * self._scales()[:width]
        diagonals[0] /= np.sqrt(self.n_components)
        factors = list(zip(diagonals.astype(dtype), self.coordinates_, strict=True))
        m = next_power_of_two(width)

        def map_block(X: Any, out: Array) -> None:
            rows = X.toarray() if issparse(X) else X
            padded = np.zeros((len(rows), m), dtype)
            for k, (diagonal, coordinates) in enumerate(factors):
                np.multiply(rows, diagonal[:d], out=padded[:, :d])
                padded[:, d:width] = diagonal[d:]
                sampled = np.take(walsh_hadamard(padded), coordinates, axis=1)
                np.multiply(out, sampled, out=out) if k else np.copyto(out, sampled)

        return map_block

    def _row_bytes(self, itemsize: int) -> int:
        return itemsize * (4 * next_power_of_two(self.signs_.shape[1]) + 2 * self.n_components)
