"""Errors of ridge regressions on rows that are held out: in folds, from moments, and one by one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, helmert
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from kfeat.errors import DataError
from kfeat.solvers.moments import BLOCK, Moments, ridge_path, without_each


def check_rows(name: str, n: int, folds: int) -> None:
    """Raise DataError, which names the solver, if there are fewer rows than folds."""
    if n < folds:
        raise DataError(f"{name}: {folds} folds need as many rows, got n_samples = {n}")


def rounds_of_folds(n: int, folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return fold numbers for n rows and more: each round has every fold once, in random order.

    The next batch of rows continues the round, so folds have equal sizes for batches of any size.
    """
    return rng.permuted(np.tile(np.arange(folds), (n // folds + 2, 1)), axis=1).reshape(-1)


def fold_errors(parts: list[Moments], alphas: NDArray[np.float64], intercept: bool) -> NDArray[np.float64]:
    """Return the mean squared error of the held-out rows of all folds, for each alpha."""
    errors = np.zeros(len(alphas))
    for held_out, seen in zip(parts, without_each(parts), strict=True):
        about = seen.about(intercept)
        for k, w in enumerate(ridge_path(about, alphas)):
            errors[k] += held_out.squared_error(w, about.y_mean - about.x_mean @ w)
    return errors / sum(part.n for part in parts)


def leave_one_out_errors(
    moments: Moments, X: Any, y: NDArray[np.float64], alphas: NDArray[np.float64], intercept: bool
) -> NDArray[np.float64]:
    """Return the mean squared error of each row under the fit without it, for each alpha."""
    about = moments.about(intercept)
    if about.n - intercept <= len(about.xy):  # centred rows have one dimension less
        return _leave_one_out_of_few(about, X, y, alphas, intercept)
    values, V = eigh(about.xx)
    shrunk = 1 / (np.maximum(values, 0) + alphas[:, None])
    errors = np.zeros(len(alphas))
    for rows in gen_batches(X.shape[0], BLOCK):
        turned = X[rows].astype(np.float64) @ V - about.x_mean @ V
        leverage = turned**2 @ shrunk.T + (1 / about.n if intercept else 0)
        for target, own in zip(about.by_target(), y.reshape(len(y), -1).T, strict=True):
            fitted = turned @ ((V.T @ target.xy) * shrunk).T
            residuals = (own[rows] - target.y_mean)[:, None] - fitted
            errors += ((residuals / (1 - leverage)) ** 2).sum(axis=0)
    return errors / about.n


def _leave_one_out_of_few(
    about: Moments, X: Any, y: NDArray[np.float64], alphas: NDArray[np.float64], intercept: bool
) -> NDArray[np.float64]:
    """Return the same for at most as many centred rows as columns, where 1 - leverage is lost to rounding.

    The error of row i is (D y)_i / D_ii with D = Q' (Q K Q' + alpha I)^-1 Q and the Gram matrix K. The rows
    of Q are an orthonormal basis of the vectors with sum 0, or without intercept of all vectors.
    """
    Q = helmert(X.shape[0]) if intercept else np.eye(X.shape[0])
    centred = X.astype(np.float64)
    if not issparse(X):
        centred -= about.x_mean
    K = centred @ centred.T
    values, U = eigh(Q @ (K.toarray() if issparse(K) else K) @ Q.T)
    V, shrunk = Q.T @ U, 1 / (np.maximum(values, 0) + alphas[:, None])
    leverage = shrunk @ (V**2).T
    errors = np.zeros(len(alphas))
    for own in y.reshape(len(y), -1).T:
        errors += ((((V.T @ own) * shrunk) @ V.T / leverage) ** 2).mean(axis=1)
    return errors
