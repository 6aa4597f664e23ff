"""What maps by Maclaurin series share: exact columns, and products of random projections."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.kernels import DotProductKernel, Gaussian, Polynomial
from kfeat.maps.base import Array, BlockMapper, FeatureMap, random_signs
from kfeat.maps.series import (
    damp,
    decay,
    series_of,
)

MANY = 8  # factors per column: with fewer, larger blocks are faster than products that fit in the cache


class MaclaurinProducts(FeatureMap):
    """Exact columns, then columns that are scales_ times products of n_factors_ random projections."""

    approximates: ClassVar[Any] = DotProductKernel | Gaussian
    default_kernel = Polynomial(degree=2, coef0=1.0)

    degrees_: NDArray[np.int64]
    n_factors_: NDArray[np.int64]
    scales_: Array
    exact_: Array

    @abstractmethod
    def _exact_parts(self) -> tuple[bool, bool]:
        """Return whether the map has the exact columns sqrt(a_0), and sqrt(a_1) x; they come first."""

    def _n_exact(self) -> int:
        constant, linear = self._exact_parts()
        return constant + (int(self.n_features_in_) if linear else 0)

    def _write_exact(self, X: Any, out: Array) -> None:
        constant, linear = self._exact_parts()
        out[:, : int(constant)] = np.sqrt(self.exact_[0])
        if linear:
            columns = out[:, int(constant) :]
            columns[:] = X.toarray() if issparse(X) else X
            columns *= out.dtype.type(np.sqrt(self.exact_[1]))

    def _draw_signs(self, X: Any, rng: Generator) -> None:
        shape = int(self.n_factors_.sum()), X.shape[1]
        self._check_memory(f"{shape[0]:,} vectors of signs", 9 * shape[0] * shape[1])
        self.signs_ = random_signs(rng, shape)

    def _layout(self) -> tuple[Array, Array]:
        """Return arrays `first` and `starts`: feature i's j-th vector is column starts[j] + i - first[j]."""
        first = np.searchsorted(self.n_factors_, range(1, int(self.n_factors_.max(initial=0)) + 1))
        return first, np.cumsum([0, *(len(self.n_factors_) - first)])

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        scales, n_random = self.scales_.astype(dtype), len(self.scales_)
        first, starts = self._layout()
        signs = np.array(self.signs_.T, dtype=dtype, order="C")
        n_exact = self._n_exact()
        n_fixed = int(first[0]) if first.size else n_random
        factor_scales = self._factor_scales(first, dtype)
        signs[:, : len(factor_scales)] *= factor_scales
        series = series_of(self.kernel_)

        def map_block(X: Any, out: Array) -> None:
            series.check_rows(X)
            self._write_exact(X, out[:, :n_exact])
            random = out[:, n_exact:]
            random[:, :n_fixed] = scales[:n_fixed]
            products = X @ signs
            random[:, n_fixed:] = products[:, : n_random - n_fixed]
            damp(self.kernel_, X, out)
            for j in range(1, len(first)):
                random[:, first[j] :] *= products[:, starts[j] : starts[j + 1]]

        return map_block

    def _factor_scales(self, first: Array, dtype: Any) -> Array:
        """Return the factors of the first sign vectors, so that each product has its feature's scale.

        A feature's first vector is multiplied by the whole scale. For the Gaussian, or if a scale is outside
        of the dtype's range, each of its vectors is multiplied by a root of it: the scale of a high degree is
        so small, and the product of its factors so large, that both are outside of float32's range.
        """
        if not len(first):
            return np.ones(0, dtype)
        scales, limits = self.scales_[first[0] :], np.finfo(dtype)
        if not decay(self.kernel_) and limits.tiny <= scales.min() and scales.max() <= limits.max:
            return scales.astype(dtype)
        roots = self.scales_ ** (1 / np.maximum(self.n_factors_, 1))
        return np.concatenate([roots[start:] for start in first]).astype(dtype)

    def _row_bytes(self, itemsize: int) -> int:
        return max(super()._row_bytes(itemsize), itemsize * int(self.n_factors_.sum()) // MANY)
