"""The Matern kernel: between the exponential of the distance and the Gaussian, smoother as nu grows."""

from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from scipy import special

from kfeat.kernels.bandwidths import (
    BandwidthRule,
    euclidean_bandwidth,
    exact_distances,
    in_words,
    number,
)
from kfeat.kernels.base import Positive
from kfeat.kernels.shift_invariant import ShiftInvariantKernel

# Below a quarter the largest frequencies overflow single precision; at 100 the Gaussian is within 0.0025.
Smoothness = Annotated[float, Ge(0.25), Le(100)]
FAR = 1e4  # exp(-s) is 0 long before; from 1e9 on SciPy's Bessel function gives up


class Matern(ShiftInvariantKernel):
    """The Matern kernel 2^(1 - nu) / Gamma(nu) s^nu K_nu(s), s = 2 sqrt(nu gamma) ||x - y||.

    K_nu is the modified Bessel function: exp(-s) at nu = 1/2, (1 + s) exp(-s) at 3/2, (1 + s + s^2 / 3)
    exp(-s) at 5/2, and the Gaussian kernel of the same gamma as nu grows. The length scale l of Rasmussen &
    Williams (2006, 4.14) and scikit-learn is 1 / sqrt(2 gamma). Its spectrum is the multivariate t
    distribution with 2 nu degrees of freedom: N(0, 2 gamma I) over the square root of chi-square / (2 nu).

    Parameters
    ----------
    gamma : float or {"mean_distance", "median"}, default 1.0
        A number above 0, or the heuristic that `resolve` replaces by 1 / (2 bandwidth^2), where the bandwidth
        is the mean or the median distance between rows of the data.
    nu : float, default 1.5
        The smoothness, from 0.25 to 100: a Gaussian process with this covariance has ceil(nu) - 1
        derivatives. 1/2, 3/2 and 5/2 are quick; the Bessel function of any other costs some 25 times as much.

    Examples
    --------
    >>> from kfeat.kernels import Matern
    >>> Matern(gamma=0.5, nu=0.5)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    def __init__(self, gamma: Positive | BandwidthRule = 1.0, nu: Smoothness = 1.5) -> None:
        self.gamma = gamma
        self.nu = nu

    @property
    def formula(self) -> str:
        """The kernel as tables and figures print it."""
        return f"Matern(||x - y||), nu = {self.nu:g}, gamma = {in_words(self.gamma)}"

    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return draws of N(0, 2 gamma I), each over the root of its own chi-square / (2 nu)."""
        normal = rng.standard_normal(shape)
        return self._scaled(normal, rng.standard_gamma(self.nu, shape[1]))

    def n_uniforms(self, d: int) -> int:
        """Return d + 1: the last one is the chi-square's."""
        return d + 1

    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the normal quantiles of the first d coordinates over the chi-square's of the last."""
        return self._scaled(
            np.ascontiguousarray(special.ndtri(U[:, :-1]).T), special.gammaincinv(self.nu, U[:, -1])
        )

    def _scaled(self, normal: NDArray[np.float64], half_chi2: NDArray[np.float64]) -> NDArray[np.float64]:
        return normal * np.sqrt(2 * number(self, "gamma") * self.nu / half_chi2)

    def _gamma_learnt(self, X: Any, rule: str, random_state: Any) -> float:
        return float(1 / (2 * euclidean_bandwidth(X, rule, random_state) ** 2))

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        # In double precision: near 0 the square root magnifies the rounding of the squared distance.
        same, dtype = X is Y, np.result_type(X.dtype, Y.dtype)
        Y = Y.astype(np.float64, copy=False)
        X = Y if same else X.astype(np.float64, copy=False)
        s = exact_distances(X, Y)
        s *= 2 * np.sqrt(self.nu * number(self, "gamma"))
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

    Where K_nu itself does, s is so small that the first terms of the series in s^2 are exact.
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
