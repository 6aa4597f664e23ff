"""The dual on a working set, solved by LIBSVM's sequential minimal optimisation from where it is now."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

from kfeat.errors import SolverError
from kfeat.solvers.native.library import one_at_a_time

ITERATIONS = 100_000  # of a working set; the next one goes on from there
CACHE_MB = 4000  # LIBSVM's own, more than any working set's matrix takes, so that each row is read once
FIXED = 2  # variables that stay at their bound, for the linear terms


def improved(
    H: NDArray[np.float64],
    g: NDArray[np.float64],
    x: NDArray[np.float64],
    upper: NDArray[np.float64],
    eps: float,
) -> NDArray[np.float64]:
    """Return x that minimises x' H x / 2 + c' x to the tolerance eps, or for ITERATIONS.

    0 <= x <= upper and sum x stays as it is; g = H' x + c is the gradient at the x that is given, all (q,).

    The only problem of LIBSVM's with bounds and a sum of one's own is the one-class SVM, min x' H x / 2, and
    it starts with its first variables at their upper bounds. So (1) the linear terms c are the column of a
    variable that is fixed at 1, and what float32 loses of them the column of another: with a large negative
    diagonal these stay at their bound. And (2) a variable between its bounds is two, with the same row of H:
    one of what it has now, full, and one of what it can still get, empty. LIBSVM then starts at x. In units
    near the largest bound, powers of two, H changes and the gradient does not. Raises SolverError where
    LIBSVM's float32 does not hold all of H.
    """
    unit = 2.0 ** (np.frexp(upper.max())[1] - 1)
    H, x, upper = H * unit, x / unit, upper / unit
    full, zero = np.flatnonzero(x >= upper), np.flatnonzero(x <= 0)
    free = np.flatnonzero((x > 0) & (x < upper))
    of = np.concatenate([full, free, free, zero])
    room = np.concatenate([upper[full], x[free], upper[free] - x[free], upper[zero]])
    c = (g - x @ H)[of]
    Q = np.zeros((FIXED + len(of), FIXED + len(of)))
    Q[FIXED:, FIXED:] = H[np.ix_(of, of)]
    Q[0, FIXED:] = c.astype(np.float32)
    Q[1, FIXED:] = c - Q[0, FIXED:]
    Q[FIXED:, :FIXED] = Q[:FIXED, FIXED:].T
    Q[0, 0] = Q[1, 1] = -2 * np.abs(c).sum() - 1
    if not np.abs(Q).max() <= np.finfo(np.float32).max:
        raise SolverError("kernel values differ by too much for single precision: scale the features down")
    bounds = np.concatenate([np.ones(FIXED), room])
    share = min(1.0, (FIXED + x.sum()) / bounds.sum())
    machine = OneClassSVM(
        kernel="precomputed",
        nu=share,
        tol=eps,
        cache_size=CACHE_MB,
        max_iter=ITERATIONS,
        shrinking=False,
    )
    with one_at_a_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(Q, sample_weight=bounds)
    solution = np.zeros(len(Q))
    solution[machine.support_] = machine.dual_coef_[0]
    better = np.bincount(of, solution[FIXED:], minlength=len(x)).astype(np.float64)
    return unit * np.where(better > upper * (1 - 1e-12), upper, better)
