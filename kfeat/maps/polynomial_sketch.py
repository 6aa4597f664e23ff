"""What the sketches of polynomial kernels share: the kernels that they take, and how a row enters them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.kernels import Kernel, Linear, Polynomial
from kfeat.maps.base import FeatureMap


class PolynomialSketch(FeatureMap):
    """A map of (gamma <x, y> + coef0)^p = <x', y'>^p, with x' = (sqrt(gamma) x, sqrt(coef0))."""

    @classmethod
    def supports(cls, kernel: Kernel) -> bool:
        """Return whether the kernel is a polynomial, or linear, which is taken as the polynomial <x, y>."""
        return isinstance(kernel, Polynomial | Linear)

    @classmethod
    def default_kernel(cls) -> Kernel:
        """Return <x, y>^2."""
        return Polynomial(degree=2)

    def _kernel_for(self, X: Any, rng: np.random.Generator) -> Kernel:
        kernel = super()._kernel_for(X, rng)
        return Polynomial(degree=1) if isinstance(kernel, Linear) else kernel

    def _scales(self) -> NDArray[np.float64]:
        """Return the factors of x' for (x, 1), shape (d + 1,)."""
        scales = np.full(int(self.n_features_in_) + 1, np.sqrt(self.kernel_.gamma))
        scales[-1] = np.sqrt(self.kernel_.coef0)
        return scales
