"""How many features Random Maclaurin needs: the theorems of Kar & Karnick 2012, and measurements.

All bound the probability of sup |<Z(x), Z(y)> - k(x, y)| > eps over the ball ||x||_1 <= R (in the 1-norm: the
unit ball of the 2-norm has R = sqrt(d)). The bounds are conservative: C grows as f(p R^2). The derivation is
that of `printed=False`. After "Printed" each step says what the paper prints instead.

One feature. A feature of degree N is Z(x) = sqrt(a_N / P(N)) prod_{j <= N} <w_j, x> with N sign vectors w_j.

- Lemma 3: E[Z(x) Z(y)] = sum_n P(n) a_n / P(n) <x, y>^n = f(<x, y>), for every law P that is positive where
  a_n is. Printed: P(n) = p^-(n + 1), whose sum is 1 / (p - 1). For p > 2 the rest of the probability can
  belong to a feature that is 0, but for p < 2 there is no such law. Here P(n) = (p - 1) p^-(n + 1) for all
  p > 1, the same at p = 2; with it the printed weights a_n p^(n + 1) estimate (p - 1) f.
- Lemma 4: |<w, x>| <= ||x||_1 <= R, so that |Z(x) Z(y)| <= a_N R^2N / P(N) = p / (p - 1) a_N (p R^2)^N, one
  term of a series without negative terms: at most C = p f(p R^2) / (p - 1). Printed: p f(p R^2), which is too
  small for p < 2; a kernel with one term attains C at x = y = R e_i.
- Lemma 6: grad_x f(<x, y>) = f'(<x, y>) y, of norm at most R f'(R^2), which x = y = R e_i attains. Printed:
  f'(R^2), which is too small for R > 1.
- Lemma 7: grad Z is a sum of N products with one w_j of norm sqrt(d) in place of a factor <w_j, x>, so that
  ||grad Z(x)|| |Z(y)| <= a_N / P(N) N sqrt(d) R^(2N - 1) = p^2 / (p - 1) sqrt(d) R N a_N (p R^2)^(N - 1), at
  most p^2 / (p - 1) sqrt(d) R f'(p R^2). Printed: without the p - 1, too small for p < 2.

D features. The error of their mean exceeds t with probability at most 2 exp(-D t^2 / (2 C^2)) (Hoeffding).
This is the bound for one pair; the paper prints 8 for 2, that is t = eps / 2.

- Theorem 8: the error is L-Lipschitz in x and in y, with L the sum of Lemmas 6 and 7. It changes by at most
  2 L r between points and the nearest points of a net at distance r (Lemma 5, the triangle inequality).
  With r = eps / (4 L) and t = eps / 2 on the pairs of the (8 R / r)^d points of the net, the failure
  probability is 2 (32 R L / eps)^2d exp(-D eps^2 / (8 C^2)). So D = 8 C^2 / eps^2 (2 d log(32 R L / eps) +
  log(2 / delta)) suffices, the printed Omega(d C^2 / eps^2 log(R L / (eps delta))).
- Theorem 9: the black box W is Lipschitz only in the mean, so L is the mean of a random constant. Markov's
  inequality says P(Lipschitz constant > eps / (4 r)) <= 4 r L / eps. The failure probability is at most
  2 (8 R / r)^2d exp(-D eps^2 / (8 C^2)) + 4 r L / eps for every r. No r gives a better exponent than
  -D eps^2 / (8 (2d + 1) C^2), where r^-2d and r balance; `compositional_bound` is the value where both terms
  are equal. Printed: the exponent -D eps^2 / (8 d C^2), smaller than any r gives, and a factor 32 R L / eps
  instead of 2^(1 + 1 / (2d + 1)) (32 R L / eps)^(2d / (2d + 1)). So the printed bound does not follow from
  the argument, though it may be true. It also lacks p - 1.

`least_error` inverts a bound: it returns the error that the bound promises for D features.
`informative_from` returns the D from which that error is less than that of features that are all 0.
"""

from collections.abc import Callable
from math import e, exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy import special

from kfeat.errors import UnsupportedKernelError
from kfeat.kernels import Compositional, DotProductKernel, Gaussian, Kernel, Laplacian
from kfeat.maps.random_maclaurin import ROUNDING, series_terms, value_at


class Bound(NamedTuple):
    """P(sup |error| > eps) <= exp(log_factor - rate D) for D features; rate 0 for a vacuous bound."""

    log_factor: float
    rate: float

    def failure(self, D: int) -> float:
        """Return the bound on the probability; 1 if it is vacuous."""
        return 1.0 if self.rate == 0 else min(1.0, exp(min(0.0, self.log_factor - self.rate * D)))

    def components(self, delta: float) -> float:
        """Return the smallest D for which the probability is at most delta; infinity where there is none."""
        return inf if self.rate == 0 else max(1.0, np.ceil((self.log_factor - log(delta)) / self.rate))


VACUOUS = Bound(inf, 0.0)


class BlackBox(NamedTuple):
    """The constants of Theorem 9 for an inner kernel K and its one-dimensional features W, on the ball.

    |K| <= C_K, ||grad_x K|| <= L_K, W(x)^2 <= C_W, and E[sup_x ||grad W(x)||] <= L_W.
    """

    C_K: float
    L_K: float
    C_W: float
    L_W: float


def pair_bound(
    kernel: DotProductKernel, radius: float, eps: float, p: float = 2.0, printed: bool = False
) -> Bound:
    """Return the bound for one pair of rows (after Lemma 4), 2 exp(-D eps^2 / (2 C^2)).

    C = p f(p R^2) / (p - 1). Printed with 8 in place of the 2, which holds but is loose, and with
    C = p f(p R^2), which belongs to probabilities p^-(n + 1), of sum 1 / (p - 1): too small for p < 2.
    Vacuous where the series diverges at p R^2.
    """
    C = estimator_bound(kernel, radius, p, printed)
    return _bound(log(2), 8.0 if printed else 2.0, C, eps)


def uniform_bound(
    kernel: DotProductKernel, radius: float, d: int, eps: float, p: float = 2.0, printed: bool = False
) -> Bound:
    """Return Theorem 8's bound: 2 (32 R L / eps)^2d exp(-D eps^2 / (8 C^2)).

    C = p f(p R^2) / (p - 1) and L = R f'(R^2) + p^2 / (p - 1) sqrt(d) R f'(p R^2), and the net has at least
    one point. Printed without the two p - 1 (see pair_bound), with f'(R^2) in place of R f'(R^2), which is
    too small for R > 1, and with a net of less than a point for eps > 32 R L. For RandomMaclaurin with the
    geometric law, base p and no exact columns. Vacuous where the series diverges at p R^2.
    """
    C = estimator_bound(kernel, radius, p, printed)
    L = kernel_slope(kernel, radius, printed) + estimator_slope(kernel, radius, d, p, printed)
    return _bound(log(2) + 2 * d * _log_net(radius, L, eps, printed), 8.0, C, eps)


def compositional_bound(
    kernel: Compositional,
    black_box: BlackBox,
    radius: float,
    d: int,
    eps: float,
    p: float = 2.0,
    printed: bool = False,
) -> Bound:
    """Return Theorem 9's bound for CompositionalMaclaurin with the geometric law.

    With C = p f(p C_W) / (p - 1), L = L_K f'(C_K) + L_W sqrt(C_W) f'(C_W) and the net's best distance,

    2^(1 + 1 / (2d + 1)) (32 R L / eps)^(2d / (2d + 1)) exp(-D eps^2 / (8 (2d + 1) C^2)).

    Here the error's Lipschitz constant is random with mean at most L, so Markov's inequality adds
    4 r L / eps to the net's 2 (8 R / r)^2d exp(-D eps^2 / (8 C^2)). Printed with
    (32 R L / eps) exp(-D eps^2 / (8 d C^2)), which does not follow: its rate is more than twice too large.
    (The printed L has p^2 f'(p C_W) instead of f'(C_W), which holds but is loose.) Vacuous if a constant is
    infinite, such as L_W for the Laplacian kernel's features, or if the series diverges at p C_W.
    """
    outer, box = kernel.parts()[0], black_box
    C = p * value_at(outer, p * box.C_W) / _total(p, printed)
    slope = p**2 * derivative_at(outer, p * box.C_W) if printed else derivative_at(outer, box.C_W)
    L = box.L_K * derivative_at(outer, box.C_K) + box.L_W * sqrt(box.C_W) * slope
    if printed:
        return _bound(_log_net(radius, L, eps, printed), 8.0 * d, C, eps)
    share = 1 / (2 * d + 1)
    factor = (1 + share) * log(2) + 2 * d * share * _log_net(radius, L, eps, printed)
    return _bound(factor, 8.0 * (2 * d + 1), C, eps)


def fourier_black_box(kernel: Kernel, d: int) -> BlackBox:
    """Return the constants of sqrt(2) cos(<w, x> + b), the columns of RandomFourier(features="offset").

    Gaussian kernel: L_K = sqrt(2 gamma / e), at ||x - y|| = 1 / sqrt(2 gamma), and L_W = sqrt(2) E||w||.
    Laplacian kernel: E||w|| is infinite, since its frequencies are Cauchy.
    """
    if isinstance(kernel, Gaussian):
        gamma = float(kernel.gamma)
        mean_norm = 2 * sqrt(gamma) * exp(special.gammaln((d + 1) / 2) - special.gammaln(d / 2))
        return BlackBox(1.0, sqrt(2 * gamma / e), 2.0, sqrt(2) * mean_norm)
    if isinstance(kernel, Laplacian):
        return BlackBox(1.0, float(kernel.gamma) * sqrt(d), 2.0, inf)
    raise UnsupportedKernelError(f"the bounds know the features of Gaussian and Laplacian, got {kernel!r}")


def maclaurin_black_box(kernel: DotProductKernel, radius: float, d: int, p: float = 2.0) -> BlackBox:
    """Return the constants of one feature of RandomMaclaurin with the geometric law.

    C_K = f(R^2), L_K = R f'(R^2), C_W = p f(p R^2) / (p - 1), L_W = sqrt(d) sum_n n sqrt(a_n P(n)) R^(n - 1).
    """
    sizes = series_terms(kernel, radius**2)
    value = value_at(kernel, radius**2)
    if not value - sizes.sum() <= ROUNDING * value:
        raise UnsupportedKernelError(
            f"the coefficients of {kernel!r} in double precision do not add up to its value at "
            f"<x, y> = {radius**2:g}: take a smaller radius"
        )
    n = np.arange(len(sizes))
    norms = np.sqrt(sizes * (p - 1)) * float(p) ** (-(n + 1) / 2)
    L_W = sqrt(d) * float((n * norms).sum()) / radius
    L_K = radius * derivative_at(kernel, radius**2)
    return BlackBox(value, L_K, estimator_bound(kernel, radius, p), L_W)


def estimator_bound(kernel: DotProductKernel, radius: float, p: float = 2.0, printed: bool = False) -> float:
    """Return C >= |Z(x) Z(y)| of one feature on the ball (Lemma 4): p f(p R^2) / (p - 1); see pair_bound."""
    return p * value_at(kernel, p * radius**2) / _total(p, printed)


def kernel_slope(kernel: DotProductKernel, radius: float, printed: bool = False) -> float:
    """Return the largest ||grad_x k(x, y)|| on the ball (Lemma 6): R f'(R^2); printed without the R."""
    return (1.0 if printed else radius) * derivative_at(kernel, radius**2)


def estimator_slope(
    kernel: DotProductKernel, radius: float, d: int, p: float = 2.0, printed: bool = False
) -> float:
    """Return what bounds ||grad_x Z(x) Z(y)|| of one feature on the ball (Lemma 7).

    p^2 / (p - 1) sqrt(d) R f'(p R^2); printed without the p - 1.
    """
    return p**2 / _total(p, printed) * sqrt(d) * radius * derivative_at(kernel, p * radius**2)


def least_error(bound_of: Callable[[float], Bound], D: int, delta: float) -> float:
    """Return the least eps, up to a millionth of it, that D features exceed with probability at most delta.

    `bound_of` maps eps to its bound, which must fall with eps. Infinity if no eps below 10^15 suffices.
    """
    low, high = 1e-15, 1e15
    if bound_of(high).failure(D) > delta:
        return inf
    while high > low * (1 + 1e-6):
        middle = sqrt(low * high)
        low, high = (low, middle) if bound_of(middle).failure(D) <= delta else (middle, high)
    return high


def informative_from(bound_of: Callable[[float], Bound], largest: float, delta: float) -> float:
    """Return the least D for which an error below `largest`, the kernel's largest value, is promised.

    With fewer features the bound says nothing: the estimate 0 of all values has no larger error. Returns
    infinity if the bound is vacuous for every D.
    """
    return bound_of(largest).components(delta)


def derivative_at(kernel: DotProductKernel, t: float) -> float:
    """Return f'(t), t > 0; infinity where the series does not converge.

    By a complex step, Im f(t + i h) / h: exact to double precision, since nothing is subtracted.
    """
    if t >= kernel.radius:
        return inf
    step = 1e-30 * t
    with np.errstate(all="ignore"):
        value = float(kernel._f(np.array([complex(t, step)]))[0].imag) / step
    return value if np.isfinite(value) else inf


def _total(p: float, printed: bool) -> float:
    """Return the factor that turns p^-(n + 1) into a distribution; the printed forms lack it."""
    return 1.0 if printed else p - 1


def _log_net(radius: float, L: float, eps: float, printed: bool) -> float:
    """Return log(32 R L / eps), the net's points per dimension, of which there is at least one."""
    points = 32 * radius * L / eps
    return log(points if printed else max(1.0, points)) if points < inf else inf


def _bound(log_factor: float, divisor: float, C: float, eps: float) -> Bound:
    """Return exp(log_factor - D eps^2 / (divisor C^2))."""
    return Bound(log_factor, (eps / C) ** 2 / divisor) if max(C, log_factor) < inf else VACUOUS
