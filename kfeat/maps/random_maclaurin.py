"""Random Maclaurin features: dot-product kernels by random products (Kar & Karnick 2012)."""

from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.kernels import DotProductKernel, Kernel, Polynomial
from kfeat.kernels.base import squared_norms
from kfeat.maps.base import BlockMapper, FeatureMap
from kfeat.maps.degree_laws import Degrees, coefficients, geometric, proportional, truncated
from kfeat.maps.registry import register


@register("random_maclaurin")
class RandomMaclaurin(FeatureMap):
    """Random Maclaurin features of k(x, y) = sum_n a_n <x, y>^n, a_n >= 0 (Kar & Karnick 2012, Algorithm 1).

    z_i(x) = sqrt(a_N / (D P(N))) prod_{j <= N} <w_j, x>, with a degree N and N sign vectors w_j per feature.
    Unbiased. The columns stand in the order of their degrees.

    degree_law: "geometric", as published: P(N) = (p - 1) p^-(N + 1) with p = base, not truncated, so that a
    feature whose degree has no term in the series is a zero column; "truncated", the same over the degrees
    that have one; "proportional", in proportion to a_N mean(||x||^2N) on the data (no base).
    h01: the exact columns sqrt(a_0) and sqrt(a_1) x first, then n_components random ones drawn given N >= 2
    (H0/1, section 6.1; width 1 + d + n_components).
    constant: False leaves degree 0 out; the map then estimates k - a_0, and kernel_offset_ is a_0.

    Cost: the matrix products of X with sum(degrees_) sign vectors are the floor.
    """

    def __init__(
        self,
        kernel: Any = None,
        n_components: Annotated[int, Ge(1)] = 100,
        degree_law: Literal["geometric", "truncated", "proportional"] = "geometric",
        base: Annotated[float, Gt(1)] = 2.0,
        h01: bool = False,
        constant: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.degree_law = degree_law
        self.base = base
        self.h01 = h01
        self.constant = constant
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def supports(cls, kernel: Kernel) -> bool:
        """Return whether the kernel depends on the inner product alone."""
        return isinstance(kernel, DotProductKernel)

    @classmethod
    def default_kernel(cls) -> Kernel:
        """Return (1 + <x, y>)^2."""
        return Polynomial(degree=2, coef0=1.0)

    def _draw(self, X: Any, rng: np.random.Generator) -> int:
        self.kernel_.check_radius(squared_norms(X))
        self.exact_ = coefficients(self.kernel_, 2)
        if not self.constant:
            self.kernel_offset_, self.exact_[0] = float(self.exact_[0]), 0.0
        degrees, weights = self._draw_degrees(X, rng)
        order = np.argsort(degrees, kind="stable")
        self.degrees_ = degrees[order]
        self.scales_ = np.sqrt(weights[order] / self.n_components)
        # A zero column needs no sign vectors, however large its degree.
        n_signs = int(self.degrees_[self.scales_ > 0].sum())
        self.signs_ = 2 * rng.integers(2, size=(n_signs, X.shape[1]), dtype=np.int8) - 1
        return self.n_components + (self.constant + X.shape[1] if self.h01 else 0)

    def _draw_degrees(self, X: Any, rng: np.random.Generator) -> Degrees:
        first = 2 if self.h01 else 0 if self.constant else 1
        if self.degree_law == "proportional":
            return proportional(rng, self.kernel_, self.n_components, X, first)
        law = geometric if self.degree_law == "geometric" else truncated
        return law(rng, self.kernel_, self.n_components, self.base, first)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        n_exact = int(self._n_features_out) - self.n_components
        sqrt_a0, sqrt_a1 = np.sqrt(self.exact_).astype(dtype)
        scales, factors = self.scales_.astype(dtype), self._factors(dtype)

        def map_block(X: Any, out: NDArray[Any]) -> None:
            self.kernel_.check_radius(squared_norms(X))
            if n_exact:
                out[:, 0] = sqrt_a0
                out[:, n_exact - X.shape[1] : n_exact] = (X.toarray() if issparse(X) else X) * sqrt_a1
            random = out[:, n_exact:]
            random[:] = scales
            for columns, signs in factors:
                random[:, columns] *= X @ signs

        return map_block

    def _factors(self, dtype: np.dtype[Any]) -> list[tuple[slice | NDArray[np.int64], NDArray[Any]]]:
        """Return for j = 1, 2, ... the live columns of degree >= j and their j-th signs (d, columns)."""
        live = np.flatnonzero(self.scales_)
        degrees, factors, used = self.degrees_[live], [], 0
        for j in range(1, int(degrees.max(initial=0)) + 1):
            columns = live[degrees >= j]
            signs = self.signs_[used : used + len(columns)]
            used += len(columns)
            contiguous = columns[-1] - columns[0] + 1 == len(columns)
            where = slice(int(columns[0]), int(columns[-1]) + 1) if contiguous else columns
            factors.append((where, np.ascontiguousarray(signs.T, dtype=dtype)))
        return factors
