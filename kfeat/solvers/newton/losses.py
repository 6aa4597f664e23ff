"""Losses of a margin u = y <w, x>, with their gradients and Hessians in u."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

Values = NDArray[np.float64]


class Loss(Protocol):
    """A convex loss of the margin, elementwise."""

    def value(self, u: Values) -> Values:
        """Return loss(u)."""

    def gradient(self, u: Values) -> Values:
        """Return loss'(u)."""

    def hessian(self, u: Values) -> Values:
        """Return loss''(u), the generalised one where the gradient has a kink."""


class SquaredHinge:
    """max(0, 1 - u)^2, LIBLINEAR's "l2-loss"."""

    def value(self, u: Values) -> Values:
        """Return max(0, 1 - u)^2."""
        return np.maximum(1 - u, 0) ** 2

    def gradient(self, u: Values) -> Values:
        """Return -2 max(0, 1 - u)."""
        return -2 * np.maximum(1 - u, 0)

    def hessian(self, u: Values) -> Values:
        """Return 2 where u < 1, otherwise 0."""
        return np.where(u < 1, 2.0, 0.0)


class Logistic:
    """log(1 + exp(-u))."""

    def value(self, u: Values) -> Values:
        """Return log(1 + exp(-u))."""
        return np.logaddexp(0, -u)

    def gradient(self, u: Values) -> Values:
        """Return -1 / (1 + exp(u))."""
        return -special.expit(-u)

    def hessian(self, u: Values) -> Values:
        """Return the product of both probabilities."""
        return special.expit(u) * special.expit(-u)


LOSSES: dict[str, Loss] = {"squared_hinge": SquaredHinge(), "logistic": Logistic()}
