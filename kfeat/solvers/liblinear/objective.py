"""The objectives that the linear solvers minimise, and their duality gaps, evaluated at a given solution."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.solvers.newton.batched_design import design
from kfeat.solvers.newton.losses import LOSSES, Dual, SmoothedHinge

L2: list[Dual] = [LOSSES["squared_hinge"]]
LOGISTIC: list[Dual] = [LOSSES["logistic"]]
HINGE: list[Dual] = [SmoothedHinge(width) for width in (1e-3, 1e-2, 0.1, 0.3)]
DUALS = {0: LOGISTIC, 1: L2, 2: L2, 3: HINGE, 7: LOGISTIC}  # losses by -s, whose gradients give multipliers


def linear_objective(
    solver_type: int,
    values: NDArray[np.float64],
    y: NDArray[Any],
    W: NDArray[np.float64],
    b: Any,
    C: float,
    p: float,
    weights: NDArray[np.float64] | None,
) -> float:
    """Return sum over subproblems of R(w, b) + sum_i C_i loss_i, LIBLINEAR's primal for its -s `solver_type`.

    `values` (n, subproblems) are the scores, `y` (n,) the targets or positions of classes, `W`
    (subproblems, d), `b` the penalised bias weights, `weights` the factors of C by class (one against the
    rest: only the class itself is weighted, unless there are two).
    """
    R = np.abs(W).sum() + np.abs(b).sum() if solver_type in (5, 6) else ((W**2).sum() + np.sum(b**2)) / 2
    if weights is None:
        excess = np.maximum(np.abs(values[:, 0] - y) - p, 0)
        return float(R + C * (excess if solver_type == 13 else excess**2).sum())
    if solver_type == 4:
        return float(R * (2 if values.shape[1] == 1 else 1) + _crammer_singer(values, y, C * weights))
    signs, cost = _against_rest(values, y, C, weights)
    return float(R + (cost * _loss(solver_type, signs * values)).sum())


def linear_gap(
    solver_type: int,
    X: Any,
    bias: float,
    values: NDArray[np.float64],
    y: NDArray[Any],
    objective: float,
    C: float,
    weights: NDArray[np.float64],
) -> float:
    """Return (primal - dual) / primal at a solution of -s 0, 1, 2, 3 or 7.

    The dual's bound is made from the scores: the multipliers are alpha_i = -C_i loss'(u_i), times the best
    common factor for the hinge losses. The hinge has no derivative at the margin, and LIBLINEAR does not
    return its multipliers: the best of several smoothed hinges is taken, which bounds the gap from above.

    `X` (n, d) are the features, `bias` the penalised feature beside them (below 0: none), `objective` the
    primal, the rest as in `linear_objective`.
    """
    signs, cost = _against_rest(values, y, C, weights)
    margins, bounds = signs * values, []
    for loss in DUALS[solver_type]:
        sums = design(X, bias).double().rmatvec(-signs * cost * loss.gradient(margins))
        bounds.append([loss.dual(*one) for one in zip(margins.T, cost.T, sums.T, strict=True)])
    dual = float(np.max(bounds, axis=0).sum())
    return max(0.0, 1 - dual / objective) if objective > 0 else 0.0


def _against_rest(
    values: NDArray[np.float64], y: NDArray[Any], C: float, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return signs and costs (n, subproblems): only the class itself is weighted, unless there are two."""
    if values.shape[1] == 1:
        return np.where(y == 1, 1.0, -1.0)[:, None], C * weights[y][:, None]
    own = y[:, None] == np.arange(values.shape[1])
    return np.where(own, 1.0, -1.0), np.where(own, C * weights, C)


def _loss(solver_type: int, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loss of each margin: logistic, l1 or l2."""
    if solver_type in (0, 6, 7):
        return np.logaddexp(0, -margins)
    hinge = np.maximum(1 - margins, 0)
    return hinge if solver_type == 3 else hinge**2


def _crammer_singer(values: NDArray[np.float64], y: NDArray[Any], cost: NDArray[np.float64]) -> float:
    """Return sum_i C_{y_i} max_m (1[m != y_i] + s_im - s_iy_i)."""
    if values.shape[1] == 1:
        values = np.hstack([-values, values])
    rows = np.arange(len(y))
    reach = 1 + values - values[rows, y][:, None]
    reach[rows, y] = 0
    return float(cost[y] @ reach.max(axis=1))
