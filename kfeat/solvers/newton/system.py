"""Solving (I + X'hX) d = b: conjugate gradients, preconditioned with a Cholesky factor or a diagonal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kfeat.errors import SolverError
from kfeat.solvers.newton.design import Design

Vector = NDArray[np.float64]
FORCING = 0.2  # of the preconditioned gradient is left by the conjugate gradients
MOST_CG = 100


def conjugate_gradients(design: Design, h: Vector, b: Vector, factor: Any) -> tuple[Vector, int]:
    """Return d with (I + X'hX) d = b and the number of steps; `factor` preconditions."""
    d, r = np.zeros_like(b), b.copy()
    z = solve(factor, r)
    p, rz = z.copy(), float(r @ z)
    goal = FORCING**2 * rz
    steps = 0
    while rz > goal and steps < MOST_CG:
        steps += 1
        Hp = p + design.hessian_product(h, p)
        curvature = p @ Hp
        if not 0 < curvature < np.inf:
            break  # rounding outweighs I: no step along p can be trusted, and d is what was found before
        length = rz / curvature
        d += length * p
        r -= length * Hp
        z = solve(factor, r)
        rz, before = float(r @ z), rz
        p = z + (rz / before) * p
    return d, steps


def hessian_factor(gram: Vector, scale: float, dtype: Any) -> Any:
    """Return the Cholesky factor of I + scale * gram in `dtype`; rounding is outweighed on the diagonal."""
    if not np.isfinite(gram).all() or scale * gram.max(initial=0.0) > np.finfo(dtype).max:
        raise SolverError(f"sums of squares of the features overflow {dtype}: scale the features down")
    jitter = 16 * float(np.finfo(dtype).eps)
    while True:
        H = (scale * gram).astype(dtype)
        diagonal = np.diag_indices(len(H))
        H[diagonal] += H[diagonal] * dtype.type(jitter) + 1
        try:
            return cho_factor(H.T, overwrite_a=True, check_finite=False)
        except LinAlgError:
            jitter *= 16


def solve(factor: Any, b: Vector) -> Vector:
    """Solve with a Cholesky factor in its own precision, or with a diagonal."""
    if isinstance(factor, np.ndarray):
        return b / factor
    return cho_solve(factor, b.astype(factor[0].dtype), check_finite=False).astype(np.float64)
