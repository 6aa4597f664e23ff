"""Optimised Maclaurin: columns allotted to degrees by their variance (Wacker, Kanagawa & Filippone 2022)."""

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from kfeat.errors import ParameterError
from kfeat.maps.base import Array, BlockMapper, Facts, register
from kfeat.maps.complex_maclaurin import ComplexProducts
from kfeat.maps.random_maclaurin import MaclaurinProducts
from kfeat.maps.series import SampledPairs, sampled_pairs, series_of, terms
from kfeat.parameters import Components

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
        n_columns = self._n_exact() + width * len(degrees)
        if not n_columns:
            raise ParameterError(
                f"OptimisedMaclaurin: n_components: expected {width} or more for {self.signs}"
            )
        return n_columns

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        products = ComplexProducts if self.signs == "complex" else MaclaurinProducts
        return products._block_mapper(self, dtype)


def best_plan(a: Array, pairs: SampledPairs, n_columns: int, d: int, signs: str) -> Plan:
    """Return the plan of least squared error for series a, n_columns without the constant, and d features.

    It tries every last degree K until the omitted terms do not matter, with degree 1 exact and random.
    """
    variances, biases = degree_errors(a, pairs, signs)
    width = 2 if signs == "complex" else 1
    none = np.zeros(0, np.int64)
    best = Plan(False, none, none, float(biases[0]), float(biases[0]))
    for linear in (False, True):
        n_products = (n_columns - d * linear) // width
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
