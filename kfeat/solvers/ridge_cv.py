"""Ridge regression with alpha chosen by cross-validation, from moments of the folds."""

from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, helmert
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from kfeat.batches import Batches
from kfeat.errors import DataError, ParameterError
from kfeat.kernels.operands import as_operand
from kfeat.parameters import Folds, Seed, check_parameters
from kfeat.solvers.base import AboveZero, finite
from kfeat.solvers.cross_validation import AboveOne, geometric_grid
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.ridge import BLOCK, Moments, ridge_path, sum_of, train_ridge


@dataclass(eq=False, repr=False)
class RidgeCV(LinearSolver):
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
    out_of_core = "one pass"

    alpha_min: AboveZero = 1e-6
    alpha_max: AboveZero = 1e3
    alpha_factor: AboveOne = 10.0
    folds: Folds | None = 5
    fit_intercept: bool = True
    random_state: Seed | None = None

    def learnt_parameters(self) -> dict[str, float]:
        """Return the chosen alpha."""
        return {"alpha": self.alpha_}

    @finite
    def fit(self, X: Any, y: Any) -> "RidgeCV":
        """Choose alpha on X (n, d) and y (n,), and train with it on all rows; with folds X may be batches."""
        X, y = self._check(X, y)
        if isinstance(X, Batches):
            return self.fit_batches(X.each(lambda rows, targets: (rows, targets), y))
        if self.folds is not None:
            return self._fit_folds([(X, y)])
        start = perf_counter()
        if len(y) < 2:
            raise DataError(f"RidgeCV: leaving one out needs at least two rows, got n_samples = {len(y)}")
        moments, self.alphas_ = Moments.of(X, y), self._alphas()
        errors = leave_one_out_errors(moments, X, y, self.alphas_, self.fit_intercept)
        return self._train(moments, errors, start)

    @finite
    def fit_batches(self, batches: Iterable[tuple[Any, Any]]) -> "RidgeCV":
        """Choose alpha and train on batches of (features (m, d), targets (m,)); needs `folds`."""
        check_parameters(self)
        if self.folds is None:
            raise ParameterError("RidgeCV: leaving one out needs the features again: give folds, or call fit")
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        return self._fit_folds(batches)

    def _fit_folds(self, batches: Iterable[tuple[Any, Any]]) -> "RidgeCV":
        start = perf_counter()
        size = self.folds or 0
        parts: dict[int, Moments] = {}
        rng = np.random.default_rng(int(self.random_state or 0))
        unfinished = np.empty(0, dtype=np.intp)
        n = 0
        for features, y in batches:
            if not len(y):
                continue
            X = as_operand(features)
            # Each round has every fold once in random order, and continues over the end of a batch, so that
            # folds have equal sizes for batches of any size.
            rounds = rng.permuted(np.tile(np.arange(size), (len(y) // size + 2, 1)), axis=1).reshape(-1)
            order = np.concatenate([unfinished, rounds])
            fold, order = order[: len(y)], order[len(y) :]
            n += len(y)
            unfinished = order[: -n % size]
            for k in np.unique(fold):
                moments = Moments.of(X[fold == k], np.asarray(y)[fold == k])
                parts[k] = parts[k] + moments if k in parts else moments
        if n < size:
            raise DataError(f"RidgeCV: {size} folds need as many rows, got n_samples = {n}")
        folds = [parts[k] for k in sorted(parts)]
        total, self.alphas_ = sum_of(folds), self._alphas()
        return self._train(total, fold_errors(folds, self.alphas_, self.fit_intercept), start)

    def _alphas(self) -> NDArray[np.float64]:
        return geometric_grid(self.alpha_min, self.alpha_max, self.alpha_factor)

    def _train(self, moments: Moments, errors: NDArray[np.float64], start: float) -> "RidgeCV":
        self.cv_errors_ = np.where(np.isfinite(errors), errors, np.inf)
        self.alpha_ = float(self.alphas_[np.argmin(self.cv_errors_)])
        train_ridge(self, moments, self.alpha_, start)
        return self


def fold_errors(parts: list[Moments], alphas: NDArray[np.float64], intercept: bool) -> NDArray[np.float64]:
    """Return the mean squared error of the held-out rows of all folds, for each alpha."""
    errors = np.zeros(len(alphas))
    for held_out in parts:
        seen = sum_of(part for part in parts if part is not held_out)
        about = seen if intercept else seen.about_zero()
        for k, w in enumerate(ridge_path(about, alphas)):
            errors[k] += held_out.squared_error(w, float(about.y_mean - about.x_mean @ w))
    return errors / sum(part.n for part in parts)


def leave_one_out_errors(
    moments: Moments, X: Any, y: NDArray[np.float64], alphas: NDArray[np.float64], intercept: bool
) -> NDArray[np.float64]:
    """Return the mean squared error of each row under the fit without it, for each alpha."""
    about = moments if intercept else moments.about_zero()
    if about.n - intercept <= len(about.xy):  # centred rows have one dimension less
        return _leave_one_out_of_few(about, X, y, alphas, intercept)
    values, V = eigh(about.xx)
    shrunk = 1 / (np.maximum(values, 0) + alphas[:, None])
    turned_w = (V.T @ about.xy) * shrunk
    errors = np.zeros(len(alphas))
    for rows in gen_batches(X.shape[0], BLOCK):
        turned = X[rows].astype(np.float64) @ V - about.x_mean @ V
        residuals = (y[rows] - about.y_mean)[:, None] - turned @ turned_w.T
        leverage = turned**2 @ shrunk.T + (1 / about.n if intercept else 0)
        errors += ((residuals / (1 - leverage)) ** 2).sum(axis=0)
    return errors / about.n


def _leave_one_out_of_few(
    about: Moments, X: Any, y: NDArray[np.float64], alphas: NDArray[np.float64], intercept: bool
) -> NDArray[np.float64]:
    """Return the same for at most as many centred rows as columns, where 1 - leverage is lost to rounding.

    The error of row i is (D y)_i / D_ii with D = Q' (Q K Q' + alpha I)^-1 Q and the Gram matrix K. The rows
    of Q are an orthonormal basis of the vectors with sum 0, or without intercept of all vectors.
    """
    Q = helmert(about.n) if intercept else np.eye(about.n)
    centred = X.astype(np.float64)
    if not issparse(X):
        centred -= about.x_mean
    K = centred @ centred.T
    values, U = eigh(Q @ (K.toarray() if issparse(K) else K) @ Q.T)
    V, shrunk = Q.T @ U, 1 / (np.maximum(values, 0) + alphas[:, None])
    errors = ((V.T @ y) * shrunk) @ V.T / (shrunk @ (V**2).T)
    return np.asarray((errors**2).mean(axis=1))
