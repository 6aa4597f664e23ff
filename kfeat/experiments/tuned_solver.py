"""The solver that chooses gamma and C of a method, whose row has the choice."""

import warnings
from dataclasses import dataclass, field, replace
from math import isfinite
from time import perf_counter
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection
from sklearn.base import clone

from kfeat.errors import DataError
from kfeat.experiments.adapters import OtherMap
from kfeat.experiments.boosting import Boosting
from kfeat.kernels import Kernel
from kfeat.kernels.distances import squared_norms
from kfeat.kernels.dot_product import DotProductKernel
from kfeat.kernels.operands import as_operand
from kfeat.maps import FeatureMap
from kfeat.parameters import Components, Seed
from kfeat.solvers import (
    KernelRidge,
    KernelRidgeClassifier,
    Libsvm,
    LibsvmCV,
    Newton,
    NewtonCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from kfeat.solvers.base import Solver, Subproblem, Task, finite, resolved_kernel
from kfeat.solvers.least_squares import targets_of

FOLDS = 3
FACTOR = 4.0  # between neighbouring values of gamma
FIRST, MOST = 2, 5  # powers of it on either side of the data's scale: at first, and at most
COSTS = (-2, 3), (-4, 5)  # powers of ten of C: at first, and where the best lies at an end
ALPHAS = (-5, 2), (-7, 4)
TREES = {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [7, 31]}
REGRESSIONS = ("ridge", "kernel_ridge", "boosting_regression")
RIDGES: dict[str, Any] = {"ridge": RidgeCV, "ridge_classifier": RidgeClassifierCV}
KERNEL_RIDGES: dict[str, Any] = {
    "kernel_ridge": KernelRidge, "kernel_ridge_classifier": KernelRidgeClassifier,
}  # fmt: skip
# What trains with a chosen alpha or C; other solvers are cloned.
ONCE: dict[str, Any] = {
    "newton": Newton, "libsvm": Libsvm, "ridge": Ridge, "ridge_classifier": RidgeClassifier,
}  # fmt: skip


@dataclass(eq=False, repr=False)
class TunedSolver(Solver):
    """A method trained with the gamma and the C (or alpha) that three-fold cross-validation chooses.

    gamma is s 4^k with k = -2, ..., 2, and further while the best k lies at an edge, up to |k| = 5. The scale
    s is the kernel's own gamma, such as that of the rule "mean_distance"; of a polynomial it is divided by
    the mean of ||x||^2. C is 0.01, 0.1, ..., 1,000 and alpha 1e-5, 1e-4, ..., 100; at the chosen gamma both
    reach two powers of ten further if the best lies at an end. Of equal scores the gamma nearest to s is
    chosen. Classes with fewer rows than folds are left out. A score is that of newton, libsvm and boosting
    as classifiers, the accuracy, and else 1 - the squared error of the targets over their variance; the
    targets of ridge_classifier and kernel_ridge_classifier are 1 and -1, of each class against the rest.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear, which has no gamma.
    map : FeatureMap, optional
        The map, or by its place a transformer with `n_components`; None: the solver gets the kernel, or for a
        linear solver the rows themselves.
    solver : {"newton", "ridge", "ridge_classifier", "libsvm", "kernel_ridge", "kernel_ridge_classifier", \
"boosting", "boosting_regression"}
        What is trained, by default "newton". Boosting chooses its learning rate, 0.05 or 0.2, and its leaves,
        7 or 31.
    columns : int, default 256
        A map with more columns takes the gamma of as many columns as this; with `rows`, C or alpha as well.
    rows : int, optional
        At most so many random rows choose, with as many of each class as its share; then all rows train once.
    random_state : int, optional
        The seed of the folds and of the map; None is 0.

    Attributes
    ----------
    choice_ : dict
        The chosen values by name, the `cv_score`, how many `gammas` were tried, and `at_end`: 1 if a chosen
        value is the smallest or the largest that was allowed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.experiments.tuned_solver import TunedSolver
    >>> tuned = TunedSolver(Gaussian("mean_distance"), solver="libsvm").fit(X, y)
    >>> tuned.score(X, y) > 0.95, sorted(tuned.choice_)
    (True, ['C', 'at_end', 'cv_score', 'gamma', 'gammas'])
    """

    needs_kernel: ClassVar[bool] = True

    kernel: Any = None
    map: FeatureMap | OtherMap | None = None
    solver: Literal[
        "newton", "ridge", "ridge_classifier", "libsvm", "kernel_ridge", "kernel_ridge_classifier",
        "boosting", "boosting_regression",
    ] = "newton"  # fmt: skip
    columns: Components = 256
    rows: Components | None = None
    random_state: Seed | None = None

    @property
    def task(self) -> Task:
        """The task of what is trained."""
        return "regression" if self.solver in REGRESSIONS else "classification"

    def learnt_parameters(self) -> dict[str, float]:
        """Return what was chosen."""
        return dict(self.choice_)

    @finite
    def fit(self, X: Any, y: Any) -> "TunedSolver":
        """Choose on X (n, d) and y (n,), and train on them."""
        X, y = self._check(X, y)
        if self.task == "classification":
            kept = np.flatnonzero(np.bincount(y)[y] >= FOLDS)
            X, y = X[kept], self.classes_[y[kept]]
            if len(np.unique(y)) < 2:
                raise DataError(f"TunedSolver: {FOLDS} folds need as many rows of two classes")
        start = perf_counter()
        some, y_some = self._rows(X, y)
        kernel = resolved_kernel(self.kernel, some)
        with warnings.catch_warnings(action="ignore"):  # of values that are too small or too large
            tried = self._tried(kernel, some, y_some)
            best = max(tried, key=lambda k: (tried[k].score, -abs(k)))
            trained = tried[best]
            D = None if self.map is None else min(self.map.n_components, self.columns)
            if self.map is not None and self.rows is None and self.columns < self.map.n_components:
                D = self.map.n_components
                trained = self._trained(trained.kernel, some, y_some, D)
            if trained.at_end:
                wider = self._trained(trained.kernel, some, y_some, D, wide=True)
                trained = max(trained, wider, key=lambda trained: trained.score)
            if self.rows is not None:
                trained = self._on_all_rows(trained, X, y)
        self.map_, self.solver_ = trained.map, trained.solver
        end = trained.at_end or abs(best) == MOST
        self.choice_ = {**trained.values, "cv_score": trained.score, "at_end": float(end)}
        if gamma := getattr(trained.kernel, "gamma", None):
            self.choice_ |= {"gamma": float(gamma), "gammas": float(len(tried))}
        self._report([Subproblem("search", len(tried))])
        self.times_ = {"search": perf_counter() - start}
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label or a value for each row of X."""
        X = self._check_again(X)
        return np.asarray(self.solver_.predict(X if self.map_ is None else self.map_.transform(X)))

    def _rows(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the rows that choose."""
        if self.rows is None or self.rows >= len(y):
            return X, y
        classes = None if self.task == "regression" else y
        kept, _ = model_selection.train_test_split(
            np.arange(len(y)),
            train_size=self.rows,
            stratify=classes,
            random_state=int(self.random_state or 0),
        )
        return X[np.sort(kept)], y[np.sort(kept)]

    def _on_all_rows(self, chosen: "Trained", X: Any, y: Any) -> "Trained":
        """Return the method with the chosen values, trained once on all rows with all columns."""
        values = {name: value for name, value in chosen.values.items() if name in ("alpha", "C")}
        solver = ONCE[self.solver](**values) if self.solver in ONCE else clone(chosen.solver)
        feature_map, Z = self._mapped(chosen.kernel, X, y, self.map and self.map.n_components)
        if self.solver == "libsvm":
            solver.kernel = chosen.kernel
        return replace(chosen, map=feature_map, solver=solver.fit(Z, y))

    def _mapped(self, kernel: Kernel, X: Any, y: Any, D: int | None) -> tuple[Any, Any]:
        """Return the fitted map with D columns, if there is one, and the rows that a solver gets."""
        if self.map is None:
            return None, X
        seed = int(self.random_state or 0)
        feature_map = clone(self.map).set_params(kernel=kernel, n_components=D, random_state=seed)
        if getattr(feature_map, "sparse_output", False):
            return feature_map, feature_map.fit_transform(X, y)  # one pass, where two calls take two
        return feature_map, feature_map.fit(X, y).transform(X)

    def _tried(self, kernel: Kernel, X: Any, y: Any) -> dict[int, "Trained"]:
        """Return what was trained for each k; only k = 0 for a kernel without gamma."""
        D = None if self.map is None else min(self.map.n_components, self.columns)
        scale = getattr(kernel, "gamma", None)
        if scale is None:
            return {0: self._trained(kernel, X, y, D)}
        if isinstance(kernel, DotProductKernel):
            scale /= max(float(squared_norms(as_operand(X)).mean()), 1e-12)
        tried: dict[int, Trained] = {}
        waiting = list(range(-FIRST, FIRST + 1))
        while waiting:
            for k in waiting:
                at = clone(kernel).set_params(gamma=float(scale) * FACTOR**k)
                tried[k] = self._trained(at, X, y, D)
            best = max(tried, key=lambda k: (tried[k].score, -abs(k)))
            waiting = [k for k in (best - 1, best + 1) if k not in tried and abs(k) <= MOST]
        return tried

    def _trained(self, kernel: Kernel, X: Any, y: Any, D: int | None, wide: bool = False) -> "Trained":
        """Return the method with this kernel, trained on X with its best C or alpha."""
        seed = int(self.random_state or 0)
        feature_map, X = self._mapped(kernel, X, y, D)
        regression = self.task == "regression"
        cutter = model_selection.KFold if regression else model_selection.StratifiedKFold
        folds = cutter(FOLDS, shuffle=True, random_state=seed)
        low, high = (COSTS if self.solver in ("newton", "libsvm") else ALPHAS)[wide]
        grid = [10.0**k for k in range(low, high + 1)]
        ends: Any = (grid[0], grid[-1], 10.0)
        if self.solver in ("newton", "libsvm"):
            options: dict[str, Any] = {"folds": FOLDS, "random_state": seed}
            solver: Any = (
                NewtonCV(*ends, **options)
                if self.solver == "newton"
                else LibsvmCV(kernel, 0, *ends, **options)
            )
            score = float(solver.fit(X, y).cv_scores_.mean(axis=0).max())
        elif self.solver in RIDGES:
            solver = RIDGES[self.solver](*ends, folds=FOLDS, random_state=seed)
            solver = solver.fit(X, y) if self.rows is None else solver.choose(X, y)
            score = 1 - float(solver.cv_errors_.min()) / _variance(solver, y)
        elif self.solver in KERNEL_RIDGES:
            grid_search = model_selection.GridSearchCV(
                KERNEL_RIDGES[self.solver](kernel),
                {"alpha": grid},
                scoring=None if regression else _explained,
                cv=folds,
                error_score=-np.inf,
            ).fit(X, y)
            solver, score = grid_search.best_estimator_, float(grid_search.best_score_)
        else:
            trees = Boosting("regression" if self.task == "regression" else "classification")
            grid_search = model_selection.GridSearchCV(trees, TREES, cv=folds).fit(X, y)
            values = {name: float(value) for name, value in grid_search.best_params_.items()}
            return Trained(
                kernel, feature_map, grid_search.best_estimator_, float(grid_search.best_score_), values
            )
        values = solver.learnt_parameters() or {"alpha": solver.alpha}
        at_end = not 1.01 * grid[0] < next(iter(values.values())) < 0.99 * grid[-1]  # up to rounding
        return Trained(
            kernel, feature_map, solver, score if isfinite(score) else -np.inf, values, bool(at_end)
        )


def _signs(solver: Solver, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return what a classifier by least squares learns."""
    return targets_of(solver, np.searchsorted(solver.classes_, y))


def _variance(solver: Solver, y: NDArray[Any]) -> float:
    """Return the variance of the targets, summed over classes."""
    targets = y if solver.task == "regression" else _signs(solver, y)
    return float(np.var(targets, axis=0).sum())


def _explained(solver: Any, X: Any, y: NDArray[Any]) -> float:
    """Return 1 - the squared error of the scores of classes over the variance of their targets."""
    errors = ((_signs(solver, y) - solver.decision_function(X)) ** 2).mean(axis=0)
    return 1 - float(errors.sum()) / _variance(solver, y)


@dataclass(frozen=True)
class Trained:
    """A trained method: its kernel, map and solver, the best score of its folds, and the chosen values."""

    kernel: Kernel
    map: FeatureMap | OtherMap | None
    solver: Any
    score: float
    values: dict[str, float] = field(default_factory=dict)
    at_end: bool = False
