"""Linear systems of many sparse columns, whose D x D matrix is never formed: conjugate gradients.

A step is one product with X and one with X', whatever the number of classes or penalties. Newton's systems
(I + X'hX) d = b are solved for all classes in one run. Ridge regressions with several alphas share one
sequence of products, since their residuals are parallel; with several targets as well, only the values at
rows that are held out are followed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kfeat.solvers.moments import Intercept
from kfeat.solvers.newton_system import FORCING, MOST_CG, DesignMatrix, Vector

OBSERVED = 2**25  # values of held-out rows that are kept, of all steps
TOGETHER = 8  # systems of a run, so that its vectors take little memory
MOST_STEPS = 1000
RESIDUAL = 1e-6  # of ridge regression, relative to the right side


def newton_directions(
    design: DesignMatrix, H: Vector, B: Vector, diagonals: Vector
) -> tuple[Vector, list[int]]:
    """Return D with (I + X' diag(h_j) X) d_j = b_j for each column j, and the steps of each.

    H is (n, k), B and the diagonal preconditioners (columns, k). Each residual falls to FORCING.
    """
    parts = []
    for j in range(0, B.shape[1], TOGETHER):
        some = slice(j, j + TOGETHER)
        rows = np.flatnonzero(H[:, some].any(axis=1))
        parts.append(_together(design.take(rows), H[rows, some], B[:, some], diagonals[:, some]))
    return np.concatenate([D for D, _ in parts], axis=1), [n for _, steps in parts for n in steps]


def _together(design: DesignMatrix, H: Vector, B: Vector, diagonals: Vector) -> tuple[Vector, list[int]]:
    D, R = np.zeros_like(B), B.copy()
    Z = R / diagonals
    P, rz, steps = Z.copy(), _dots(R, Z), np.zeros(B.shape[1], int)
    goals = FORCING**2 * _dots(B, B)
    while (open_ := np.flatnonzero((_dots(R, R) > goals) & (steps < MOST_CG))).size:
        steps[open_] += 1
        p = P[:, open_]
        Hp = p + design.rmatvec(H[:, open_] * design.matvec(p))
        lengths = rz[open_] / _dots(p, Hp)
        D[:, open_] += lengths * p
        R[:, open_] -= lengths * Hp
        z = R[:, open_] / diagonals[:, open_]
        before, rz[open_] = rz[open_], _dots(R[:, open_], z)
        P[:, open_] = z + rz[open_] / before * p
    return D, steps.tolist()


def _dots(A: Vector, B: Vector) -> Vector:
    return np.einsum("ij,ij->j", A, B)


def ridge_path_of_sparse(
    X: Any,
    y: Vector,
    weights: Vector | None,
    alphas: Vector,
    intercept: Intercept,
    tolerance: float = RESIDUAL,
    most: int = MOST_STEPS,
) -> tuple[Vector, Vector, NDArray[np.bool_], int]:
    """Return w (len(alphas), D) and b (len(alphas),) of ridge regressions, which converged, and the steps.

    The normal equations of all alphas are solved at once, by the conjugate gradients of shifted systems
    (Jegerlehner, hep-lat/9612014).
    """
    system = _NormalEquations.of(X, y[:, None], weights, intercept)
    b = system.right[:, 0]
    W, converged, steps = shifted_systems(
        lambda v: system.product(v[:, None])[:, 0], b, alphas, tolerance, most
    )
    return W, system.y_mean - W @ system.x_mean, converged, steps


def held_out_values(
    X: Any,
    Y: Vector,
    weights: Vector | None,
    alphas: Vector,
    intercept: Intercept,
    X_held_out: Any,
    tolerance: float = RESIDUAL,
    most: int = MOST_STEPS,
) -> tuple[Vector, NDArray[np.bool_]]:
    """Return what ridge regressions of targets Y (n, k) predict for X_held_out (m, D), and which converged.

    Shapes are (len(alphas), m, k) and (len(alphas), k). The targets share the passes over X and the alphas
    their products, as in `ridge_path_of_sparse`; no solution w is formed.
    """
    size = max(1, OBSERVED // (most * X_held_out.shape[0]))
    parts = []
    for j in range(0, Y.shape[1], size):
        system = _NormalEquations.of(X, Y[:, j : j + size], weights, intercept)
        observe = partial(_scores, X_held_out, system.x_mean)
        values, converged = shifted_values(system.product, system.right, alphas, observe, tolerance, most)
        parts.append((system.y_mean + values, converged))
    return np.concatenate([values for values, _ in parts], axis=2), np.hstack([done for _, done in parts])


def _scores(X: Any, x_mean: Vector, W: Vector) -> Vector:
    return np.asarray(X @ W - x_mean @ W)


class _NormalEquations(NamedTuple):
    """X_c' diag(c) X_c w = X_c' diag(c) (y - y_mean) for targets Y (n, k), X_c centred if there are means.

    The system of D columns, not of n rows: what no column fits is not in its right side, so that few steps
    already predict well.
    """

    X: Any
    XT: Any
    c: Vector
    x_mean: Vector
    y_mean: Vector
    right: Vector

    @classmethod
    def of(cls, X: Any, Y: Vector, weights: Vector | None, intercept: Intercept) -> Self:
        # Each product with numbers of two precisions would convert X again: half of the time.
        X = csr_array((X.data.astype(np.float64, copy=False), X.indices, X.indptr), shape=X.shape)
        n, XT = X.shape[0], X.T
        c = np.ones(n) if weights is None else weights
        share = c / c.sum() if intercept else np.zeros(n)
        x_mean, y_mean = XT @ share if intercept is True else np.zeros(X.shape[1]), share @ Y
        bare = cls(X, XT, c, x_mean, y_mean, np.empty(0))
        return bare._replace(right=bare.back(Y - y_mean))

    def back(self, V: Vector) -> Vector:
        """Return X_c' diag(c) V, which is X' diag(c) V: where X_c is centred, V has the weighted sum 0."""
        return np.asarray(self.XT @ (self.c[:, None] * V))

    def product(self, P: Vector) -> Vector:
        """Return X_c' diag(c) X_c P."""
        return self.back(self.X @ P - self.x_mean @ P)


def ridges_of_sparse(
    X: Any, Y: Vector, weights: Vector | None, alpha: float, intercept: Intercept, tolerance: float, most: int
) -> tuple[Vector, Vector, list[bool], list[int]]:
    """Return w (D, k) and b (k,) of ridge regressions of targets Y (n, k), which converged, and the steps.

    Conjugate gradients on the normal equations of all targets at once, so that they share the passes over X.
    """
    system = _NormalEquations.of(X, Y, weights, intercept)
    W, R = np.zeros_like(system.right), system.right.copy()
    P, rr, steps = R.copy(), _dots(R, R), np.zeros(Y.shape[1], int)
    goals = tolerance**2 * rr
    while (open_ := np.flatnonzero((rr > goals) & (steps < most))).size:
        steps[open_] += 1
        p = P[:, open_]
        Ap = system.product(p) + alpha * p
        lengths = rr[open_] / _dots(p, Ap)
        W[:, open_] += lengths * p
        R[:, open_] -= lengths * Ap
        before, rr[open_] = rr[open_], _dots(R[:, open_], R[:, open_])
        P[:, open_] = R[:, open_] + rr[open_] / before * p
    return W, system.y_mean - system.x_mean @ W, (rr <= goals).tolist(), steps.tolist()


def shifted_systems(
    product: Callable[[Vector], Vector], b: Vector, shifts: Vector, tolerance: float, most: int
) -> tuple[Vector, NDArray[np.bool_], int]:
    """Return x with (A + shift I) x = b for each shift, shape (shifts, n), which converged, and the steps.

    `product` is v -> A v for a positive semi-definite A. Conjugate gradients solve the system of the smallest
    shift. The residual of another shift is that residual times a factor `zeta`, so all share the products.
    """
    base = float(shifts.min())
    extra = shifts - base
    X, P = np.zeros((len(shifts), len(b))), np.tile(b, (len(shifts), 1))
    r, p = b.copy(), b.copy()
    rr = float(r @ r)
    goal = tolerance**2 * rr
    zeta, zeta_before = np.ones(len(shifts)), np.ones(len(shifts))
    alpha_before, beta, steps = 1.0, 0.0, 0
    open_ = np.flatnonzero(np.full(len(shifts), rr > 0))
    while open_.size and steps < most:
        steps += 1
        Ap = product(p) + base * p
        alpha = rr / float(p @ Ap)
        z, z_before, s = zeta[open_], zeta_before[open_], extra[open_]
        z_next = (
            z
            * z_before
            * alpha_before
            / (alpha * beta * (z_before - z) + z_before * alpha_before * (1 + s * alpha))
        )
        X[open_] += (alpha * z_next / z)[:, None] * P[open_]
        r -= alpha * Ap
        rr, rr_before = float(r @ r), rr
        beta_next = rr / rr_before
        P[open_] *= (beta_next * (z_next / z) ** 2)[:, None]
        P[open_] += z_next[:, None] * r
        p = r + beta_next * p
        zeta_before[open_], zeta[open_] = z, z_next
        alpha_before, beta = alpha, beta_next
        open_ = open_[(zeta[open_] ** 2 * rr > goal)]
    return X, ~np.isin(np.arange(len(shifts)), open_), steps


def shifted_values(
    product: Callable[[Vector], Vector],
    B: Vector,
    shifts: Vector,
    observe: Callable[[Vector], Vector],
    tolerance: float,
    most: int,
) -> tuple[Vector, NDArray[np.bool_]]:
    """Return `observe` of the x with (A + shift I) x = b, for each shift and column b of B (n, k).

    Shapes are (shifts, m, k) for a linear function V (n, k) -> (m, k), and (shifts, k) for which converged.
    The steps are those of `shifted_systems`. A solution is a sum of the residuals of all steps, so that its
    values are that sum of their values, and the vectors of a shift are never formed.
    """
    base = float(shifts.min())
    extra = shifts[:, None] - base
    R, P, rr = B.copy(), B.copy(), _dots(B, B)
    goals = tolerance**2 * rr
    zeta, zeta_before = np.ones((len(shifts), len(rr))), np.ones((len(shifts), len(rr)))
    alpha_before, beta = np.ones_like(rr), np.zeros_like(rr)
    unsolved = np.tile(rr > 0, (len(shifts), 1))
    observed: list[Vector] = []  # of each step, as the others
    lengths: list[Vector] = []
    betas: list[Vector] = []
    zetas: list[Vector] = []
    while len(observed) < most and (some := np.flatnonzero(unsolved.any(axis=0))).size:
        k: Any = some if some.size < len(rr) else slice(None)  # a slice copies nothing
        p, on = P[:, k], unsolved[:, k]
        z, z_before = zeta[:, k].copy(), zeta_before[:, k]
        observed.append(_spread(observe(R[:, k]), some, len(rr)))
        zetas.append(_spread(z, some, len(rr)))
        betas.append(_spread(beta[k] * (z / z_before) ** 2, some, len(rr)))
        Ap = product(p)
        Ap += base * p
        alpha = rr[k] / _dots(p, Ap)
        z_next = z * z_before * alpha_before[k]
        z_next /= alpha * beta[k] * (z_before - z) + z_before * alpha_before[k] * (1 + extra * alpha)
        lengths.append(_spread(np.where(on, alpha * z_next / z, 0.0), some, len(rr)))
        Ap *= alpha
        R[:, k] -= Ap
        before, rr[k] = rr[k].copy(), _dots(R[:, k], R[:, k])
        beta[k], alpha_before[k] = rr[k] / before, alpha
        P[:, k] *= beta[k]
        P[:, k] += R[:, k]
        zeta_before[:, k], zeta[:, k] = np.where(on, z, 1.0), np.where(on, z_next, 1.0)
        unsolved[:, k] = on & (z_next**2 * rr[k] > goals[k])
    # x = sum_i length_i p_i with p_i = zeta_i r_i + beta_i p_(i - 1): the shares of r_i, from the last on.
    shares, share = [], np.zeros_like(zeta)
    for i in reversed(range(len(observed))):
        share = lengths[i] + (betas[i + 1] * share if i + 1 < len(observed) else 0.0)
        shares.append(zetas[i] * share)
    if not observed:
        return np.zeros((len(shifts), *observe(B).shape)), ~unsolved
    values = np.stack(shares[::-1]).transpose(2, 1, 0) @ np.stack(observed).transpose(2, 0, 1)
    return values.transpose(1, 2, 0), ~unsolved


def _spread(values: Vector, columns: NDArray[np.intp], n: int) -> Vector:
    """Return values (m, len(columns)) in their columns of n, the others 0."""
    if len(columns) == n:
        return values
    spread = np.zeros((len(values), n))
    spread[:, columns] = values
    return spread
