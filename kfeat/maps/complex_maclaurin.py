"""Complex and optimised Random Maclaurin (Wacker, Ohana & Filippone 2022; Wacker et al. 2022)."""

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from kfeat.errors import ParameterError
from kfeat.kernels import Polynomial
from kfeat.maps.base import Array, BlockMapper, Facts, random_fourth_roots, register
from kfeat.maps.maclaurin_products import MANY, MaclaurinProducts
from kfeat.maps.random_maclaurin import RandomMaclaurin
from kfeat.maps.series import SampledPairs, damp, in_order, sampled_pairs, series_of, terms
from kfeat.parameters import Components


class ComplexProducts(MaclaurinProducts):
    """Products of complex projections, each as two columns; one exact column is the term of degree 0."""

    constant_: bool
    linear_: bool

    def _exact_parts(self) -> tuple[bool, bool]:
        return self.constant_, self.linear_

    def _draw_products(
        self, X: Any, rng: Generator, degrees: NDArray[np.int64], squares: Array, D: int
    ) -> None:
        """Draw the vectors of complex features of these degrees and squared scales.

        If D is odd, one random feature loses its imaginary part: each column of a degree, real or
        imaginary, estimates half of its term.
        """
        self.degrees_, self.n_factors_, order = in_order(degrees, squares > 0)
        self.scales_ = np.sqrt(squares[order])
        self.dropped_ = int(rng.integers(len(order))) if D % 2 else None
        shape = int(self.n_factors_.sum()), X.shape[1]
        self._check_memory(f"{shape[0]:,} vectors of complex signs", 17 * shape[0] * shape[1])
        self.exponents_ = random_fourth_roots(rng, shape)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        n_features, n_exact = len(self.scales_), self._n_exact()
        first, starts = self._layout()
        n_zero = int(first[0]) if first.size else n_features
        paired = np.result_type(dtype, np.complex64)
        parts = self._parts(dtype)
        scales = np.repeat(self._factor_scales(first, dtype), 2)
        parts[:, : len(scales)] *= scales
        fixed = self.scales_[:n_zero].astype(dtype)
        series = series_of(self.kernel_)

        def map_block(X: Any, out: Array) -> None:
            series.check_rows(X)
            self._write_exact(X, out[:, :n_exact])
            out[:, n_exact : n_exact + 2 * n_zero] = 0
            out[:, n_exact : n_exact + 2 * n_zero : 2] = fixed
            products = (X @ parts).view(paired)
            live = products[:, : n_features - n_zero]
            damp(self.kernel_, X, out[:, : n_exact + 2 * n_zero])
            damp(self.kernel_, X, live.view(dtype))
            for j in range(1, len(first)):
                live[:, first[j] - n_zero :] *= products[:, starts[j] : starts[j + 1]]
            self._write_columns(live.view(dtype), out[:, n_exact:], 2 * n_zero)

        return map_block

    def _parts(self, dtype: np.dtype[Any]) -> Array:
        """Return the complex signs as columns Re w_1, Im w_1, Re w_2, ..., shape (d, 2 sum(n_factors_))."""
        exponents = np.ascontiguousarray(self.exponents_.T)
        parts = np.empty((*exponents.shape, 2), dtype)
        for part in (0, 1):  # i^j is 1 and -1 for j = 0 and 2, i and -i for 1 and 3
            ones, minus = (exponents == part).view(np.int8), (exponents == part + 2).view(np.int8)
            parts[..., part] = np.subtract(ones, minus, out=ones)
        return parts.reshape(len(exponents), 2 * exponents.shape[1])

    def _write_columns(self, columns: Array, out: Array, n_zero: int) -> None:
        """Write the columns after the zero columns, without the dropped imaginary part."""
        dropped = len(self.scales_) * 2 if self.dropped_ is None else 2 * self.dropped_ + 1
        kept = max(dropped - n_zero, 0)
        out[:, n_zero : n_zero + kept] = columns[:, :kept]
        rest = columns[:, kept + 1 :] if dropped >= n_zero else columns
        out[:, out.shape[1] - rest.shape[1] :] = rest

    def _row_bytes(self, itemsize: int) -> int:
        return max(super()._row_bytes(itemsize), 2 * itemsize * int(self.n_factors_.sum()) // MANY)


@register("complex_maclaurin")
class ComplexMaclaurin(ComplexProducts, RandomMaclaurin):
    """Random Maclaurin features by complex signs w in {1, i, -1, -i}^d, as real columns (Wacker et al. 2022).

    The columns 2i and 2i + 1 are the real and the imaginary part of sqrt(2 a_N / (D P(N))) prod_{j <= N}
    <w_j, x>, N >= 1. Unbiased. With t = <x, y>, q = sum_i x_i^2 y_i^2 and s = ||x||^2 ||y||^2, D columns for
    t^p have the variance ((s + t^2 - q)^p + (2 t^2 - q)^p - 2 t^2p) / D, at most (2^(p+1) - 2) s^p / D. Real
    signs have ((s + 2 t^2 - 2 q)^p - t^2p) / D, at most (3^p - 1) s^p / D. They are equal for p = 1. For
    larger p complex signs have less variance if t^2 > q, as on rows without negative entries, else more.

    The imaginary parts of the term of degree 0 would be 0, so it is one exact column, sqrt(a_0). There are
    half as many degrees as columns, which would double the variance of the degrees, so they are drawn by
    systematic sampling.

    Cost: the matrix products of X with sum(n_factors_) complex vectors, as in Random Maclaurin at this D.

    Parameters
    ----------
    kernel : any dot-product kernel or Gaussian, default (1 + <x, y>)^2
    n_components : int, default 100
        The number D of columns; from 2 on the column sqrt(a_0) is one of them. With an odd number of random
        columns, the imaginary part of one feature is left out.
    degree_law : {"proportional", "geometric", "truncated"}, default "proportional"
        The distribution of the degrees, as in RandomMaclaurin, given N >= 1.
    base, h01, constant, h01_law, h01_unscaled : as in RandomMaclaurin
        The geometric distribution's p, exact columns for degrees 0 and 1, whether degree 0 is included, and
        the distribution of the degrees and the factor of x with H0/1.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    degrees_, n_factors_, scales_ : ndarray of shape (number of complex features,)
        The degree N of each complex feature, its number of factors (0 for a zero column), and its scale.
    exponents_ : ndarray of shape (sum(n_factors_), d)
        The vectors of complex signs i^j, by their exponents j.
    dropped_ : int or None
        The complex feature whose imaginary part is left out.

    Examples
    --------
    >>> from kfeat.kernels import Exponential
    >>> from kfeat.maps import ComplexMaclaurin
    >>> X = [[0.6, 0.8], [0.8, 0.6]]
    >>> Z = ComplexMaclaurin(Exponential(), n_components=1000, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - Exponential()(X)).max() < 0.5)  # the values of the kernel are 2.61 and 2.72
    True
    """

    facts = Facts(
        cost="d D E[N], N the degree drawn",
        variance="per degree p at most (2^(p+1) - 2) ||x||^2p ||y||^2p over its columns",
        source="Wacker, Ohana & Filippone 2022, arXiv 2202.02031",
        use="in place of random_maclaurin on rows without negative entries: less variance in the same time",
    )

    degree_law: Literal["geometric", "truncated", "proportional"] = "proportional"

    def _draw(self, X: Any, rng: Generator) -> int:
        self._take_series(X)
        self.linear_ = self.h01
        # A map of one column would have only the constant if it had a column for it.
        self.constant_ = bool(self.exact_[0] > 0 and (self.h01 or self.n_components > 1))
        first = 2 if self.h01 else 1 if self.constant_ or not self.constant else 0
        n_random = self.n_components - (self.constant_ and not self.h01)
        self._check_memory(f"{self.n_components:,} degrees", 32 * n_random)
        degrees, weights = self._random_degrees(rng, (n_random + 1) // 2, X, first, even=True)
        squares = np.where(degrees > 0, 2, 1) * weights / n_random  # a constant has no imaginary part
        self._draw_products(X, rng, degrees, squares, n_random)
        return self._n_exact() + n_random


LAST_DEGREE = 170  # for larger n, n! is beyond double precision
SMALL = 0.01  # omitted terms below this share of the error do not matter


class Plan(NamedTuple):
    """The use of the columns: whether sqrt(a_1) x is exact, and the number of products per degree."""

    linear: bool
    degrees: NDArray[np.int64]
    counts: NDArray[np.int64]
    squared_error: float
    squared_bias: float


@register("optimised_maclaurin")
class OptimisedMaclaurin(ComplexProducts):
    """Maclaurin features with n_k columns for degree k, chosen to minimise the kernel's error on the data.

    z(x) = (sqrt(a_0), sqrt(a_1) x or random columns, sqrt(a_2 / n_2) products of 2 signs, ..., products of K)
    minimises sum_k a_k^2 V_k / n_k + mean (sum_{k > K} a_k <x, y>^k)^2 over pairs of a sample of rows, where
    V_k is the variance of one column. The integers n_k, the degree K, and whether the d columns of degree 1
    are exact are chosen for the least error. The terms beyond K are left out: the map is unbiased for the
    others, and `bias_` is the error by the omitted terms.

    Parameters
    ----------
    kernel : any dot-product kernel or Gaussian, default (1 + <x, y>)^2
    n_components : int, default 100
        The largest number of columns, exact ones included.
    signs : {"complex", "real"}, default "complex"
        The signs in the products. Complex products take two columns each; their variance is less if
        <x, y>^2 > sum_i x_i^2 y_i^2, as for rows without negative values, and otherwise more.
    n_rows : int, default 256
        The number of random rows on which the variances are computed.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    linear_ : bool
        Whether degree 1 has the exact columns sqrt(a_1) x.
    columns_ : dict of int to int
        The number of random columns of each degree that has some.
    error_, bias_ : float
        The expected root mean squared error of the kernel on pairs of the sample, and the part of it that is
        due to omitted degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import OptimisedMaclaurin
    >>> X = np.random.default_rng(0).random((50, 5))
    >>> feature_map = OptimisedMaclaurin(Gaussian(0.1), n_components=20, random_state=0).fit(X)
    >>> feature_map.linear_, feature_map.columns_, feature_map.error_ < 0.05
    (True, {2: 14}, True)
    """

    facts = Facts(
        cost="d sum_k k n_k, n_k the columns of degree k",
        variance="sum_k a_k^2 V_k / n_k, the least there is; beside it the terms that are left out",
        source="Wacker, Kanagawa & Filippone 2022, arXiv 2201.08712",
        use="the best of the Maclaurin maps where data are at hand when it is fitted; short rows",
    )

    n_components: Components = 100
    signs: Literal["complex", "real"] = "complex"
    n_rows: Annotated[int, Ge(2), Le(10_000)] = 256

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        finite = isinstance(self.kernel or self.default_kernel, Polynomial)
        return "" if finite else "terms of high degree are left out"

    def _draw(self, X: Any, rng: Generator) -> int:
        series_of(self.kernel_).check_rows(X)
        a = terms(self.kernel_, LAST_DEGREE)[: LAST_DEGREE + 1]
        self.exact_ = np.append(a, 0)[:2]
        self.constant_ = bool(a[0] > 0)
        pairs = sampled_pairs(self.kernel_, X, self.n_rows, rng)
        plan = best_plan(a, pairs, self.n_components - self.constant_, X.shape[1], self.signs)
        width = 2 if self.signs == "complex" else 1
        self.linear_ = plan.linear
        self.columns_ = {int(k): int(width * n) for k, n in zip(plan.degrees, plan.counts, strict=True)}
        self.error_, self.bias_ = float(np.sqrt(plan.squared_error)), float(np.sqrt(plan.squared_bias))
        degrees = np.repeat(plan.degrees, plan.counts)
        squares = np.repeat(a[plan.degrees] / plan.counts, plan.counts)
        if self.signs == "complex":
            self._draw_products(X, rng, degrees, squares, 0)
        else:
            self.degrees_, self.n_factors_, self.scales_ = degrees, degrees, np.sqrt(squares)
            self._draw_signs(X, rng)
        D = self._n_exact() + width * len(degrees)
        if D == 0:
            raise ParameterError(
                f"OptimisedMaclaurin: n_components: expected {width} or more for {self.signs}"
            )
        return D

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        products = ComplexProducts if self.signs == "complex" else MaclaurinProducts
        return products._block_mapper(self, dtype)


def best_plan(a: Array, pairs: SampledPairs, D: int, d: int, signs: str) -> Plan:
    """Return the plan of least squared error for series a, D columns without the constant, and d features.

    It tries every last degree K until the omitted terms do not matter, with degree 1 exact and random.
    """
    variances, biases = degree_errors(a, pairs, signs)
    width = 2 if signs == "complex" else 1
    none = np.zeros(0, np.int64)
    best = Plan(False, none, none, float(biases[0]), float(biases[0]))
    for linear in (False, True):
        n_products = (D - d * linear) // width
        if n_products < 0 or (linear and not (len(a) > 1 and a[1] > 0)):
            continue
        for last in range(1, len(a)):
            degrees = np.flatnonzero(a[: last + 1])
            degrees = degrees[degrees > linear]
            if len(degrees) > n_products:
                break
            counts = allotted(variances[degrees], n_products)
            error = float((variances[degrees] / (width * counts)).sum() + biases[last])
            if error < best.squared_error:
                best = Plan(linear, degrees, counts, error, float(biases[last]))
            if biases[last] <= SMALL * best.squared_error:
                break
    return best


def degree_errors(a: Array, pairs: SampledPairs, signs: str) -> tuple[Array, Array]:
    """Return for each degree k the mean of a_k^2 V_k, and the mean squared sum of the terms beyond k."""
    variances, biases = np.zeros(len(a)), np.zeros(len(a))
    left = pairs.values.copy()
    for k in np.flatnonzero(a).tolist():
        with np.errstate(divide="ignore"):
            term = np.exp(np.log(a[k]) + special.xlogy(k, pairs.sizes) + np.log(pairs.damping))
        left -= term * pairs.cosines**k
        variances[k] = (term**2 * pairs.variance(k, signs)).mean() if k else 0
        biases[k:] = (left**2).mean()
    if not a[0]:
        biases[: int(np.flatnonzero(a)[0])] = (pairs.values**2).mean()
    if len(a) <= LAST_DEGREE:  # the series ends: the rest is a rounding error
        biases[-1] = 0.0
    return variances.clip(min=0), biases


def allotted(variances: Array, n: int) -> NDArray[np.int64]:
    """Return the integers n_k >= 1 of sum n that minimise sum_k variances_k / n_k; n >= len(variances).

    The best n_k are at least floor((n - K) sqrt(v_k) / sum sqrt(v)) for K degrees. The others are added one
    by one where they reduce the sum most, which is optimal since every term is convex.
    """
    roots = np.sqrt(variances)
    shares = roots / roots.sum() if roots.sum() > 0 else np.full(len(roots), 1 / max(len(roots), 1))
    counts = np.maximum((shares * (n - len(roots))).astype(np.int64), 1)
    for _ in range(n - int(counts.sum()) if len(roots) else 0):
        counts[np.argmax(variances / (counts * (counts + 1.0)))] += 1
    return counts
