"""Ridge regression from moments: features are seen a batch at a time, and never held."""

from collections.abc import Iterable
from contextlib import suppress
from time import perf_counter
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray
from pydantic import FiniteFloat
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from kfeat.kernels.operands import as_operand
from kfeat.parameters import check_parameters
from kfeat.solvers.base import LinearSolver, OutOfCore, Subproblem, Task, finite
from kfeat.solvers.ridge.moments import Moments, finite_sum_of, moments_of


class Ridge(LinearSolver):
    """Ridge regression: min over w, b of sum_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2.

    `fit(X, y)` reads X a block at a time; `fit_batches` takes (features, targets) batches from any iterable,
    so that mapped features need never exist at once. Memory: d^2 doubles.

    Parameters
    ----------
    alpha : float, default 1.0
        The weight of the penalty, above 0.
    fit_intercept : bool, default True
        Whether there is a b; otherwise it is 0.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights w.
    intercept_ : float
        The intercept b.

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

    out_of_core: ClassVar[OutOfCore] = "one pass"

    def __init__(self, alpha: Annotated[FiniteFloat, Gt(0)] = 1.0, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    @property
    def task(self) -> Task:
        """Regression."""
        return "regression"

    @finite
    def fit(self, X: Any, y: Any) -> "Ridge":
        """Train on X (n, d) and y (n,); X may be batches of rows or a Dask array."""
        X, y = self._check(X, y)
        return self._fit_moments(moments_of(X, y))

    @finite
    def fit_batches(self, batches: Iterable[tuple[Any, Any]]) -> "Ridge":
        """Train on batches of (features (m, d), targets (m,) or (m, 1))."""
        check_parameters(self)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        parts = (Moments.of(as_operand(X), np.asarray(y)) for X, y in batches if len(y))
        return self._fit_moments(finite_sum_of(parts))

    def _fit_moments(self, moments: Moments) -> "Ridge":
        start = perf_counter()
        self.coef_, self.intercept_ = ridge(moments, self.alpha, self.fit_intercept)
        self.n_features_in_ = len(self.coef_)
        self.objective_ = ridge_objective(moments, self.coef_, self.intercept_, self.alpha)
        self._report([Subproblem("normal equations", 1)])
        self.times_ = {"solve": perf_counter() - start}
        return self


def ridge(moments: Moments, alpha: float, intercept: bool) -> tuple[NDArray[np.float64], float]:
    """Return w = (xx + alpha I)^-1 xy and b = y_mean - <w, x_mean>."""
    about = moments if intercept else moments.about_zero()
    w = None
    if about.n > len(about.xy):
        # Where that fails, alpha is lost beside the largest eigenvalues: keep it away from them.
        with suppress(LinAlgError):
            A = about.xx + alpha * np.eye(len(about.xy))
            w = cho_solve(cho_factor(A.T, overwrite_a=True), about.xy)
    if w is None:
        w = ridge_path(about, np.array([alpha]))[0]
    return w, float(about.y_mean - about.x_mean @ w)


def ridge_objective(moments: Moments, w: NDArray[np.float64], b: float, alpha: float) -> float:
    """Return sum_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2."""
    return moments.squared_error(w, b) + alpha * float(w @ w)


def ridge_path(about: Moments, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return w for each alpha, shape (len(alphas), d), from one eigendecomposition xx = V L V'.

    Of no more rows than columns, xy has no part where L is 0, but for rounding, which a small alpha would
    blow up: that is left out, since other rows have a part there.
    """
    values, V = eigh(about.xx)
    turned = V.T @ about.xy
    if about.n <= len(values):
        turned[values <= len(values) * np.finfo(np.float64).eps * values[-1]] = 0
    return (turned / (np.maximum(values, 0) + alphas[:, None])) @ V.T
