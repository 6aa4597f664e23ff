"""Kernels whose values are beyond the single precision in which LIBSVM keeps them."""

from math import frexp, isfinite
from typing import Any

import numpy as np
from sklearn.utils import gen_batches

from kfeat.errors import SolverError
from kfeat.kernels.base import TILE

FLOAT32 = np.finfo(np.float32)


def kernel_scale(kernel: Any, X: Any, cost: float, eps: float) -> float:
    """Return s, the power of two by which K is divided and C multiplied for LIBSVM; 1 where K fits.

    K is the Gram matrix of the n rows of X (n, d), `cost` the largest C of a class, `eps` the tolerance.
    K / s and C s (for every class) turn each a_i of the dual into s a_i and the dual's value D into s D, and
    leave the gradient, and with it b and what the tolerance is compared with, as they are: the constraints
    0 <= a_i <= C and the linear terms (1, and for regression y and p) grow with a, and K a does not change.
    Only values below s times float32's smallest are lost, which moves a decision value by less than n C s
    times that. Raises SolverError where this may exceed the tolerance, or where a value is beyond double
    precision.
    """
    parts = (X[rows].astype(np.float64) for rows in gen_batches(X.shape[0], TILE))
    largest = max(float(np.abs(kernel.diagonal(part)).max()) for part in parts)
    if largest <= float(FLOAT32.max):
        return 1.0
    scale = 2.0 ** (frexp(largest)[1] - FLOAT32.maxexp + 1)
    lost = X.shape[0] * cost * scale * float(FLOAT32.smallest_subnormal)
    if not isfinite(largest) or lost > eps:
        raise SolverError(
            f"values of {kernel!r} reach {largest:.3g}, beyond the single precision in which LIBSVM keeps "
            "them: scale the features down, or take a lower degree or gamma"
        )
    return scale
