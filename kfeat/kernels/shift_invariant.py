"""Shift-invariant kernels k(x - y), and the spectra they are Fourier transforms of (Bochner's theorem)."""

from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from sklearn import metrics
from sklearn.base import clone

from kfeat.errors import DataError
from kfeat.kernels.bandwidths import (
    BandwidthRule,
    centre_of,
    euclidean_bandwidth,
    in_words,
    manhattan_bandwidth,
    number,
    squared_distances,
)
from kfeat.kernels.base import Kernel, Positive, dense_if_quicker, squared_norms
from kfeat.kernels.forks import openmp_for_forks
from kfeat.kernels.operands import as_operand

# Largest gamma ||y||^2 for which the rounding of a float32 distance moves a kernel value by 1e-4 at most.
FLOAT32_REACH = 256.0


class ShiftInvariantKernel(Kernel):
    """A kernel of x - y alone with k(x, x) = 1; gamma may be a heuristic's name."""

    def __init__(self, gamma: Positive | BandwidthRule = 1.0) -> None:
        self.gamma = gamma

    @abstractmethod
    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return frequencies drawn from the kernel's spectrum, shape (d, number of frequencies)."""

    @abstractmethod
    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the frequencies at points of the open unit cube, shape (d, number of frequencies).

        U has shape (number of frequencies, n_uniforms(d)). By inverse distribution functions: uniform points
        give frequencies that have the kernel's spectrum as their law, and evenly spread points spread them.
        """

    def n_uniforms(self, d: int) -> int:
        """Return the number of coordinates of U that a frequency in d dimensions takes."""
        return d

    @abstractmethod
    def _gamma_learnt(self, X: Any, rule: str, random_state: Any) -> float:
        """Return the heuristic's gamma on X."""

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return the kernel with gamma as a number, learnt from the distances between rows of X."""
        self.check()
        if not isinstance(self.gamma, str):
            return self
        resolved: Self = clone(self).set_params(gamma=self._gamma_learnt(X, self.gamma, random_state))
        return resolved

    def diagonal(self, X: Any) -> NDArray[Any]:
        """Return ones, shape (n,)."""
        A = as_operand(X)
        return np.ones(A.shape[0], dtype=A.dtype)


class Gaussian(ShiftInvariantKernel):
    """The Gaussian kernel exp(-gamma ||x - y||^2).

    Parameters
    ----------
    gamma : float or {"mean_distance", "median"}, default 1.0
        A number above 0, or the heuristic that `resolve` replaces by 1 / (2 bandwidth^2), where the bandwidth
        is the mean or the median distance between rows of the data.

    Examples
    --------
    >>> from kfeat.kernels import Gaussian
    >>> Gaussian(gamma="median").resolve([[0.0, 0.0], [0.0, 2.0]])
    Gaussian(gamma=0.125)
    >>> Gaussian(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    @property
    def formula(self) -> str:
        """The kernel as tables and figures print it."""
        return f"exp(-gamma ||x - y||^2), gamma = {in_words(self.gamma)}"

    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return draws of N(0, 2 gamma) (Rahimi & Recht 2007, Figure 1)."""
        return rng.standard_normal(shape) * np.sqrt(2 * number(self, "gamma"))

    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sqrt(2 gamma) times the normal quantiles of U, a coordinate each."""
        return np.ascontiguousarray(special.ndtri(U).T) * np.sqrt(2 * number(self, "gamma"))

    def _gamma_learnt(self, X: Any, rule: str, random_state: Any) -> float:
        return float(1 / (2 * euclidean_bandwidth(X, rule, random_state) ** 2))

    def against(self, Y: Any) -> Callable[[Any], NDArray[Any]]:
        """Return the function X -> k(X, Y), exp of a product with 2 gamma Y less the norms times gamma.

        As in `squared_distances`, dense rows are shifted by `centre_of(Y)`.
        """
        self.check()
        gamma, Y = number(self, "gamma"), dense_if_quicker(as_operand(Y))
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
        gamma = number(self, "gamma")
        dtype = np.result_type(X.dtype, Y.dtype)
        # Only Y decides, so that a row's values do not depend on the rows beside it; and where ||x|| is much
        # larger than ||y|| the kernel vanishes, whatever the rounding.
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

    Examples
    --------
    >>> from kfeat.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368]])
    """

    @property
    def formula(self) -> str:
        """The kernel as tables and figures print it."""
        return f"exp(-gamma ||x - y||_1), gamma = {in_words(self.gamma)}"

    def sample_frequencies(self, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Return draws of the Cauchy distribution with scale gamma (Rahimi & Recht 2007, Figure 1)."""
        return rng.standard_cauchy(shape) * number(self, "gamma")

    def frequencies_at(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return gamma times the Cauchy quantiles tan(pi (u - 1/2)) of U, a coordinate each."""
        return np.ascontiguousarray(np.tan(np.pi * (U - 0.5)).T) * number(self, "gamma")

    def _gamma_learnt(self, X: Any, rule: str, random_state: Any) -> float:
        return 1 / manhattan_bandwidth(X, rule, random_state)

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        if any(issparse(rows) and rows.indices.dtype != np.int32 for rows in (X, Y)):
            raise DataError(f"Laplacian: expected sparse rows of less than 2^31 features, got {X.shape[1]:,}")
        with openmp_for_forks():
            # In float64, by SciPy (dense) or scikit-learn (CSR).
            distances = metrics.pairwise.manhattan_distances(X, Y)
        distances *= -number(self, "gamma")
        return np.exp(distances, out=distances).astype(np.result_type(X.dtype, Y.dtype), copy=False)
