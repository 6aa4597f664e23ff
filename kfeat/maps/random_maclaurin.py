"""Random Maclaurin: dot-product kernels by random products, whole or truncated (Kar & Karnick 2012)."""

from math import inf
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from numpy.random import Generator

from kfeat.errors import ParameterError, UnsupportedKernelError
from kfeat.kernels import DotProductKernel, Gaussian
from kfeat.kernels.base import Positive
from kfeat.kernels.distances import squared_norms
from kfeat.maps.base import Array, Facts, register
from kfeat.maps.maclaurin_products import MaclaurinProducts
from kfeat.maps.series import (
    MAX_DEGREE,
    Degrees,
    coefficients,
    draw_degrees,
    in_order,
    series_of,
    terms,
)
from kfeat.parameters import Components


@register("random_maclaurin")
class RandomMaclaurin(MaclaurinProducts):
    """Random Maclaurin features of k(x, y) = sum_n a_n <x, y>^n, a_n >= 0 (Kar & Karnick 2012, Algorithm 1).

    z_i(x) = sqrt(a_N / (D P(N))) prod_{j <= N} <w_j, x>, with a degree N and N sign vectors w_j per feature.
    Unbiased. The columns are in the order of their degrees, zero columns first. For the Gaussian kernel the
    features are those of exp(2 gamma <x, y>), each row multiplied by exp(-gamma ||x||^2).

    With independent N, Var <z(x), z(y)> = (sum_n a_n^2 m^n / P(n) - k(x, y)^2) / D,
    m = E[(<w, x> <w, y>)^2] = ||x||^2 ||y||^2 + 2 <x, y>^2 - 2 sum_i x_i^2 y_i^2.

    Cost: at least the matrix products of X with sum(n_factors_) sign vectors.

    Parameters
    ----------
    kernel : any dot-product kernel or Gaussian, default (1 + <x, y>)^2
    n_components : int, default 100
        The number D of random features.
    degree_law : {"geometric", "truncated", "proportional"}, default "geometric"
        The distribution of the degrees. "geometric", as published: P(N) = (p - 1) p^-(N + 1) with p = base,
        not truncated, so that a feature whose degree has no term in the series is a zero column. "truncated":
        the same over the degrees that have a term. "proportional": in proportion to a_N mean(||x||^2N) on the
        data (for the Gaussian, mean(exp(-2 gamma ||x||^2) ||x||^2N), a mixture of Poisson distributions).
    base : float, default 2.0
        The p of the geometric distribution, above 1; "proportional" does not use it.
    h01 : bool, default False
        Whether the exact columns sqrt(a_0) and sqrt(a_1) x come first, followed by n_components random ones
        drawn given N >= 2 (H0/1, section 6.1): 1 + d + n_components columns.
    constant : bool, default True
        False leaves degree 0 out; the map then estimates k - a_0, and kernel_offset_ is a_0.
    h01_law : {"conditional", "nonconstant", "unconditional"}, default "conditional"
        Whether H0/1 draws the degrees given N >= 2, given N >= 1, or as without H0/1. Features of degrees 0
        and 1 are zero columns: half, and three of four, for the geometric distribution with p = 2.
    h01_unscaled : bool, default False
        Whether H0/1 has exact columns x, not sqrt(a_1) x. The map is then biased by (1 - a_1) <x, y>.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    degrees_, n_factors_, scales_ : ndarray of shape (n_components,)
        The degree N of each random feature, its number of factors (0 for a zero column), and its scale.
    signs_ : ndarray of shape (sum(n_factors_), d)
        The sign vectors.

    Examples
    --------
    >>> from kfeat.kernels import Exponential
    >>> from kfeat.maps import RandomMaclaurin
    >>> X = [[0.6, 0.8], [0.8, 0.6]]
    >>> feature_map = RandomMaclaurin(Exponential(), n_components=1000, h01=True, random_state=0)
    >>> Z = feature_map.fit_transform(X)
    >>> Z.shape  # 1 + d + n_components
    (2, 1003)
    >>> bool(abs(Z @ Z.T - Exponential()(X)).max() < 0.5)  # the values of the kernel are 2.61 and 2.72
    True
    """

    facts = Facts(
        cost="d D E[N], N the degree drawn",
        variance="(sum_n a_n^2 m^n / P(n) - k^2) / D",
        source="Kar & Karnick 2012, Algorithm 1",
        use="dot-product kernels of short rows; degree_law proportional is best, a must for the Gaussian",
    )

    n_components: Components = 100
    degree_law: Literal["geometric", "truncated", "proportional"] = "geometric"
    base: Annotated[float, Gt(1), Lt(inf)] = 2.0
    h01: bool = False
    constant: bool = True
    h01_law: Literal["conditional", "nonconstant", "unconditional"] = "conditional"
    h01_unscaled: bool = False

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        return "H0/1 has x as columns, not sqrt(a_1) x" if self.h01 and self.h01_unscaled else ""

    def _draw(self, X: Any, rng: Generator) -> int:
        self._take_series(X)
        self._check_memory(f"{self.n_components:,} degrees", 64 * self.n_components)
        degrees, weights = self._random_degrees(rng, self.n_components, X, self._first_degree())
        self.degrees_, self.n_factors_, order = in_order(degrees, weights > 0)
        self.scales_ = np.sqrt(weights[order] / self.n_components)
        self._draw_signs(X, rng)
        return self._n_exact() + self.n_components

    def _take_series(self, X: Any) -> None:
        """Set exact_, the first two coefficients, and the offset if the constant is left out."""
        series_of(self.kernel_).check_rows(X)
        if isinstance(self.kernel_, Gaussian) and not self.constant:
            raise ParameterError(
                "constant=False leaves out a constant, but the Gaussian's term of degree 0 is not constant, "
                "it is exp(-gamma (||x||^2 + ||y||^2)): set constant=True"
            )
        self.exact_ = coefficients(self.kernel_, 2)
        if self.h01_unscaled:
            self.exact_[1] = 1.0
        if not self.constant:
            self.kernel_offset_, self.exact_[0] = float(self.exact_[0]), 0.0

    def _first_degree(self) -> int:
        return 2 if self.h01 else 0 if self.constant else 1

    def _exact_parts(self) -> tuple[bool, bool]:
        return self.h01 and self.constant, self.h01

    def _random_degrees(
        self, rng: Generator, n: int, X: Any, first: int, even: bool = False
    ) -> Degrees:  # fmt: skip
        """Return n degrees and their weights, which are 0 below `first`."""
        starts = {"conditional": first, "nonconstant": 1, "unconditional": 0}
        start = starts[self.h01_law] if self.h01 else first
        degrees, weights = self._draw_degrees(rng, n, X, start, even)
        return Degrees(degrees, np.where(degrees < first, 0.0, weights))

    def _draw_degrees(self, rng: Generator, n: int, X: Any, first: int, even: bool = False) -> Degrees:
        return draw_degrees(rng, self.degree_law, self.kernel_, n, X, self.base, first, even)


ROUNDING = 1e-12  # a remainder of the series below this share of its sum is a rounding error


@register("truncated_maclaurin")
class TruncatedMaclaurin(RandomMaclaurin):
    """Random Maclaurin features of the series up to degree k.

    z_i(x) = sqrt(a_N / (D P(N))) prod_{j <= N} <w_j, x> with N <= k: unbiased for sum_{n <= k} a_n <x, y>^n.
    The other terms are a bias. For rows of norms up to R it is at most sum_{n > k} a_n R^2n, and it is equal
    to this for x = y of norm R. The smallest k whose bias is allowed is chosen. No feature has more than k
    factors, and

    Var <z(x), z(y)> = (sum_{n <= k} a_n^2 m^n / P(n) - (sum_{n <= k} a_n <x, y>^n)^2) / D,
    m = E[(<w, x> <w, y>)^2] = ||x||^2 ||y||^2 + 2 <x, y>^2 - 2 sum_i x_i^2 y_i^2,

    is finite. For an infinite series, such as that of 1 / (1 - <x, y>), it is infinite if base m >= 1.

    The paper's text has no constants; it refers to its supplement, which was not available.

    Parameters
    ----------
    kernel : any dot-product kernel, default (1 + <x, y>)^2
    n_components : int, default 100
        The number D of random features.
    degree_law : {"truncated", "proportional"}, default "truncated"
        The distribution of the degrees N <= k that have a term: "truncated" in proportion to p^-(N + 1) with
        p = base, "proportional" to a_N mean(||x||^2N) on the data.
    base, h01, constant, h01_law, h01_unscaled : as in RandomMaclaurin
        The geometric distribution's p, exact columns for degrees 0 and 1, whether degree 0 is included, and
        the distribution of the degrees and the factor of x with H0/1.
    allowed_error : float, default 0.01
        The largest absolute bias |k(x, y) - sum_{n <= k} a_n <x, y>^n| over rows of norms up to the radius.
    max_degree : int, optional
        The degree k itself, instead of an allowed error.
    radius : float, optional
        The radius R; None: the largest norm of a row in `fit`.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    max_degree_ : int
        The degree k.
    radius_, truncation_error_ : float
        The radius, and the largest bias on rows of norms up to it.
    truncated_kernel_ : TruncatedSeries
        The kernel sum_{n <= k} a_n <x, y>^n; `kernel_` is the whole kernel.

    Examples
    --------
    >>> from kfeat.kernels import Exponential
    >>> from kfeat.maps import TruncatedMaclaurin
    >>> X = [[0.6, 0.8], [0.8, 0.6]]
    >>> feature_map = TruncatedMaclaurin(Exponential(), allowed_error=0.01, random_state=0).fit(X)
    >>> feature_map.max_degree_, round(feature_map.truncation_error_, 5)  # 1 / 5! + 1 / 6! + ...
    (4, 0.00995)
    """

    facts = Facts(
        cost="d D E[N], N <= K the degree drawn",
        variance="(sum_{n <= K} a_n^2 m^n / P(n) - k_K^2) / D; bias <= sum_{n > K} a_n R^2n",
        source="Kar & Karnick 2012, section 4.2",
        use="infinite series, whose rare high degrees cost time and variance, where a bias is allowed",
    )
    approximates = DotProductKernel

    degree_law: Literal["truncated", "proportional"] = "truncated"
    allowed_error: Annotated[float, Gt(0), Lt(inf)] = 0.01
    max_degree: Annotated[int, Ge(0), Le(MAX_DEGREE)] | None = None
    radius: Positive | None = None

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        return "terms of high degree are left out"

    def learnt_parameters(self) -> dict[str, float]:
        """Return the degree, if the allowed error determined it."""
        return {"max_degree": self.max_degree_} if self.max_degree is None else {}

    def _draw(self, X: Any, rng: Generator) -> int:
        self.kernel_.check_rows(X)
        largest = float(np.sqrt(squared_norms(X).max()))
        self.radius_ = largest if self.radius is None else float(self.radius)
        rests = remainders(self.kernel_, self.radius_)
        self.max_degree_ = self._choose_degree(rests) if self.max_degree is None else self.max_degree
        self.truncation_error_ = float(rests[min(self.max_degree_, len(rests) - 1)])
        self.truncated_kernel_ = TruncatedSeries(self.kernel_, self.max_degree_)
        return super()._draw(X, rng)

    def _choose_degree(self, rests: Array) -> int:
        """Return the smallest degree whose bias is allowed and that has at least one term to sample."""
        within = rests <= self.allowed_error
        if not within.any():
            raise ParameterError(
                f"TruncatedMaclaurin: the series of {self.kernel_!r} up to degree {len(rests) - 1:,} has an "
                f"error of {rests[-1]:.3g} at radius {self.radius_:g}, more than allowed_error="
                f"{self.allowed_error:g}: allow more, scale the rows down, or give max_degree"
            )
        a = coefficients(self.kernel_, len(rests))
        sampled = np.flatnonzero(a[self._first_degree() :]) + self._first_degree()
        return max(int(np.argmax(within)), int(sampled[0]) if sampled.size else 0)

    def _draw_degrees(self, rng: Generator, n: int, X: Any, first: int, even: bool = False) -> Degrees:
        return draw_degrees(rng, self.degree_law, self.truncated_kernel_, n, X, self.base, first, even)


class TruncatedSeries(DotProductKernel):
    """The kernel sum_{n <= degree} a_n <x, y>^n of another dot-product kernel's coefficients a_n.

    Examples
    --------
    >>> from kfeat.kernels import Exponential
    >>> from kfeat.maps.random_maclaurin import TruncatedSeries
    >>> TruncatedSeries(Exponential(), degree=2)([[1.0, 1.0]], [[1.0, 1.0]])
    array([[5.]])
    """

    def __init__(self, whole: DotProductKernel, degree: int) -> None:
        self.whole = whole
        self.degree = degree

    @property
    def formula(self) -> str:
        """The whole kernel's formula, and the last degree of the truncated series."""
        return f"{self.whole.formula} up to degree {self.degree}"

    @property
    def last_degree(self) -> int:
        """The last degree of the truncated series, or that of the whole series if it is smaller."""
        end = self.whole.last_degree
        return self.degree if end is None else min(self.degree, end)

    def maclaurin(self, n_terms: int) -> Array:
        """Return the whole kernel's coefficients, and 0 beyond the degree."""
        return np.where(np.arange(n_terms) <= self.degree, self.whole.maclaurin(n_terms), 0.0)

    def _f(self, t: Array) -> Array:
        total = np.zeros_like(t)
        for a in coefficients(self, self.last_degree + 1)[::-1]:
            total *= t
            total += t.dtype.type(a)
        return total


def remainders(kernel: DotProductKernel, radius: float) -> Array:
    """Return for k = 0, 1, ... the largest |f(t) - sum_{n <= k} a_n t^n| over |t| <= radius^2.

    It is sum_{n > k} a_n radius^2n, since no a_n is negative. Raises UnsupportedKernelError if f is not
    finite.
    """
    t = radius**2
    value = value_at(kernel, t)
    if not np.isfinite(value):
        raise UnsupportedKernelError(
            f"the series of {kernel!r} has no finite value in double precision at <x, y> = {t:g}: scale the "
            "rows down"
        )
    sizes = series_terms(kernel, t)
    beyond = value - sizes.sum()
    tails = np.cumsum(sizes[::-1])[::-1] - sizes
    return tails + (beyond if beyond > ROUNDING * value else 0.0)


def series_terms(kernel: DotProductKernel, t: float) -> Array:
    """Return a_n t^n, n = 0, 1, ..., to the end of the series or to degree MAX_DEGREE, for t >= 0."""
    a = terms(kernel, MAX_DEGREE)
    n = np.arange(len(a))
    with np.errstate(divide="ignore", over="ignore"):  # in logarithms, since powers overflow
        logs = np.log(a) + n * np.log(t) if t > 0 else np.where(n == 0, np.log(a), -np.inf)
        return np.exp(logs)


def value_at(kernel: DotProductKernel, t: float) -> float:
    """Return f(t), t >= 0; infinity if the series does not converge."""
    with np.errstate(all="ignore"):
        return float(kernel._f(np.array([float(t)]))[0]) if t < kernel.radius else inf
