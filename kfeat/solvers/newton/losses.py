"""Losses of a margin u = y <w, x>, with their gradients and Hessians in u, and dual bounds."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

Values = NDArray[np.float64]


class Dual(Protocol):
    """What bounds the minimum of a problem from below: multipliers alpha_i = -c_i loss'(u_i)."""

    def gradient(self, u: Values) -> Values:
        """Return loss'(u)."""

    def dual(self, u: Values, costs: Values, v: Values) -> float:
        """Return a lower bound on min_w ||w||^2 / 2 + sum_i c_i loss(u_i), from any w's margins u.

        It is the dual objective at alpha_i = -c_i loss'(u_i), of which v is sum_i alpha_i s_i x_i: then the
        objective less this bound is ||grad f(w)||^2 / 2 at most.
        """


class Loss(Dual, Protocol):
    """A convex loss of the margin, elementwise."""

    def value(self, u: Values) -> Values:
        """Return loss(u)."""

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

    def dual(self, u: Values, costs: Values, v: Values) -> float:
        """Return max over t >= 0 of t S - t^2 Q, S = sum alpha, Q = sum alpha^2 / (4 c) + ||v||^2 / 2."""
        missing = np.maximum(1 - u, 0)
        total = 2 * float(costs @ missing)
        quadratic = float(costs @ missing**2) + float(v @ v) / 2
        return total**2 / (4 * quadratic) if quadratic > 0 else 0.0


class Logistic:
    """log(1 + exp(-u))."""

    def value(self, u: Values) -> Values:
        """Return log(1 + exp(-u))."""
        return np.logaddexp(0, -u)

    def gradient(self, u: Values) -> Values:
        """Return -1 / (1 + exp(u))."""
        return -expit(-u)

    def hessian(self, u: Values) -> Values:
        """Return the product of both probabilities."""
        return expit(u) * expit(-u)

    def dual(self, u: Values, costs: Values, v: Values) -> float:
        """Return sum_i c_i H(alpha_i / c_i) - ||v||^2 / 2, H the entropy in nats; or 0, as alpha = 0."""
        return max(0.0, float(costs @ (entr(expit(-u)) + entr(expit(u)))) - float(v @ v) / 2)


class SmoothedHinge:
    """max(0, 1 - u) with a slope from -1 to 0 within a width around 1, for bounds on the hinge's problem."""

    def __init__(self, width: float) -> None:
        self.width = width

    def gradient(self, u: Values) -> Values:
        """Return a number from -1 to 0."""
        return -np.clip((1 - u) / self.width + 0.5, 0.0, 1.0)

    def dual(self, u: Values, costs: Values, v: Values) -> float:
        """Return the most of t sum alpha - t^2 ||v||^2 / 2 over the t >= 0 with t alpha_i <= c_i."""
        share = -self.gradient(u)
        total, square, most = float(costs @ share), float(v @ v), float(share.max(initial=0.0))
        if most == 0 or square == 0:
            return 0.0
        t = min(1 / most, total / square)
        return t * total - t**2 * square / 2


LOSSES: dict[str, Loss] = {"squared_hinge": SquaredHinge(), "logistic": Logistic()}
