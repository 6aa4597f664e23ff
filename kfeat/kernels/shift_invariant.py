"""Shift-invariant kernels k(x - y) and their spectra: a kernel is the Fourier transform of its spectrum."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from sklearn.base import clone

from kfeat.errors import DataError, ParameterError
from kfeat.kernels.base import Kernel, Positive, number
from kfeat.kernels.distances import (
    BandwidthRule,
    bandwidth,
    centre_of,
    dense_if_quicker,
    euclidean_bandwidth,
    exact_distances,
    manhattan_distances,
    sampled,
    squared_distances,
    squared_norms,
)
from kfeat.kernels.operands import as_operand

# Largest gamma ||y||^2 for which the rounding of a float32 distance changes a kernel value by at most 1e-4.
FLOAT32_REACH = 256.0
# Below 0.25 the largest frequencies overflow single precision; at 100 the Gaussian kernel is within 0.0025.
Smoothness = Annotated[float, Ge(0.25), Le(100)]
FAR = 1e4  # exp(-s) is 0 for smaller s already; from 1e9 on SciPy's Bessel function fails


@dataclass(eq=False, repr=False)
class ShiftInvariantKernel(Kernel):
    """A kernel of x - y alone with k(x, x) = 1 (Bochner's theorem).

    Its width is gamma, a number or a heuristic's name, or in its place the bandwidth sigma.
    """

    gamma: Positive | BandwidthRule = 1.0
    bandwidth: Positive | None = field(default=None, kw_only=True)
    learns = "gamma"
    template_of_sigma: ClassVar[str]  # the same, where the bandwidth is given

    @staticmethod
    def gamma_of(sigma: float) -> float:
        """Return the gamma of a bandwidth: 1 / (2 sigma^2) of a kernel of squared distances."""
        return float(1 / (2 * np.square(sigma)))

    def check(self) -> None:
        """Raise ParameterError for a parameter that is not valid, or for both gamma and a bandwidth."""
        super().check()
        if self.bandwidth is not None and self.gamma != 1:
            raise ParameterError(f"gamma and bandwidth: expected one of them, got both in {self!r}")

    @property
    def numeric_gamma(self) -> float:
        """Gamma as a number, of a bandwidth too; raises UnsupportedKernelError for a heuristic's name."""
        return number(self, "gamma") if self.bandwidth is None else self.gamma_of(self.bandwidth)

    def _template(self) -> str:
        return self.template if self.bandwidth is None else self.template_of_sigma

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return this kernel with gamma as a number: that of the bandwidth, or learnt on X."""
        if self.bandwidth is None:
            return super().resolve(X, random_state)
        self.check()
        resolved: Self = clone(self).set_params(gamma=self.numeric_gamma, bandwidth=None)
        return resolved

    @abstractmethod
    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return frequencies drawn from the kernel's spectrum, shape (d, number of frequencies)."""

    @abstractmethod
    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the frequencies at points of the open unit cube, shape (d, number of frequencies).

        U has shape (number of frequencies, n_uniforms(d)). Inverse distribution functions map uniform points
        to frequencies with the kernel's spectrum as their distribution.
        """

    def n_uniforms(self, d: int) -> int:
        """Return the number of coordinates of U for a frequency in d dimensions."""
        return d

    def _learnt(self, X: Any, rule: str, random_state: Any) -> float:
        return self.gamma_of(euclidean_bandwidth(X, rule, random_state))

    def _diagonal(self, X: Any) -> NDArray[Any]:
        return np.ones(X.shape[0], dtype=X.dtype)


class Gaussian(ShiftInvariantKernel):
    """The Gaussian kernel exp(-gamma ||x - y||^2).

    Parameters
    ----------
    gamma : float or {"mean_distance", "median"}, default 1.0
        A number above 0, or the heuristic that `resolve` replaces by 1 / (2 bandwidth^2), where the bandwidth
        is the mean or the median distance between rows of the data.
    bandwidth : float, optional
        sigma, in the place of gamma, which is then 1 / (2 sigma^2).

    Examples
    --------
    >>> from kfeat.kernels import Gaussian
    >>> Gaussian(gamma="median").resolve([[0.0, 0.0], [0.0, 2.0]])
    Gaussian(gamma=0.125)
    >>> Gaussian(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    template = "exp(-gamma ||x - y||^2), gamma = {gamma}"
    template_of_sigma = "exp(-||x - y||^2 / (2 sigma^2)), sigma = {bandwidth}"

    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return samples of N(0, 2 gamma) (Rahimi & Recht 2007, Figure 1)."""
        return rng.standard_normal(shape) * np.sqrt(2 * self.numeric_gamma)

    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sqrt(2 gamma) times the normal quantiles of each coordinate of U."""
        return np.ascontiguousarray(special.ndtri(U).T) * np.sqrt(2 * self.numeric_gamma)

    def against(self, Y: Any) -> Callable[[Any], NDArray[Any]]:
        """Return the function X -> k(X, Y) = exp(2 gamma <x, y> - gamma ||x||^2 - gamma ||y||^2).

        As in `squared_distances`, `centre_of(Y)` is subtracted from dense rows.
        """
        self.check()
        gamma, Y = self.numeric_gamma, dense_if_quicker(as_operand(Y))
        if Y.dtype == np.float32 and gamma * squared_norms(Y).max(initial=0) > FLOAT32_REACH:
            return super().against(Y)

        @cache
        def prepared(sparse: bool) -> tuple[Any, Any, Any]:
            rows = Y if sparse or not issparse(Y) else Y.toarray()
            centre = np.zeros(Y.shape[1], Y.dtype) if sparse else centre_of(rows)
            rows = rows if sparse else rows - centre
            factor = (rows * Y.dtype.type(2 * gamma)).T
            return centre, factor.tocsr() if issparse(rows) else factor.copy(), -gamma * squared_norms(rows)

        def values(X: Any) -> NDArray[Any]:
            centre, factor, norms = prepared(issparse(X))
            X = X if issparse(X) else X - centre
            product = X @ factor
            K: NDArray[Any] = product.toarray() if issparse(product) else product
            K += (-gamma * squared_norms(X))[:, None]
            K += norms
            return np.exp(np.minimum(K, 0, out=K), out=K)

        return values

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        gamma = self.numeric_gamma
        dtype = np.result_type(X.dtype, Y.dtype)
        # This depends only on Y, so that a row's values do not depend on other rows of X. If ||x|| is much
        # larger than ||y||, the kernel is 0 despite rounding.
        if dtype == np.float32 and gamma * squared_norms(Y).max(initial=0) > FLOAT32_REACH:
            X, Y = X.astype(np.float64), Y.astype(np.float64)
        squares = squared_distances(X, Y)
        squares *= -gamma
        return np.exp(squares, out=squares).astype(dtype, copy=False)


class Laplacian(ShiftInvariantKernel):
    """The Laplacian kernel exp(-gamma ||x - y||_1).

    Parameters
    ----------
    gamma : float or {"mean_distance", "median"}, default 1.0
        A number above 0, or the heuristic that `resolve` replaces by 1 / bandwidth, where the bandwidth is
        the mean or the median distance between rows of the data in the 1-norm.
    bandwidth : float, optional
        sigma, in the place of gamma, which is then 1 / sigma.

    Examples
    --------
    >>> from kfeat.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    template = "exp(-gamma ||x - y||_1), gamma = {gamma}"
    template_of_sigma = "exp(-||x - y||_1 / sigma), sigma = {bandwidth}"

    @staticmethod
    def gamma_of(sigma: float) -> float:
        """Return 1 / sigma: the kernel is exp(-||x - y||_1 / sigma)."""
        return 1 / sigma

    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return samples of the Cauchy distribution with scale gamma (Rahimi & Recht 2007, Figure 1)."""
        return rng.standard_cauchy(shape) * self.numeric_gamma

    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return gamma times the Cauchy quantiles tan(pi (u - 1/2)) of each coordinate u of U."""
        return np.ascontiguousarray(np.tan(np.pi * (U - 0.5)).T) * self.numeric_gamma

    def sample_bin_widths(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return samples of Gamma(2, 1 / gamma), the distribution of the widths of a random grid.

        A grid of width w with a uniform shift puts x and y into one bin with probability
        max(0, 1 - |x - y| / w). Its mean over the widths is the factor k of the kernel in one dimension if
        the widths have the density w k''(w), here gamma^2 w exp(-gamma w) (Rahimi & Recht 2007, section 4).
        """
        return rng.gamma(2.0, 1 / self.numeric_gamma, shape)

    def _learnt(self, X: Any, rule: str, random_state: Any) -> float:
        A = sampled(X, random_state)
        return self.gamma_of(bandwidth(manhattan_distances(A, A), rule))

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        if any(issparse(rows) and rows.indices.dtype != np.int32 for rows in (X, Y)):
            raise DataError(f"Laplacian: expected sparse rows of less than 2^31 features, got {X.shape[1]:,}")
        distances = manhattan_distances(X, Y)  # in float64
        distances *= -self.numeric_gamma
        return np.exp(distances, out=distances).astype(np.result_type(X.dtype, Y.dtype), copy=False)


@dataclass(eq=False, repr=False)
class Matern(ShiftInvariantKernel):
    """The Matern kernel 2^(1 - nu) / Gamma(nu) s^nu K_nu(s), s = 2 sqrt(nu gamma) ||x - y||.

    K_nu is the modified Bessel function. The kernel is exp(-s) at nu = 1/2, (1 + s) exp(-s) at 3/2 and
    (1 + s + s^2 / 3) exp(-s) at 5/2, and tends to the Gaussian kernel of the same gamma as nu grows. The
    length scale l of Rasmussen & Williams (2006, 4.14) and scikit-learn is 1 / sqrt(2 gamma). The spectrum is
    the multivariate t distribution with 2 nu degrees of freedom: N(0, 2 gamma I) over the square root of
    chi-square / (2 nu).

    Parameters
    ----------
    gamma : float or {"mean_distance", "median"}, default 1.0
        A number above 0, or the heuristic that `resolve` replaces by 1 / (2 bandwidth^2), where the bandwidth
        is the mean or the median distance between rows of the data.
    nu : float, default 1.5
        The smoothness, from 0.25 to 100: a Gaussian process with this covariance has ceil(nu) - 1
        derivatives. 1/2, 3/2 and 5/2 are about 25 times faster than others, which need the Bessel function.
    bandwidth : float, optional
        sigma, in the place of gamma, which is then 1 / (2 sigma^2).

    Examples
    --------
    >>> from kfeat.kernels import Matern
    >>> Matern(gamma=0.5, nu=0.5)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    nu: Smoothness = 1.5

    template = "Matern(||x - y||), nu = {nu}, gamma = {gamma}"
    template_of_sigma = "Matern(||x - y||), nu = {nu}, sigma = {bandwidth}"

    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return samples of N(0, 2 gamma I), each over the root of its own chi-square / (2 nu)."""
        normal = rng.standard_normal(shape)
        return self._scaled(normal, rng.standard_gamma(self.nu, shape[1]))

    def n_uniforms(self, d: int) -> int:
        """Return d + 1: the last coordinate is for the chi-square."""
        return d + 1

    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the normal quantiles of the first d coordinates, scaled by the chi-square of the last."""
        return self._scaled(
            np.ascontiguousarray(special.ndtri(U[:, :-1]).T), special.gammaincinv(self.nu, U[:, -1])
        )

    def _scaled(self, normal: NDArray[np.float64], half_chi2: NDArray[np.float64]) -> NDArray[np.float64]:
        return normal * np.sqrt(2 * self.numeric_gamma * self.nu / half_chi2)

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        # In double precision, since the square root magnifies the rounding of squared distances near 0.
        same, dtype = X is Y, np.result_type(X.dtype, Y.dtype)
        Y = Y.astype(np.float64, copy=False)
        X = Y if same else X.astype(np.float64, copy=False)
        s = exact_distances(X, Y)
        s *= 2 * np.sqrt(self.nu * self.numeric_gamma)
        return self._profile(s).astype(dtype, copy=False)

    def _profile(self, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel at the scaled distances s."""
        if self.nu in (0.5, 1.5, 2.5):
            decay = np.exp(-s)
            if self.nu == 0.5:
                return decay
            decay *= 1 + s if self.nu == 1.5 else 1 + s * (1 + s / 3)
            return decay
        return bessel_profile(s, self.nu)


def bessel_profile(s: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    """Return 2^(1 - nu) / Gamma(nu) s^nu K_nu(s), by logarithms, since the factors overflow.

    If K_nu itself overflows, s is so small that the first terms of the series in s^2 are exact.
    """
    s = np.minimum(s, FAR)
    with np.errstate(all="ignore"):
        bessel = special.kve(nu, s)  # K_nu(s) exp(s)
        values: NDArray[np.float64] = np.log(bessel)
        values += nu * np.log(s) - s + ((1 - nu) * np.log(2) - special.gammaln(nu))
        np.exp(values, out=values)
    small = np.isinf(bessel)
    t = s[small] ** 2 / 4
    values[small] = 1 - t / (nu - 1) * (1 - t / (2 * (nu - 2))) if nu > 2 else 1.0
    return np.minimum(values, 1, out=values)
