"""Dot-product kernels k(x, y) = f(<x, y>), f(t) = sum_n a_n t^n (Schoenberg 1942; Kar & Karnick 2012, 3)."""

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray
from scipy import special

from kfeat.errors import DataError, UnsupportedKernelError
from kfeat.kernels.base import Kernel, Positive, number
from kfeat.kernels.distances import BandwidthRule, euclidean_bandwidth, inner_products, squared_norms
from kfeat.parameters import Degree

MOST_TERMS = 4097  # of an infinite series whose signs are checked


class DotProductKernel(Kernel):
    """A kernel of the inner product alone; subclasses define f, its coefficients and its last degree."""

    never_negative: ClassVar[bool] = False  # whether no valid parameters make a coefficient negative

    radius: ClassVar[float] = inf  # radius of convergence of the series in t = <x, y>

    @property
    def last_degree(self) -> int | None:
        """The largest n with a_n != 0, or None for an infinite series."""
        return None

    @abstractmethod
    def maclaurin(self, n_terms: int) -> NDArray[np.float64]:
        """Return the coefficients a_0 .. a_{n_terms - 1}."""

    @abstractmethod
    def _f(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return f(t); t may be overwritten."""

    def check(self) -> None:
        """Raise ParameterError for a parameter, UnsupportedKernelError for a negative coefficient a_n.

        With a_n < 0 the kernel is not positive definite in every dimension (Kar & Karnick 2012, Theorem 1).
        """
        super().check()
        if self.never_negative:
            return
        if self.learns and isinstance(getattr(self, self.learns), str):
            return  # the series is known when the heuristic is a number
        with np.errstate(all="ignore"):  # infinite coefficients
            a = self.maclaurin(MOST_TERMS if self.last_degree is None else self.last_degree + 1)
        if (a < 0).any():
            n = int(np.argmax(a < 0))
            raise UnsupportedKernelError(
                f"{self!r} has the negative Maclaurin coefficient a_{n} = {a[n]:g}, so it is not positive "
                "definite in every dimension (Kar & Karnick 2012, Theorem 1): take another kernel"
            )

    def _diagonal(self, X: Any) -> NDArray[Any]:
        t = squared_norms(X)
        self.check_radius(t)
        return self._f(t)

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        t = inner_products(X, Y)
        self.check_radius(t)
        return self._f(t)

    def check_rows(self, X: Any) -> None:
        """Raise DataError if the series does not converge at some <X[i], X[i]>, so that a row is too long."""
        if self.radius < inf:
            self.check_radius(squared_norms(X))

    def check_radius(self, t: NDArray[Any]) -> None:
        """Raise DataError if the series of f does not converge at an inner product in t."""
        if self.radius < inf and t.size and not (largest := np.abs(t).max()) < self.radius:
            raise DataError(
                f"{type(self).__name__} needs |<x, y>| < {self.radius:g}, got {largest:.6g}: "
                "scale the rows to norms below 1 first"
            )


class Linear(DotProductKernel):
    """The linear kernel <x, y>.

    Examples
    --------
    >>> from kfeat.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 1.0]])
    array([[5.]])
    """

    never_negative = True
    formula = "<x, y>"
    last_degree = 1

    def maclaurin(self, n_terms: int) -> NDArray[np.float64]:
        """Return 0, 1, 0, 0, ... (n_terms numbers)."""
        return (np.arange(n_terms) == 1).astype(np.float64)

    def _f(self, t: NDArray[Any]) -> NDArray[Any]:
        return t


@dataclass(eq=False, repr=False)
class Polynomial(DotProductKernel):
    """The polynomial kernel (gamma <x, y> + coef0)^degree.

    Parameters
    ----------
    degree : int, default 2
        The exponent, at least 1.
    gamma : float, default 1.0
        The factor of the inner product, above 0.
    coef0 : float, default 0.0
        The constant, at least 0; with 0 the kernel is homogeneous.

    Examples
    --------
    >>> from kfeat.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, coef0=1.0)
    >>> kernel.formula
    '(1 + <x, y>)^2'
    >>> kernel([[1.0, 2.0]], [[3.0, 1.0]])
    array([[36.]])
    >>> kernel.maclaurin(4)
    array([1., 2., 1., 0.])
    """

    never_negative = True
    degree: Degree = 2
    gamma: Positive = 1.0
    coef0: Annotated[float, Ge(0), Lt(inf)] = 0.0

    @property
    def formula(self) -> str:
        """The kernel as tables and figures show it, such as (1 + <x, y>)^4."""
        inner = "<x, y>" if self.gamma == 1 else f"{self.gamma:g} <x, y>"
        base = inner if self.coef0 == 0 else f"{self.coef0:g} + {inner}"
        if self.degree == 1:
            return base
        return f"{base}^{self.degree}" if base == "<x, y>" else f"({base})^{self.degree}"

    @property
    def last_degree(self) -> int:
        """The series ends with t^degree."""
        return self.degree

    def maclaurin(self, n_terms: int) -> NDArray[np.float64]:
        """Return a_n = C(degree, n) gamma^n coef0^(degree - n)."""
        p, n = self.degree, np.arange(min(n_terms, self.degree + 1))
        with np.errstate(over="ignore", invalid="ignore"):  # infinite coefficients are handled below
            a = special.comb(p, n) * float(self.gamma) ** n * float(self.coef0) ** (p - n)
            if not np.isfinite(a).all():  # a factor overflowed, but the product may be finite
                logs = special.gammaln(p + 1) - special.gammaln(n + 1) - special.gammaln(p - n + 1)
                logs += special.xlogy(n, self.gamma) + special.xlogy(p - n, self.coef0)
                a = np.where(np.isfinite(a), a, np.exp(logs))
        return np.concatenate([a, np.zeros(n_terms - len(n))])

    def _f(self, t: NDArray[Any]) -> NDArray[Any]:
        t *= self.gamma
        t += self.coef0
        return power(t, self.degree)


@dataclass(eq=False, repr=False)
class Exponential(DotProductKernel):
    """The exponential dot-product kernel exp(<x, y> / sigma^2).

    Parameters
    ----------
    sigma : float or {"mean_distance", "median"}, default 1.0
        The bandwidth, above 0, or the heuristic that `resolve` replaces by a number: the mean or the median
        distance between rows of the data.

    Examples
    --------
    >>> from kfeat.kernels import Exponential
    >>> Exponential(sigma="mean_distance").resolve([[0.0, 0.0], [0.0, 2.0]])
    Exponential(sigma=2.0)
    >>> Exponential(sigma=2.0)([[1.0, 1.0]], [[1.0, -1.0]])
    array([[1.]])
    """

    never_negative = True
    sigma: Positive | BandwidthRule = 1.0
    learns = "sigma"

    template = "exp(<x, y> / sigma^2), sigma = {sigma}"

    def _learnt(self, X: Any, rule: str, random_state: Any) -> float:
        return euclidean_bandwidth(X, rule, random_state)

    def maclaurin(self, n_terms: int) -> NDArray[np.float64]:
        """Return a_n = 1 / (n! sigma^(2n))."""
        n = np.arange(n_terms)
        return np.exp(-special.gammaln(n + 1) - 2 * n * np.log(number(self, "sigma")))

    def _f(self, t: NDArray[Any]) -> NDArray[Any]:
        t /= np.float64(number(self, "sigma")) ** 2  # NumPy's float may overflow; Python's would raise
        return np.exp(t, out=t)


@dataclass(eq=False, repr=False)
class VovkReal(DotProductKernel):
    """Vovk's real polynomial kernel (1 - <x, y>^degree) / (1 - <x, y>) = sum_{n < degree} <x, y>^n.

    Parameters
    ----------
    degree : int, default 2
        The number of terms of the sum, at least 1.

    Examples
    --------
    >>> from kfeat.kernels import VovkReal
    >>> VovkReal(degree=3)([[1.0, 1.0]], [[1.0, 1.0]])
    array([[7.]])
    """

    never_negative = True
    degree: Degree = 2

    template = "(1 - <x, y>^{degree}) / (1 - <x, y>)"

    @property
    def last_degree(self) -> int:
        """The series ends with t^(degree - 1)."""
        return self.degree - 1

    def maclaurin(self, n_terms: int) -> NDArray[np.float64]:
        """Return a_n = 1 for n < degree, and 0 for larger n."""
        return (np.arange(n_terms) < self.degree).astype(np.float64)

    def _f(self, t: NDArray[Any]) -> NDArray[Any]:
        # Horner's rule, since the closed form cancels near t = 1.
        total = np.ones_like(t)
        for _ in range(self.degree - 1):
            total *= t
            total += 1
        return total


class VovkInfinite(DotProductKernel):
    """Vovk's infinite polynomial kernel 1 / (1 - <x, y>), for |<x, y>| < 1.

    Examples
    --------
    >>> from kfeat.kernels import VovkInfinite
    >>> VovkInfinite()([[0.5, 0.0]], [[0.5, 0.5], [0.0, 0.5]]).round(3)
    array([[1.333, 1.   ]])
    """

    never_negative = True
    formula = "1 / (1 - <x, y>)"
    radius: ClassVar[float] = 1.0

    def maclaurin(self, n_terms: int) -> NDArray[np.float64]:
        """Return a_n = 1."""
        return np.ones(n_terms)

    def _f(self, t: NDArray[Any]) -> NDArray[Any]:
        np.subtract(1, t, out=t)
        return np.reciprocal(t, out=t)


def power(t: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Return t^exponent by repeated squaring in place, which is faster than the general power."""
    if exponent == 1:
        return t
    odd = t.copy() if exponent % 2 else None
    np.multiply(t, t, out=t)
    t = power(t, exponent // 2)
    return t if odd is None else np.multiply(t, odd, out=t)
