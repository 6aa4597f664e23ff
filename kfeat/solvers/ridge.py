"""Ridge regression from moments, which needs no features in memory, and exact kernel ridge regression."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, eigh
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.validation import column_or_1d

from kfeat.batches import Batches
from kfeat.cholesky import cholesky
from kfeat.errors import DataError, SolverError
from kfeat.kernels import Kernel
from kfeat.kernels.operands import as_operand, check_finite
from kfeat.memory import check_memory
from kfeat.parameters import check_parameters
from kfeat.solvers.base import AboveZero, Solver, Subproblem, finite, resolved_kernel
from kfeat.solvers.linear import LinearSolver

BLOCK = 4096  # rows that are centred and multiplied at a time
BLOCK_VALUES = 2**22  # kernel values at a time while predicting


@dataclass(eq=False, repr=False)
class Ridge(LinearSolver):
    """Ridge regression: min over w, b of sum_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2.

    `fit(X, y)` reads X block by block; `fit_batches` takes (features, targets) batches from any iterable, so
    that the features need not fit in memory. Memory: d^2 doubles.

    Parameters
    ----------
    alpha, fit_intercept : float, default 1.0, and bool, default True
        The weight of the penalty, above 0, and whether there is an intercept b; otherwise it is 0.

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
    out_of_core = "one pass"

    alpha: AboveZero = 1.0
    fit_intercept: bool = True

    @finite
    def fit(self, X: Any, y: Any) -> "Ridge":
        """Train on X (n, d) and y (n,); X may be batches of rows or a Dask array."""
        X, y = self._check(X, y)
        moments = X.total(Moments.of, y) if isinstance(X, Batches) else Moments.of(X, y)
        return self._fit_moments([moments])

    @finite
    def fit_batches(self, batches: Iterable[tuple[Any, Any]]) -> "Ridge":
        """Train on batches of (features (m, d), targets (m,) or (m, 1))."""
        check_parameters(self)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        return self._fit_moments(Moments.of(as_operand(X), np.asarray(y)) for X, y in batches if len(y))

    def _fit_moments(self, parts: Iterable["Moments"]) -> "Ridge":
        moments = sum_of(parts)
        train_ridge(self, moments, self.alpha, perf_counter())
        return self


@dataclass(frozen=True)
class Moments:
    """The means of n rows and sums of products about the means, which are sufficient for least squares.

    `xx` = sum_i (x_i - x_mean)(x_i - x_mean)' (d, d), `xy` (d,) and `yy` likewise, in double precision. Sums
    of moments follow Chan, Golub and LeVeque (1979), without cancellation for large means.
    """

    n: int
    x_mean: NDArray[np.float64]
    y_mean: float
    xx: NDArray[np.float64]
    xy: NDArray[np.float64]
    yy: float

    @classmethod
    def of(cls, X: Any, y: NDArray[Any]) -> Self:
        """Return the moments of rows X (n, d), dense or CSR, with targets y (n,) or (n, 1)."""
        y = column_or_1d(y)
        if len(y) != X.shape[0]:
            raise DataError(f"a batch has {X.shape[0]} rows and {len(y)} targets: give one for each row")
        d = X.shape[1]
        total = cls(0, np.zeros(d), 0.0, np.zeros((d, d)), np.zeros(d), 0.0)
        for rows in gen_batches(X.shape[0], BLOCK):
            A = (X[rows].toarray() if issparse(X) else X[rows]).astype(np.float64)
            b = np.asarray(y[rows], dtype=np.float64)
            x_mean, y_mean = A.mean(axis=0), float(b.mean())
            A -= x_mean
            b = b - y_mean
            total = total + cls(len(b), x_mean, y_mean, A.T @ A, A.T @ b, float(b @ b))
        return total

    def __add__(self, other: "Moments") -> Self:
        """Return the moments of both sets of rows together."""
        if len(self.xy) != len(other.xy):
            raise DataError(f"batches of {len(self.xy)} and of {len(other.xy)} features: give all the same")
        n = self.n + other.n
        x_step, y_step = other.x_mean - self.x_mean, other.y_mean - self.y_mean
        between = self.n * other.n / n
        return type(self)(
            n,
            self.x_mean + x_step * (other.n / n),
            self.y_mean + y_step * (other.n / n),
            self.xx + other.xx + between * np.outer(x_step, x_step),
            self.xy + other.xy + between * x_step * y_step,
            self.yy + other.yy + between * y_step**2,
        )

    def about_zero(self) -> Self:
        """Return the sums of products about zero, with means of zero: for a fit without intercept."""
        return type(self)(
            self.n,
            np.zeros_like(self.x_mean),
            0.0,
            self.xx + self.n * np.outer(self.x_mean, self.x_mean),
            self.xy + self.n * self.x_mean * self.y_mean,
            self.yy + self.n * self.y_mean**2,
        )

    def squared_error(self, w: NDArray[np.float64], b: float) -> float:
        """Return sum_i (y_i - <w, x_i> - b)^2."""
        shift = self.y_mean - self.x_mean @ w - b
        about_means = float(self.yy - 2 * self.xy @ w + w @ self.xx @ w)
        return max(about_means, 0.0) + self.n * float(shift) ** 2


def sum_of(parts: Iterable[Moments]) -> Moments:
    """Return the moments of all parts together; raises DataError without parts or for infinite moments."""
    total: Moments | None = None
    for part in parts:
        total = part if total is None else total + part
    if total is None:
        raise DataError("ridge regression needs at least one row, got none")
    check_finite(total.xx, "features, or sums of their squares,")
    check_finite(total.xy, "targets, or their products with features,")
    return total


def train_ridge(solver: Any, moments: Moments, alpha: float, start: float) -> None:
    """Train on moments and set the fitted attributes; `start` is the time when training began."""
    w, b = ridge(moments, alpha, solver.fit_intercept)
    solver.coef_, solver.intercept_, solver.n_features_in_ = w, b, len(w)
    solver.objective_ = moments.squared_error(w, b) + alpha * float(w @ w)
    solver._report([Subproblem("normal equations", 1)])
    solver.times_ = {"solve": perf_counter() - start}


def ridge(moments: Moments, alpha: float, intercept: bool) -> tuple[NDArray[np.float64], float]:
    """Return w = (xx + alpha I)^-1 xy and b = y_mean - <w, x_mean>."""
    about = moments if intercept else moments.about_zero()
    w = None
    if about.n > len(about.xy):
        # If it fails, alpha is below the rounding of the largest eigenvalues: ridge_path avoids this.
        with suppress(LinAlgError):
            A = about.xx + alpha * np.eye(len(about.xy))
            w = cho_solve(cholesky(A), about.xy)
    if w is None:
        w = ridge_path(about, np.array([alpha]))[0]
    return w, float(about.y_mean - about.x_mean @ w)


def ridge_path(about: Moments, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return w for each alpha, shape (len(alphas), d), from one eigendecomposition xx = V L V'.

    With at most as many rows as columns, the components of xy where L is 0 are only rounding errors. A small
    alpha would make them large, so they are set to 0.
    """
    values, V = eigh(about.xx)
    turned = V.T @ about.xy
    if about.n <= len(values):
        turned[values <= len(values) * np.finfo(np.float64).eps * values[-1]] = 0
    return (turned / (np.maximum(values, 0) + alphas[:, None])) @ V.T


@dataclass(eq=False, repr=False)
class KernelRidge(Solver):
    """Exact kernel ridge regression: min over f, b of sum_i (y_i - f(x_i) - b)^2 + alpha ||f||_K^2.

    f(x) = sum_i a_i K(x_i, x) with (K + alpha I) a = y - b; b makes sum_i a_i = 0, or is 0 without intercept.
    It takes 8 n^2 bytes. Raises SolverError if memory is too small, or if K + alpha I is singular to
    rounding. Saunders, Gammerman and Vovk, ICML 1998.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    alpha, fit_intercept : float, default 1.0, and bool, default True
        The weight of the penalty, above 0, and whether there is an intercept b.

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
    needs_kernel = True

    kernel: Kernel | None = None
    alpha: AboveZero = 1.0
    fit_intercept: bool = True

    @finite
    def fit(self, X: Any, y: Any) -> "KernelRidge":
        """Train on X (n, d) and y (n,)."""
        X, y = self._check(X, y)
        X = X.astype(np.float64)  # so that K and predictions are too; a copy, since X_fit_ keeps it
        n = X.shape[0]
        instead = "take fewer rows, or ridge regression on a map's features"
        check_memory(f"the Gram matrix of {n:,} rows", 8 * n * n, instead)
        start = perf_counter()
        self.kernel_ = resolved_kernel(self.kernel, X)
        K = self.kernel_(X)
        built = perf_counter()
        K[np.diag_indices(n)] += self.alpha
        try:
            factor = cholesky(K)
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
