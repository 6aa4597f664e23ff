"""Ridge regression from moments, alpha given or cross-validated, and exact kernel ridge regression."""

from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np

from kfeat.errors import ParameterError
from kfeat.kernels.operands import as_operand
from kfeat.parameters import check_parameters
from kfeat.solvers.base import Target, finite
from kfeat.solvers.least_squares import KernelLeastSquares, LeastSquares, LeastSquaresCV, train
from kfeat.solvers.moments import Moments, sum_of


@dataclass(eq=False, repr=False)
class Ridge(LeastSquares):
    """Ridge regression: min over w, b of sum_i c_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2, c_i the weights.

    `fit(X, y)` reads X block by block; `fit_batches` takes (features, targets) batches from any iterable, so
    that the features need not fit in memory. Memory: d^2 doubles. Of a CSR matrix with more than 1,024
    columns no such matrix is formed: conjugate gradients take it as it is.

    Parameters
    ----------
    alpha, fit_intercept : float, default 1.0, and bool or "mean", default True
        The weight of the penalty, above 0, and whether there is an intercept b; otherwise it is 0. With
        "mean", b is the mean of the targets, and the rows are not centred, as in some papers.
    tol, max_iter : float, default 1e-6, and int, default 1000
        Where conjugate gradients solve it: they stop at this residual, relative to the right side, or after
        so many steps.
    target : {"none", "log", "power"}, default "none"
        The scale on which the targets are learnt: their own, log(1 + y), or that of Yeo and Johnson.
        Predictions come back in the targets' own units, within their range.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kfeat.solvers import Ridge
    >>> whole = Ridge(alpha=0.1).fit(X, y)
    >>> batches = Ridge(alpha=0.1).fit_batches([(X[:300], y[:300]), (X[300:], y[300:])])
    >>> bool(abs(whole.coef_ - batches.coef_).max() < 1e-6)
    True
    """

    task = "regression"

    target: Target = "none"

    @finite
    def fit_batches(self, batches: Iterable[tuple[Any, Any]]) -> Self:
        """Train on batches of (features (m, d), targets (m,) or (m, 1))."""
        begin_batches(self)
        parts = (Moments.of(as_operand(X), np.asarray(y)) for X, y in batches if len(y))
        start = perf_counter()
        return train(self, sum_of(parts), self.alpha, start)


def begin_batches(solver: Any) -> None:
    """Check the parameters before batches; raises ParameterError for a scale that all targets determine."""
    check_parameters(solver)
    if solver.target != "none":
        raise ParameterError(f"{type(solver).__name__}: target: {solver.target} needs all targets: call fit")
    for name in ("feature_names_in_", "target_"):  # of an earlier fit
        solver.__dict__.pop(name, None)


@dataclass(eq=False, repr=False)
class KernelRidge(KernelLeastSquares):
    """Exact kernel ridge regression: min over f, b of sum_i c_i (y_i - f(x_i) - b)^2 + alpha ||f||_K^2.

    f(x) = sum_i a_i K(x_i, x) with (K + alpha diag(1 / c)) a = y - b and the weights c of rows; b makes
    sum_i a_i = 0, or is 0 without intercept.
    It takes 8 n^2 bytes. Raises SolverError if memory is too small, or if K + alpha I is singular to
    rounding. Saunders, Gammerman and Vovk, ICML 1998.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    alpha, fit_intercept : float, default 1.0, and bool or "mean", default True
        The weight of the penalty, above 0, and whether there is an intercept b; with "mean" it is the mean
        of the targets.
    target : {"none", "log", "power"}, default "none"
        The scale on which the targets are learnt, as in Ridge.

    Attributes
    ----------
    kernel_, dual_coef_, intercept_ : Kernel, ndarray of shape (n,), float
        The kernel with its bandwidth as a number, the coefficients a, and b.

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

    target: Target = "none"


@dataclass(eq=False, repr=False)
class RidgeCV(LeastSquaresCV):
    """Ridge regression with the best alpha by cross-validation, one eigendecomposition per fold.

    All errors are computed from the folds' moments, so features may come in batches.
    Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, equation 7.52.

    Parameters
    ----------
    alpha_min, alpha_max, alpha_factor : float, default 1e-6, 1e3 and 10
        alpha is alpha_min, alpha_min alpha_factor, ... up to alpha_max.
    folds : int or None, default 5
        The number of random folds of equal size. None leaves each row out once, in closed form: its residual
        is (y_i - f(x_i)) / (1 - h_i), with h_i the diagonal of the hat matrix.
    fit_intercept : bool, default True
        Whether there is an intercept.
    random_state : int, optional
        The seed of the folds; None is 0.
    target : {"none", "log", "power"}, default "none"
        The scale on which the targets are learnt, as in Ridge; errors are on it too.

    Attributes
    ----------
    alpha_, alphas_, cv_errors_ : float, ndarray, ndarray
        The chosen alpha, all values that were tried, and their mean squared errors.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kfeat.solvers import RidgeCV
    >>> solver = RidgeCV(alpha_min=1e-3, alpha_max=10.0, folds=None).fit(X, y)
    >>> len(solver.alphas_), bool(solver.alpha_ == solver.alphas_[solver.cv_errors_.argmin()])
    (5, True)
    """

    task = "regression"

    target: Target = "none"

    @finite
    def fit_batches(self, batches: Iterable[tuple[Any, Any]]) -> Self:
        """Choose alpha and train on batches of (features (m, d), targets (m,)); needs `folds`."""
        begin_batches(self)
        return self._fit_folds(batches)
