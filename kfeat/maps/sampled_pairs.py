"""Pairs of rows of the data, and the variance that products of signs and Tensor Sketch have on them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.kernels import Kernel
from kfeat.kernels.base import inner_products, squared_norms
from kfeat.maps.gaussian import decay

Pairs = NDArray[np.float64]  # a number for each pair


class SampledPairs(NamedTuple):
    """What is known of each pair x, y, as one-dimensional arrays.

    `values` is k(x, y), `damping` exp(-g (||x||^2 + ||y||^2)) with g of the Gaussian, otherwise 1; `sizes`
    s = ||x|| ||y||, `cosines` c = <x, y> / s, and `shares` sum_i x_i^2 y_i^2 / s^2.
    """

    values: Pairs
    damping: Pairs
    sizes: Pairs
    cosines: Pairs
    shares: Pairs

    def moment(self) -> Pairs:
        """Return E[<w, x>^2 <w, y>^2] / s^2 over random signs: 1 + 2 c^2 - 2 shares."""
        return 1 + 2 * (self.cosines**2 - self.shares)

    def complex_moments(self) -> tuple[Pairs, Pairs]:
        """Return E|U|^2 / s^2 and E[U^2] / s^2 of U = <w, x> conj<w, y> over complex signs."""
        return 1 + self.cosines**2 - self.shares, 2 * self.cosines**2 - self.shares

    def variance(self, degree: int, kind: str) -> Pairs:
        """Return D Var / s^2p of D columns of products of p = degree signs, "real" or "complex" ones.

        Real: (1 + 2 c^2 - 2 q)^p - c^2p, with q the shares; complex: (1 + c^2 - q)^p + (2 c^2 - q)^p - 2 c^2p
        (Wacker, Kanagawa & Filippone 2022, arXiv 2201.08712; Wacker, Ohana & Filippone 2022, 2202.02031).
        """
        if kind == "real":
            return self.moment() ** degree - self.cosines ** (2 * degree)
        absolute, pseudo = self.complex_moments()
        return absolute**degree + pseudo**degree - 2 * self.cosines ** (2 * degree)

    def tensor_sketch_variance(self, degree: int, n_buckets: int) -> Pairs:
        """Return Var / s^2p of a Tensor Sketch of p = degree fully random hashes into D = n_buckets.

        A / D + r (B - A) / D^2, with A and B the numerators of complex and of real signs in `variance`, and r
        = 1 for odd D, 2 for even: in the terms that only real signs have, two sums of hashes must vanish at
        once, u + v and u - v, which for even D happens for two v.
        """
        crossed = self.variance(degree, "complex") / n_buckets
        rest = self.variance(degree, "real") - self.variance(degree, "complex")
        return crossed + (2 - n_buckets % 2) * rest / n_buckets**2 if n_buckets > 1 else crossed + rest


def sampled_pairs(kernel: Kernel, X: Any, n_rows: int, rng: np.random.Generator) -> SampledPairs:
    """Return the pairs of different rows among up to `n_rows` of X, drawn without replacement."""
    n = X.shape[0]
    rows = X if n <= n_rows else X[np.sort(rng.choice(n, size=n_rows, replace=False))]
    rows = rows.astype(np.float64)
    squared = rows.multiply(rows).tocsr() if issparse(rows) else rows**2
    norms = squared_norms(rows)
    first, second = np.triu_indices(len(norms), k=int(len(norms) > 1))
    sizes = np.sqrt(norms[first] * norms[second])
    scale = np.where(sizes > 0, sizes, 1)
    return SampledPairs(
        values=kernel(rows)[first, second],
        damping=np.exp(-decay(kernel) * (norms[first] + norms[second])),
        sizes=sizes,
        cosines=inner_products(rows, rows)[first, second] / scale,
        shares=inner_products(squared, squared)[first, second] / scale / scale,
    )
