"""Exact kernel ridge regression, for as many rows as a Gram matrix fits."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.utils import gen_batches

from kfeat.errors import SolverError
from kfeat.kernels import Kernel
from kfeat.memory import check_memory
from kfeat.solvers.base import AboveZero, Solver, Subproblem, finite, resolved_kernel

BLOCK_VALUES = 2**22  # kernel values held while predicting


@dataclass(eq=False, repr=False)
class KernelRidge(Solver):
    """Exact kernel ridge regression: min over f, b of sum_i (y_i - f(x_i) - b)^2 + alpha ||f||_K^2.

    f(x) = sum_i a_i K(x_i, x) with (K + alpha I) a = y - b; b makes sum_i a_i = 0, or is 0 without intercept.
    Takes 8 n^2 bytes; raises SolverError where they are not free, or where K + alpha I is singular to
    rounding. Saunders, Gammerman and Vovk, ICML 1998.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    alpha : float, default 1.0
        The weight of the penalty, above 0.
    fit_intercept : bool, default True
        Whether there is a b.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its bandwidth a number.
    dual_coef_ : ndarray of shape (n,)
        The coefficients a.
    intercept_ : float
        The intercept b.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import KernelRidge
    >>> solver = KernelRidge(Gaussian(gamma="median"), alpha=0.1).fit(X, y)
    >>> solver.score(X, y) > 0.5
    True
    """

    task = "regression"
    needs_kernel: ClassVar[bool] = True

    kernel: Kernel | None = None
    alpha: AboveZero = 1.0
    fit_intercept: bool = True

    @finite
    def fit(self, X: Any, y: Any) -> "KernelRidge":
        """Train on X (n, d) and y (n,)."""
        X, y = self._check(X, y)
        X = X.astype(np.float64)  # so is K, and then predictions; a copy, since X_fit_ keeps it
        n = X.shape[0]
        instead = "take fewer rows, or ridge regression on a map's features"
        check_memory(f"the Gram matrix of {n:,} rows", 8 * n * n, instead)
        start = perf_counter()
        self.kernel_ = resolved_kernel(self.kernel, X)
        K = self.kernel_(X)
        built = perf_counter()
        K[np.diag_indices(n)] += self.alpha
        try:
            factor = cho_factor(K.T, overwrite_a=True)  # K.T: LAPACK's order, so that nothing is copied
        except LinAlgError:
            raise SolverError(
                f"K + alpha I is singular to rounding with alpha = {self.alpha}: take a larger alpha"
            ) from None
        solutions = cho_solve(factor, np.stack([y, np.ones(n)], axis=1))
        self.intercept_ = float(solutions[:, 0].sum() / solutions[:, 1].sum()) if self.fit_intercept else 0.0
        self.dual_coef_ = solutions[:, 0] - self.intercept_ * solutions[:, 1]
        self.X_fit_ = X
        # At the solution residuals are alpha a and ||f||^2 = a'Ka = a'(y - b) - alpha a'a.
        self.objective_ = self.alpha * float(self.dual_coef_ @ (y - self.intercept_))
        self._report([Subproblem("Cholesky", 1)])
        self.times_ = {"build": built - start, "solve": perf_counter() - built}
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) + b for each row, from blocks of the kernel."""
        X = self._check_again(X)
        values = np.empty(X.shape[0])
        step = max(1, BLOCK_VALUES // len(self.dual_coef_))
        for rows in gen_batches(X.shape[0], step):
            values[rows] = self.kernel_(X[rows], self.X_fit_) @ self.dual_coef_ + self.intercept_
        return values
