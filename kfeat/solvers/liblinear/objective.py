"""The objectives that the linear solvers minimise, evaluated at a given solution."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    if values.shape[1] == 1:
        signs = np.where(y == 1, 1.0, -1.0)[:, None]
        cost = C * weights[y][:, None]
    else:
        own = y[:, None] == np.arange(values.shape[1])
        signs, cost = np.where(own, 1.0, -1.0), np.where(own, C * weights, C)
    return float(R + (cost * _loss(solver_type, signs * values)).sum())


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
