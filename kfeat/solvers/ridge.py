"""Ridge regression from moments, alpha given or cross-validated, and exact kernel ridge regression."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, eigh, helmert
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.validation import column_or_1d

from kfeat.batches import Batches
from kfeat.errors import DataError, ParameterError, SolverError
from kfeat.kernels import Kernel
from kfeat.kernels.base import as_operand, check_finite
from kfeat.memory import check_memory
from kfeat.parameters import Folds, Seed, check_parameters
from kfeat.solvers.base import AboveZero, Solver, Subproblem, Target, finite, resolved_kernel
from kfeat.solvers.cross_validation import AboveOne, geometric_grid
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.newton_system import WIDE, cholesky, is_wide
from kfeat.solvers.sparse_system import ridge_path_of_sparse
from kfeat.text import counted

BLOCK = 4096  # rows that are centred and multiplied at a time
BLOCK_VALUES = 2**22  # kernel values at a time while predicting
FOLD_RESIDUAL, FOLD_STEPS = 1e-3, 300  # of conjugate gradients in a fold: errors need three digits


@dataclass(eq=False, repr=False)
class Ridge(LinearSolver):
    """Ridge regression: min over w, b of sum_i c_i (y_i - <w, x_i> - b)^2 + alpha ||w||^2, c_i the weights.

    `fit(X, y)` reads X block by block; `fit_batches` takes (features, targets) batches from any iterable, so
    that the features need not fit in memory. Memory: d^2 doubles. Of a CSR matrix with more than 1,024
    columns no such matrix is formed: conjugate gradients take it as it is.

    Parameters
    ----------
    alpha, fit_intercept : float, default 1.0, and bool, default True
        The weight of the penalty, above 0, and whether there is an intercept b; otherwise it is 0.
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
    out_of_core = "one pass"

    alpha: AboveZero = 1.0
    fit_intercept: bool = True
    target: Target = "none"

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of the targets, the moments and their factor."""
        return 8.0 * k * n + 24.0 * D**2

    @finite
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Ridge":
        """Train on X (n, d), y (n,) and weights (n,); X may be batches of rows or a Dask array."""
        X, y, sample_weight = self._check_weighted(X, y, sample_weight)
        if is_wide(X):
            return train_sparse_ridge(self, X, y, sample_weight, self.alpha, perf_counter())
        aligned = [y] if sample_weight is None else [y, sample_weight]
        moments = X.total(Moments.of, *aligned) if isinstance(X, Batches) else Moments.of(X, *aligned)
        return self._fit_moments([moments])

    @finite
    def fit_batches(self, batches: Iterable[tuple[Any, Any]]) -> "Ridge":
        """Train on batches of (features (m, d), targets (m,) or (m, 1))."""
        begin_batches(self)
        return self._fit_moments(Moments.of(as_operand(X), np.asarray(y)) for X, y in batches if len(y))

    def _fit_moments(self, parts: Iterable["Moments"]) -> "Ridge":
        moments = sum_of(parts)
        train_ridge(self, moments, self.alpha, perf_counter())
        return self


def begin_batches(solver: Any) -> None:
    """Check the parameters before batches; raises ParameterError for a scale that all targets determine."""
    check_parameters(solver)
    if solver.target != "none":
        raise ParameterError(f"{type(solver).__name__}: target: {solver.target} needs all targets: call fit")
    for name in ("feature_names_in_", "target_"):  # of an earlier fit
        solver.__dict__.pop(name, None)


@dataclass(frozen=True)
class Moments:
    """The means of n rows and sums of products about the means, which are sufficient for least squares.

    `xx` = sum_i (x_i - x_mean)(x_i - x_mean)' (d, d), `xy` (d,) and `yy` likewise, in double precision. Sums
    of moments follow Chan, Golub and LeVeque (1979), without cancellation for large means. With weights of
    rows, n is their sum, and all means and sums are weighted.
    """

    n: float
    x_mean: NDArray[np.float64]
    y_mean: float
    xx: NDArray[np.float64]
    xy: NDArray[np.float64]
    yy: float

    @classmethod
    def of(cls, X: Any, y: NDArray[Any], weights: Any = None) -> Self:
        """Return the moments of rows X (n, d), dense or CSR, targets y (n,) or (n, 1), and weights (n,)."""
        y = column_or_1d(y)
        if len(y) != X.shape[0]:
            found = f"{counted(X.shape[0], 'rows')} and {counted(len(y), 'targets')}"
            raise DataError(f"a batch has {found}: give a target for each row")
        d = X.shape[1]
        total = cls(0, np.zeros(d), 0.0, np.zeros((d, d)), np.zeros(d), 0.0)
        for rows in gen_batches(X.shape[0], BLOCK):
            A = (X[rows].toarray() if issparse(X) else X[rows]).astype(np.float64)
            b = np.asarray(y[rows], dtype=np.float64)
            w = None if weights is None else weights[rows]
            x_mean, y_mean = np.average(A, axis=0, weights=w), float(np.average(b, weights=w))
            A -= x_mean
            b = b - y_mean
            if w is not None:
                A *= np.sqrt(w)[:, None]
                b *= np.sqrt(w)
            n = len(b) if w is None else float(w.sum())
            total = total + cls(n, x_mean, y_mean, A.T @ A, A.T @ b, float(b @ b))
        return total

    def __add__(self, other: "Moments") -> Self:
        """Return the moments of both sets of rows together."""
        if len(self.xy) != len(other.xy):
            features = counted(len(self.xy), "features")
            raise DataError(f"batches of {features} and of {len(other.xy):,}: give all the same")
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


def train_sparse_ridge(
    solver: Any, X: Any, y: NDArray[np.float64], weights: Any, alpha: float, start: float
) -> Any:
    """Train on a wide CSR matrix by conjugate gradients and set the fitted attributes, as `train_ridge`."""
    path = ridge_path_of_sparse(X, y, weights, np.array([alpha]), solver.fit_intercept)
    W, b, converged, steps = path
    solver.coef_, solver.intercept_, solver.n_features_in_ = W[0], float(b[0]), X.shape[1]
    residuals = y - solver._scores(X)[:, 0]
    squares = residuals**2 if weights is None else weights * residuals**2
    solver.objective_ = float(squares.sum()) + alpha * float(W[0] @ W[0])
    reason = "tolerance" if converged[0] else "iteration limit"
    solver._report([Subproblem("conjugate gradients", steps, reason)])
    solver.times_ = {"solve": perf_counter() - start}
    return solver


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
    """Exact kernel ridge regression: min over f, b of sum_i c_i (y_i - f(x_i) - b)^2 + alpha ||f||_K^2.

    f(x) = sum_i a_i K(x_i, x) with (K + alpha diag(1 / c)) a = y - b and the weights c of rows; b makes
    sum_i a_i = 0, or is 0 without intercept.
    It takes 8 n^2 bytes. Raises SolverError if memory is too small, or if K + alpha I is singular to
    rounding. Saunders, Gammerman and Vovk, ICML 1998.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    alpha, fit_intercept : float, default 1.0, and bool, default True
        The weight of the penalty, above 0, and whether there is an intercept b.
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
    needs_kernel = True

    kernel: Kernel | None = None
    alpha: AboveZero = 1.0
    fit_intercept: bool = True
    target: Target = "none"

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of the Gram matrix and its factor."""
        return 16.0 * n**2

    @finite
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KernelRidge":
        """Train on X (n, d), y (n,) and weights (n,)."""
        X, y, weights = self._check_weighted(X, y, sample_weight)
        X = X.astype(np.float64)  # so that K and predictions are too; a copy, since X_fit_ keeps it
        n = X.shape[0]
        instead = "take fewer rows, or ridge regression on a map's features"
        check_memory(f"the Gram matrix of {n:,} rows", 8 * n * n, instead)
        start = perf_counter()
        self.kernel_ = resolved_kernel(self.kernel, X, weights)
        K = self.kernel_(X)
        built = perf_counter()
        K[np.diag_indices(n)] += self.alpha if weights is None else self.alpha / weights
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
        # At the solution residuals are alpha a / c and ||f||^2 = a'Ka = a'(y - b) - alpha a' diag(1 / c) a.
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
        return self.target_.back(values)


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
    working_bytes = staticmethod(Ridge.working_bytes)
    out_of_core = "one pass"

    alpha_min: AboveZero = 1e-6
    alpha_max: AboveZero = 1e3
    alpha_factor: AboveOne = 10.0
    folds: Folds | None = 5
    fit_intercept: bool = True
    random_state: Seed | None = None
    target: Target = "none"

    def learnt_parameters(self) -> dict[str, float]:
        """Return the chosen alpha."""
        return {"alpha": self.alpha_}

    @finite
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RidgeCV":
        """Choose alpha on X (n, d), y (n,) and weights (n,), and train; with folds X may be batches."""
        X, y, weights = self._check_weighted(X, y, sample_weight)
        if is_wide(X):
            return self._fit_sparse(X, y, weights)
        aligned = [y] if weights is None else [y, weights]
        if isinstance(X, Batches):
            return self._fit_folds(X.each(lambda *rows: rows, *aligned))
        if self.folds is not None:
            return self._fit_folds([(X, *aligned)])
        if weights is not None:
            raise ParameterError("RidgeCV: leaving one out takes no weights of rows: give folds")
        start = perf_counter()
        if len(y) < 2:
            raise DataError(f"RidgeCV: leaving one out needs at least two rows, got n_samples = {len(y)}")
        moments, self.alphas_ = Moments.of(X, y), self._alphas()
        errors = leave_one_out_errors(moments, X, y, self.alphas_, self.fit_intercept)
        return self._train(moments, errors, start)

    @finite
    def fit_batches(self, batches: Iterable[tuple[Any, Any]]) -> "RidgeCV":
        """Choose alpha and train on batches of (features (m, d), targets (m,)); needs `folds`."""
        begin_batches(self)
        return self._fit_folds(batches)

    def _fit_folds(self, batches: Iterable[tuple[Any, ...]]) -> "RidgeCV":
        """Choose alpha and train on batches of (features, targets), perhaps with weights as well."""
        if self.folds is None:
            raise ParameterError("RidgeCV: leaving one out needs the features again: give folds, or call fit")
        start, size = perf_counter(), self.folds
        parts: dict[int, Moments] = {}
        rng = np.random.default_rng(int(self.random_state or 0))
        unfinished = np.empty(0, dtype=np.intp)
        n = 0
        for features, *aligned in batches:
            X, aligned = as_operand(features), [np.asarray(values) for values in aligned]
            if not len(y := aligned[0]):
                continue
            order = np.concatenate([unfinished, rounds_of_folds(len(y), size, rng)])
            fold, order = order[: len(y)], order[len(y) :]
            n += len(y)
            unfinished = order[: -n % size]
            for k in np.unique(fold):
                moments = Moments.of(X[fold == k], *(values[fold == k] for values in aligned))
                parts[k] = parts[k] + moments if k in parts else moments
        _check_rows(n, size)
        folds = [parts[k] for k in sorted(parts)]
        total, self.alphas_ = sum_of(folds), self._alphas()
        return self._train(total, fold_errors(folds, self.alphas_, self.fit_intercept), start)

    def _fit_sparse(self, X: Any, y: NDArray[np.float64], weights: Any) -> "RidgeCV":
        """Choose alpha and train on a wide CSR matrix; one run of a fold has all alphas.

        An alpha whose system is not solved in FOLD_STEPS is not chosen: its solution is that of a larger one.
        """
        if self.folds is None:
            raise ParameterError(
                f"RidgeCV: leaving one out takes up to {WIDE:,} sparse features, got {X.shape[1]:,}: give "
                "folds"
            )
        start, size, n = perf_counter(), self.folds, len(y)
        _check_rows(n, size)
        fold = rounds_of_folds(n, size, np.random.default_rng(int(self.random_state or 0)))[:n]
        self.alphas_ = self._alphas()
        errors = np.zeros(len(self.alphas_))
        for k in range(size):
            seen, held = fold != k, fold == k
            c = None if weights is None else weights[seen]
            W, b, solved, _ = ridge_path_of_sparse(
                X[seen], y[seen], c, self.alphas_, self.fit_intercept, FOLD_RESIDUAL, FOLD_STEPS
            )
            residuals = y[held, None] - X[held] @ W.T - b
            errors += np.average(residuals**2, axis=0, weights=None if weights is None else weights[held])
            errors[~solved] = np.inf
        self.cv_errors_ = errors / size
        self.alpha_ = float(self.alphas_[np.argmin(self.cv_errors_)])
        return train_sparse_ridge(self, X, y, weights, self.alpha_, start)

    def _alphas(self) -> NDArray[np.float64]:
        return geometric_grid(self.alpha_min, self.alpha_max, self.alpha_factor)

    def _train(self, moments: Moments, errors: NDArray[np.float64], start: float) -> "RidgeCV":
        self.cv_errors_ = np.where(np.isfinite(errors), errors, np.inf)
        self.alpha_ = float(self.alphas_[np.argmin(self.cv_errors_)])
        train_ridge(self, moments, self.alpha_, start)
        return self


def _check_rows(n: int, folds: int) -> None:
    if n < folds:
        raise DataError(f"RidgeCV: {folds} folds need as many rows, got n_samples = {n}")


def rounds_of_folds(n: int, folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return fold numbers for n rows and more: each round has every fold once, in random order.

    The next batch of rows continues the round, so folds have equal sizes for batches of any size.
    """
    return rng.permuted(np.tile(np.arange(folds), (n // folds + 2, 1)), axis=1).reshape(-1)


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
    Q = helmert(X.shape[0]) if intercept else np.eye(X.shape[0])
    centred = X.astype(np.float64)
    if not issparse(X):
        centred -= about.x_mean
    K = centred @ centred.T
    values, U = eigh(Q @ (K.toarray() if issparse(K) else K) @ Q.T)
    V, shrunk = Q.T @ U, 1 / (np.maximum(values, 0) + alphas[:, None])
    errors = ((V.T @ y) * shrunk) @ V.T / (shrunk @ (V**2).T)
    return np.asarray((errors**2).mean(axis=1))
