"""What regressions and classes by least squares share: how they are trained, with a kernel and without.

A class is learnt against the rest, with the targets 1 and -1; two classes are one such problem.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve
from sklearn.utils import gen_batches

from kfeat.batches import Batches
from kfeat.errors import DataError, ParameterError, SolverError
from kfeat.kernels import Kernel
from kfeat.kernels.operands import as_operand
from kfeat.memory import check_memory
from kfeat.parameters import Folds, Iterations, Seed
from kfeat.solvers.base import (
    AboveZero,
    Solver,
    Subproblem,
    available_when,
    classifies,
    finite,
    resolved_kernel,
)
from kfeat.solvers.cross_validation import AboveOne, geometric_grid
from kfeat.solvers.linear import LinearSolver, largest_score
from kfeat.solvers.moments import Intercept, Moments, ridge, sum_of
from kfeat.solvers.newton_system import LARGE, WIDE, cholesky, is_wide
from kfeat.solvers.ridge_errors import check_rows, fold_errors, leave_one_out_errors, rounds_of_folds
from kfeat.solvers.sparse_system import (
    MOST_STEPS,
    RESIDUAL,
    held_out_values,
    ridge_path_of_sparse,
    ridges_of_sparse,
)

BLOCK_VALUES = 2**22  # kernel values at a time while predicting
FOLD_RESIDUAL, FOLD_STEPS = 1e-3, 300  # of conjugate gradients in a fold: errors need three digits


def targets_of(solver: Solver, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return what least squares learn: the targets (n,), or for positions of classes the signs.

    The signs are (n,) for two classes, else (n, classes).
    """
    if solver.task == "regression":
        return y
    if len(solver.classes_) == 2:
        return np.where(y == 1, 1.0, -1.0)
    return np.where(y[:, None] == np.arange(len(solver.classes_)), 1.0, -1.0)


@dataclass(eq=False, repr=False)
class LeastSquares(LinearSolver):
    """The common part of Ridge and RidgeClassifier."""

    out_of_core = "one pass"

    alpha: AboveZero = 1.0
    fit_intercept: Intercept = True
    tol: AboveZero = RESIDUAL
    max_iter: Iterations = MOST_STEPS

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of the targets, the moments and their factor."""
        return 8.0 * k * n + 24.0 * D**2

    @finite
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X (n, d), y (n,) and weights (n,); X may be batches of rows or a Dask array."""
        X, y, weights = self._check_weighted(X, y, sample_weight)
        y, start = targets_of(self, y), perf_counter()
        if is_wide(X):
            return train_sparse(self, X, y, weights, self.alpha, start, self.tol, self.max_iter)
        aligned = [y] if weights is None else [y, weights]
        moments = X.total(Moments.of, *aligned) if isinstance(X, Batches) else Moments.of(X, *aligned)
        return train(self, sum_of([moments]), self.alpha, start)


def train(solver: Any, moments: Moments, alpha: float, start: float) -> Any:
    """Train on moments and set the fitted attributes; `start` is the time when training began."""
    w, b = ridge(moments, alpha, solver.fit_intercept)
    solver.objective_ = moments.squared_error(w, b) + alpha * float(np.vdot(w, w))
    solver._report([Subproblem("normal equations", 1)] * (w.shape[1] if w.ndim == 2 else 1))
    return _finish(solver, w, b, start)


def train_sparse(
    solver: Any, X: Any, y: NDArray[np.float64], weights: Any, alpha: float, start: float,
    tolerance: float = RESIDUAL, most: int = MOST_STEPS,
) -> Any:  # fmt: skip
    """Train on a wide CSR matrix by conjugate gradients and set the fitted attributes, as `train`."""
    if y.ndim == 1:
        path = ridge_path_of_sparse(X, y, weights, np.array([alpha]), solver.fit_intercept, tolerance, most)
        w, b, converged, steps = path[0][0], path[1][0], path[2].tolist(), [path[3]]
    else:
        w, b, converged, steps = ridges_of_sparse(X, y, weights, alpha, solver.fit_intercept, tolerance, most)
    residuals = y - X @ w - b
    squares = residuals**2 if weights is None else (weights * residuals.T**2).T
    solver.objective_ = float(squares.sum()) + alpha * float(np.vdot(w, w))
    reasons = ["tolerance" if reached else "iteration limit" for reached in converged]
    solver._report([Subproblem("conjugate gradients", *how) for how in zip(steps, reasons, strict=True)])
    return _finish(solver, w, b, start)


def _finish(solver: Any, w: NDArray[np.float64], b: Any, start: float) -> Any:
    """Set the coefficients, in the shapes of regressions or classes, and the time."""
    solver.n_features_in_ = len(w)
    if solver.task == "regression":
        solver.coef_, solver.intercept_ = w, float(b)
    else:
        solver.coef_, solver.intercept_ = np.atleast_2d(w.T), np.atleast_1d(b)
    solver.times_ = {"solve": perf_counter() - start}
    return solver


class KernelExpansion(Solver):
    """A regression or a classifier whose scores are f(x) + b with f(x) = sum_i a_i K(x_i, x)."""

    @abstractmethod
    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) + b for each row, (n,) or (n, classes)."""

    @available_when(classifies)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) + b: shape (n,), or (n, classes) for more than two classes."""
        return self._values(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return f(x) + b for each row, or the class with the largest of them."""
        values = self._values(X)
        if self.task == "regression":
            return self.target_.back(values)
        return self.classes_[largest_score(values)]


@dataclass(eq=False, repr=False)
class KernelLeastSquares(KernelExpansion):
    """The common part of KernelRidge and KernelRidgeClassifier."""

    needs_kernel = True

    kernel: Kernel | None = None
    alpha: AboveZero = 1.0
    fit_intercept: Intercept = True

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of the Gram matrix, whose factor takes its place, and of a block of columns."""
        return 8.0 * n**2 + 8.0 * n * min(n, LARGE)

    @finite
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X (n, d), y (n,) and weights (n,)."""
        X, y, weights = self._check_weighted(X, y, sample_weight)
        y = targets_of(self, y)
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
        if self.fit_intercept is True:
            solutions = cho_solve(factor, np.column_stack([y, np.ones(n)]))
            a, ones = solutions[:, :-1], solutions[:, -1:]
            b = np.array([column.sum() for column in a.T]) / ones[:, 0].sum()
            a = a - ones * b
        else:
            b = np.average(y, axis=0, weights=weights) if self.fit_intercept else np.zeros(y.shape[1:])
            b = np.atleast_1d(b)
            a = cho_solve(factor, y.reshape(n, -1) - b)
        self.X_fit_ = X
        # At the solution residuals are alpha a / c and ||f||^2 = a'Ka = a'(y - b) - alpha a' diag(1 / c) a.
        self.objective_ = self.alpha * float(np.vdot(a, y.reshape(n, -1) - b))
        single = self.task == "regression"
        self.dual_coef_ = a[:, 0] if single else a
        self.intercept_: Any = float(b[0]) if single else b
        self._report([Subproblem("Cholesky", 1)] * a.shape[1])
        self.times_ = {"build": built - start, "solve": perf_counter() - built}
        return self

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) + b for each row, (n,) or (n, classes), from blocks of the kernel."""
        X = self._check_again(X)
        values = np.empty((X.shape[0], *self.dual_coef_.shape[1:]))
        step = max(1, BLOCK_VALUES // len(self.dual_coef_))
        for rows in gen_batches(X.shape[0], step):
            values[rows] = self.kernel_(X[rows], self.X_fit_) @ self.dual_coef_ + self.intercept_
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


@dataclass(eq=False, repr=False)
class LeastSquaresCV(LinearSolver):
    """The common part of RidgeCV and RidgeClassifierCV."""

    working_bytes = staticmethod(LeastSquares.working_bytes)
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose alpha on X (n, d), y (n,) and weights (n,), and train; with folds X may be batches."""
        X, y, weights = self._check_weighted(X, y, sample_weight)
        y = targets_of(self, y)
        if is_wide(X):
            start = perf_counter()
            alpha = self._choose_sparse(X, y, weights)
            return train_sparse(self, X, y, weights, alpha, start)
        aligned = [y] if weights is None else [y, weights]
        if isinstance(X, Batches):
            return self._fit_folds(X.each(lambda *rows: rows, *aligned))
        if self.folds is not None:
            return self._fit_folds([(X, *aligned)])
        if weights is not None:
            raise ParameterError(
                f"{type(self).__name__}: leaving one out takes no weights of rows: give folds"
            )
        start = perf_counter()
        if len(y) < 2:
            raise DataError(
                f"{type(self).__name__}: leaving one out needs at least two rows, got n_samples = {len(y)}"
            )
        moments, self.alphas_ = Moments.of(X, y), self._alphas()
        errors = leave_one_out_errors(moments, X, y, self.alphas_, self.fit_intercept)
        return self._train(moments, errors, start)

    def _fit_folds(self, batches: Iterable[tuple[Any, ...]]) -> Self:
        """Choose alpha and train on batches of (features, targets), perhaps with weights as well."""
        if self.folds is None:
            raise ParameterError(
                f"{type(self).__name__}: leaving one out needs the features again: give folds, or call fit"
            )
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
        check_rows(type(self).__name__, n, size)
        folds = [parts[k] for k in sorted(parts)]
        total, self.alphas_ = sum_of(folds), self._alphas()
        return self._train(total, fold_errors(folds, self.alphas_, self.fit_intercept), start)

    @finite
    def choose(self, X: Any, y: Any) -> Self:
        """Choose alpha as `fit` does; on a wide CSR matrix nothing is trained."""
        X, y, _ = self._check_weighted(X, y, None)
        if not is_wide(X):
            return self.fit(X, y if self.task == "regression" else self.classes_[y])
        self._choose_sparse(X, targets_of(self, y), None)
        return self

    def _choose_sparse(self, X: Any, y: NDArray[np.float64], weights: Any) -> float:
        """Return the chosen alpha on a wide CSR matrix; one run of a fold has all alphas and classes.

        An alpha whose system is not solved in FOLD_STEPS is not chosen: its solution is that of a larger one.
        """
        if self.folds is None:
            raise ParameterError(
                f"{type(self).__name__}: leaving one out takes up to {WIDE:,} sparse features, got "
                f"{X.shape[1]:,}: give folds"
            )
        size, n = self.folds, len(y)
        check_rows(type(self).__name__, n, size)
        fold = rounds_of_folds(n, size, np.random.default_rng(int(self.random_state or 0)))[:n]
        self.alphas_ = self._alphas()
        errors = np.zeros(len(self.alphas_))
        for k in range(size):
            errors += self._held_out_errors(X, y, weights, fold == k)
        self.cv_errors_ = errors / size
        self.alpha_ = float(self.alphas_[np.argmin(self.cv_errors_)])
        return self.alpha_

    def _held_out_errors(
        self, X: Any, y: NDArray[np.float64], weights: Any, held_out: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return for each alpha the mean squared error of rows under the fit of the others, or infinity."""
        seen = ~held_out
        c, of_held_out = (None, None) if weights is None else (weights[seen], weights[held_out])
        how = c, self.alphas_, self.fit_intercept
        steps = FOLD_RESIDUAL, FOLD_STEPS
        if y.ndim == 1:
            W, b, solved, _ = ridge_path_of_sparse(X[seen], y[seen], *how, *steps)
            squares = (y[held_out, None] - X[held_out] @ W.T - b) ** 2
        else:
            values, converged = held_out_values(X[seen], y[seen], *how, X[held_out], *steps)
            squares = ((y[held_out] - values) ** 2).sum(axis=2).T
            solved = np.array([all_classes.all() for all_classes in converged])
        return np.where(solved, np.average(squares, axis=0, weights=of_held_out), np.inf)

    def _alphas(self) -> NDArray[np.float64]:
        return geometric_grid(self.alpha_min, self.alpha_max, self.alpha_factor)

    def _train(self, moments: Moments, errors: NDArray[np.float64], start: float) -> Self:
        self.cv_errors_ = np.where(np.isfinite(errors), errors, np.inf)
        self.alpha_ = float(self.alphas_[np.argmin(self.cv_errors_)])
        return train(self, moments, self.alpha_, start)
