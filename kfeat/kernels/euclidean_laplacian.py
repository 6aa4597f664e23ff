"""The Laplacian kernel of the Euclidean distance, which papers also call exponential or Laplace kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kfeat.kernels.distances import exact_distances
from kfeat.kernels.shift_invariant import ShiftInvariantKernel


@dataclass(eq=False, repr=False)
class EuclideanLaplacian(ShiftInvariantKernel):
    """The isotropic Laplacian kernel exp(-gamma ||x - y||_2), the Matern kernel of nu = 1/2.

    It is called exponential kernel, Laplace kernel, and in one dimension kernel of Ornstein and Uhlenbeck;
    `laplacian` is that of the 1-norm. Its spectrum is the multivariate Cauchy distribution of scale gamma:
    N(0, gamma^2 I) over the absolute value of a standard normal number (Rasmussen & Williams 2006, 4.2.1).

    Parameters
    ----------
    gamma : float or {"mean_distance", "median"}, default 1.0
        A number above 0, or the heuristic that `resolve` replaces by 1 / bandwidth, where the bandwidth is
        the mean or the median distance between rows of the data.
    bandwidth : float, optional
        sigma, in the place of gamma, which is then 1 / sigma.

    Examples
    --------
    >>> from kfeat.kernels import EuclideanLaplacian
    >>> EuclideanLaplacian(bandwidth=2.0)([[0.0, 0.0]], [[0.0, 0.0], [1.2, 1.6]]).round(3)
    array([[1.   , 0.368]])
    """

    template = "exp(-gamma ||x - y||), gamma = {gamma}"
    template_of_sigma = "exp(-||x - y|| / sigma), sigma = {bandwidth}"

    @staticmethod
    def gamma_of(sigma: float) -> float:
        """Return 1 / sigma: the kernel is exp(-||x - y|| / sigma)."""
        return 1 / sigma

    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return samples of N(0, gamma^2 I), each over the size of its own standard normal number."""
        normal = rng.standard_normal(shape)
        return normal * (self.numeric_gamma / np.abs(rng.standard_normal(shape[1])))

    def n_uniforms(self, d: int) -> int:
        """Return d + 1: the last coordinate is for the divisor."""
        return d + 1

    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the normal quantiles of the first d coordinates over the half-normal one of the last."""
        normal, divisor = special.ndtri(U[:, :-1]).T, np.sqrt(2 * special.gammaincinv(0.5, U[:, -1]))
        return np.ascontiguousarray(normal) * (self.numeric_gamma / divisor)

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        # In double precision, since the square root magnifies the rounding of squared distances near 0.
        same, dtype = X is Y, np.result_type(X.dtype, Y.dtype)
        Y = Y.astype(np.float64, copy=False)
        distances = exact_distances(Y if same else X.astype(np.float64, copy=False), Y)
        distances *= -self.numeric_gamma
        return np.exp(distances, out=distances).astype(dtype, copy=False)
