"""LIBSVM's own kernels, standing for kfeat's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINEAR, POLYNOMIAL, RBF, PRECOMPUTED = 0, 1, 2, 4


@dataclass(frozen=True)
class NativeKernel:
    """LIBSVM's -t, -d, -g and -r; called, the block of kernel values of inner products and squared norms."""

    type: int
    degree: int = 0
    gamma: float = 0.0
    coef0: float = 0.0

    def __call__(
        self, inner: NDArray[np.float64], x2: NDArray[np.float64], y2: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Turn <x_i, y_j> (n, m) in place into K(x_i, y_j); x2 (n,) and y2 (m,) are squared norms."""
        if self.type == POLYNOMIAL:
            inner *= self.gamma
            inner += self.coef0
            return _power(inner, self.degree)
        if self.type == RBF:
            inner *= -2
            inner += x2[:, None]
            inner += y2
            np.maximum(inner, 0, out=inner)
            inner *= -self.gamma
            return np.exp(inner, out=inner)
        return inner

    def rounding(self, x2: NDArray[np.float64], y2: float, d: int, m: int) -> NDArray[np.float64]:
        """Bound the error of sum_j a_j K(x, y_j), y_j in m rows of d features, per unit of sum_j |a_j|: (n,).

        Two ways of summing differ by at most twice (terms * eps * sum of absolute terms) each; y2 is the
        largest squared norm of the y_j.
        """
        eps = 4 * np.finfo(float).eps
        norms = np.sqrt(x2 * y2)
        if self.type == RBF:
            return eps * (m + self.gamma * (d + 4) * 2 * (x2 + y2))
        degree, gamma, coef0 = (self.degree, self.gamma, self.coef0) if self.type == POLYNOMIAL else (1, 1, 0)
        return eps * (m + degree * (d + 4)) * (gamma * norms + abs(coef0)) ** degree


def native_kernel(kernel: Any) -> NativeKernel | None:
    """Return LIBSVM's kernel for a kernel of kfeat, or None if it has none."""
    name = type(kernel).__name__
    if kernel is None or name == "Linear":
        return NativeKernel(LINEAR)
    if name == "Polynomial":
        return NativeKernel(POLYNOMIAL, kernel.degree, kernel.gamma, kernel.coef0)
    if name == "Gaussian" and isinstance(kernel.gamma, int | float):
        return NativeKernel(RBF, gamma=kernel.gamma)
    return None


def _power(values: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Return values^degree by repeated squaring in place, as LIBSVM's powi does."""
    result: Any = None
    while degree:
        if degree % 2:
            result = values.copy() if result is None else np.multiply(result, values, out=result)
        degree //= 2
        if degree:
            np.multiply(values, values, out=values)
    return result
