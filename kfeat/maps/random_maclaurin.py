"""Random Maclaurin features: dot-product kernels by random products (Kar & Karnick 2012)."""

from math import inf
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.errors import ParameterError
from kfeat.kernels import Kernel, Polynomial
from kfeat.maps.base import BlockMapper, Facts, FeatureMap, register
from kfeat.maps.degrees import Degrees, coefficients, geometric, proportional, truncated
from kfeat.maps.gaussian import check_constant, damp, decay, has_series, series_of
from kfeat.maps.signs import random_signs
from kfeat.memory import check_memory
from kfeat.parameters import Components, Jobs

MANY = 8  # factors per column: with fewer, larger blocks are quicker than products that fit in the cache


@register("random_maclaurin")
class RandomMaclaurin(FeatureMap):
    """Random Maclaurin features of k(x, y) = sum_n a_n <x, y>^n, a_n >= 0 (Kar & Karnick 2012, Algorithm 1).

    z_i(x) = sqrt(a_N / (D P(N))) prod_{j <= N} <w_j, x>, with a degree N and N sign vectors w_j per feature.
    Unbiased. The columns stand in the order of their degrees, zero columns first. The Gaussian kernel is
    exp(2 gamma <x, y>) with each row's features times exp(-gamma ||x||^2).

    Var <z(x), z(y)> = (sum_n a_n^2 m^n / P(n) - k(x, y)^2) / D where the N are drawn independently,
    m = E[(<w, x> <w, y>)^2] = ||x||^2 ||y||^2 + 2 <x, y>^2 - 2 sum_i x_i^2 y_i^2.

    Cost: the matrix products of X with sum(n_factors_) sign vectors are the floor.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel to approximate: any dot-product kernel or the Gaussian; None is (1 + <x, y>)^2.
    n_components : int, default 100
        The number D of random features.
    degree_law : {"geometric", "truncated", "proportional"}, default "geometric"
        The distribution of the degrees. "geometric", as published: P(N) = (p - 1) p^-(N + 1) with p = base,
        not truncated, so that a feature whose degree has no term in the series is a zero column; "truncated",
        the same over the degrees that have a term; "proportional", in proportion to a_N mean(||x||^2N) on the
        data (for the Gaussian, mean(exp(-2 gamma ||x||^2) ||x||^2N), a mixture of Poisson distributions).
    base : float, default 2.0
        The p of the geometric distribution, above 1; "proportional" does not use it.
    h01 : bool, default False
        Whether the exact columns sqrt(a_0) and sqrt(a_1) x come first, followed by n_components random ones
        drawn given N >= 2 (H0/1, section 6.1): 1 + d + n_components columns.
    constant : bool, default True
        False leaves degree 0 out; the map then estimates k - a_0, and kernel_offset_ is a_0.
    random_state : int, Generator, RandomState or None, default None
        The source of the random numbers; an int makes the map reproducible.
    n_jobs : int, optional
        The number of threads of `transform`, as joblib counts them: None is one, -1 is all cores.

    Attributes
    ----------
    degrees_, n_factors_, scales_ : ndarray of shape (n_components,)
        The degree N of each random feature, its number of factors (0 for a zero column), and its scale.
    signs_ : ndarray of shape (sum(n_factors_), d)
        The sign vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Exponential
    >>> from kfeat.maps import RandomMaclaurin
    >>> X = np.array([[0.6, 0.8], [0.8, 0.6]])
    >>> feature_map = RandomMaclaurin(Exponential(), n_components=1000, h01=True, random_state=0)
    >>> Z = feature_map.fit_transform(X)
    >>> Z.shape  # 1 + d + n_components
    (2, 1003)
    >>> bool(np.abs(Z @ Z.T - Exponential()(X)).max() < 0.5)  # the values of the kernel are 2.61 and 2.72
    True
    """

    facts: ClassVar[Facts] = Facts(
        cost="d D E[N], N the degree drawn",
        variance="(sum_n a_n^2 m^n / P(n) - k^2) / D",
        source="Kar & Karnick 2012, Algorithm 1",
        use="dot-product kernels of short rows; degree_law proportional is best, a must for the Gaussian",
    )

    def __init__(
        self,
        kernel: Any = None,
        n_components: Components = 100,
        degree_law: Literal["geometric", "truncated", "proportional"] = "geometric",
        base: Annotated[float, Gt(1), Lt(inf)] = 2.0,
        h01: bool = False,
        constant: bool = True,
        random_state: Any = None,
        n_jobs: Jobs = None,
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
        """Return whether the kernel depends on the inner product alone, or is the Gaussian."""
        return has_series(kernel)

    @classmethod
    def default_kernel(cls) -> Kernel:
        """Return (1 + <x, y>)^2."""
        return Polynomial(degree=2, coef0=1.0)

    def _draw(self, X: Any, rng: np.random.Generator) -> int:
        series_of(self.kernel_).check_rows(X)
        check_constant(self.kernel_, self.constant)
        self.exact_ = coefficients(self.kernel_, 2)
        if not self.constant:
            self.kernel_offset_, self.exact_[0] = float(self.exact_[0]), 0.0
        what = f"a map of {self.n_components:,} degrees"
        check_memory(what, 64 * self.n_components, "take fewer components", ParameterError)
        degrees, weights = self._draw_degrees(X, rng)
        # By degree, so that the features with a j-th factor are the last ones; a zero column has no factors,
        # however large its degree.
        factors = np.where(weights > 0, degrees, 0)
        order = np.argsort(factors, kind="stable")
        self.degrees_, self.n_factors_ = degrees[order], factors[order]
        self.scales_ = np.sqrt(weights[order] / self.n_components)
        what = f"a map of {int(factors.sum()):,} vectors of signs"
        check_memory(what, 9 * int(factors.sum()) * X.shape[1], "take fewer components", ParameterError)
        self.signs_ = random_signs(rng, (int(factors.sum()), X.shape[1]))
        return self.n_components + (self.constant + X.shape[1] if self.h01 else 0)

    def _draw_degrees(self, X: Any, rng: np.random.Generator) -> Degrees:
        first = 2 if self.h01 else 0 if self.constant else 1
        return self._degrees_from(first, self.n_components, X, rng)

    def _degrees_from(
        self, first: int, n: int, X: Any, rng: np.random.Generator, even: bool = False
    ) -> Degrees:
        """Return n draws of the degree_law, given N >= first."""
        if self.degree_law == "proportional":
            return proportional(rng, self.kernel_, n, X, first, even)
        law = geometric if self.degree_law == "geometric" else truncated
        return law(rng, self.kernel_, n, self.base, first, even)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        scales, n_random = self.scales_.astype(dtype), len(self.scales_)
        # Feature i has its j-th sign vector in column starts[j] + i - first[j] of `signs`.
        first = np.searchsorted(self.n_factors_, range(1, int(self.n_factors_.max(initial=0)) + 1))
        starts = np.cumsum([0, *(n_random - first)])
        signs = np.array(self.signs_.T, dtype=dtype, order="C")
        n_exact = int(self._n_features_out) - n_random
        n_fixed = int(first[0]) if first.size else n_random
        factor_scales = self._factor_scales(first, dtype)
        signs[:, : len(factor_scales)] *= factor_scales
        series = series_of(self.kernel_)

        def map_block(X: Any, out: NDArray[Any]) -> None:
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

    def _factor_scales(self, first: NDArray[Any], dtype: Any) -> NDArray[Any]:
        """Return what the first sign vectors are multiplied by, so that each product has its feature's scale.

        A feature's first vector takes all of it. For the Gaussian, and where the dtype does not hold a scale,
        all its vectors take a root: the scale of a high degree is so small, and the product of its factors so
        large, that float32 holds neither.
        """
        if not len(first):
            return np.ones(0, dtype)
        scales, held = self.scales_[first[0] :], np.finfo(dtype)
        if not decay(self.kernel_) and held.tiny <= scales.min() and scales.max() <= held.max:
            return scales.astype(dtype)
        roots = self.scales_ ** (1 / np.maximum(self.n_factors_, 1))
        return np.concatenate([roots[start:] for start in first]).astype(dtype)

    def _write_exact(self, X: Any, out: NDArray[Any]) -> None:
        """Write the columns of H0/1: sqrt(a_0), unless the constant is left out, and sqrt(a_1) x."""
        if out.shape[1]:
            out[:, 0] = np.sqrt(self.exact_[0])
            out[:, -X.shape[1] :] = X.toarray() if issparse(X) else X
            out[:, -X.shape[1] :] *= out.dtype.type(np.sqrt(self.exact_[1]))

    def _row_bytes(self, itemsize: int) -> int:
        return max(super()._row_bytes(itemsize), itemsize * int(self.n_factors_.sum()) // MANY)
