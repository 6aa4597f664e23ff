"""Weights that minimise <w, A w> - 2 <b, w>, over all numbers or over those of at least 0."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kfeat.errors import ParameterError

Sign = Literal["nonnegative", "clipped", "absolute", "signed"]
Array = NDArray[np.float64]
FULL_EXCHANGES = 3  # without progress, before indices are exchanged one by one
UNSOLVABLE = (
    "the equations of the weights are singular in double precision: raise the regularisation (for Bayesian "
    "quadrature the jitter), or take fewer components"
)
STEPS = 10  # for each weight, beyond which rounding keeps the search from ending


def weights_by(sign: Sign, A: Array, b: Array, start: NDArray[np.bool_] | None = None) -> Array:
    """Return the weights under a rule for signs, where A is positive definite.

    "signed" is the minimum over all numbers, "clipped" and "absolute" are its positive part and its absolute
    values, and "nonnegative" is the minimum over the numbers of at least 0, sought from `start`.
    """
    if sign == "nonnegative":
        return nonnegative_minimum(A, b, start)
    w = minimum(A, b)
    return w if sign == "signed" else w.clip(min=0) if sign == "clipped" else np.abs(w)


def minimum(A: Array, b: Array) -> Array:
    """Return A^-1 b."""
    w: Array = cho_solve((cholesky(A), True), b, check_finite=False)
    return w


def cholesky(A: Array) -> Array:
    """Return L with A = L L^T, in its lower triangle; raises ParameterError where A is singular."""
    try:
        # The transpose of a C-ordered copy is what LAPACK takes and overwrites.
        L: Array = cho_factor(np.array(A, order="C").T, lower=True, overwrite_a=True, check_finite=False)[0]
    except LinAlgError:
        raise ParameterError(UNSOLVABLE) from None
    return L


def nonnegative_minimum(A: Array, b: Array, start: NDArray[np.bool_] | None = None) -> Array:
    """Return the minimum over w >= 0 by block principal pivoting (Portugal, Judice & Vicente 1994).

    In each step the free indices take their minimum, and all indices that break an optimality condition (a
    free w_i below 0, or a gradient below 0 at a w_i held at 0) change sides; where that makes no progress
    only the last one does, which ends for every positive definite A (Murty's rule). It takes a handful of
    Cholesky factorisations, where active set methods take a step per weight. `start` are the indices that are
    free at first: all, or those of a similar problem.
    """
    free = np.ones(len(b), dtype=bool) if start is None else start
    fewest, tries = len(b) + 1, FULL_EXCHANGES
    tolerance = len(b) * np.finfo(np.float64).eps * float(np.abs(b).max(initial=0))
    for _ in range(STEPS * len(b)):
        w = np.zeros_like(b)
        w[free] = minimum(A if free.all() else A[np.ix_(free, free)], b[free])
        broken = np.where(free, w < 0, A @ w - b < -tolerance)
        count = int(broken.sum())
        if not count:
            return w
        if count < fewest:
            fewest, tries = count, FULL_EXCHANGES
        else:
            tries -= 1
        if tries < 0:
            broken[: np.flatnonzero(broken)[-1]] = False
        free = free ^ broken
    raise ParameterError(UNSOLVABLE)
