"""The solver that chooses gamma and C of a method, whose row has the choice."""

import warnings
from dataclasses import dataclass, field
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
from kfeat.solvers import KernelRidge, LibsvmCV, NewtonCV, RidgeCV
from kfeat.solvers.base import Solver, Subproblem, Task, finite, resolved_kernel

FOLDS = 3
FACTOR = 4.0  # between neighbouring values of gamma
FIRST, MOST = 2, 5  # powers of it on either side of the data's scale: at first, and at most
COSTS = (-2, 3), (-4, 5)  # powers of ten of C: at first, and where the best lies at an end
ALPHAS = (-5, 2), (-7, 4)
TREES = {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [7, 31]}
REGRESSIONS = ("ridge", "kernel_ridge", "boosting_regression")


@dataclass(eq=False, repr=False)
class TunedSolver(Solver):
    """A method trained with the gamma and the C (or alpha) that three-fold cross-validation chooses.

    gamma is s 4^k with k = -2, ..., 2, and further while the best k lies at an edge, up to |k| = 5. The scale
    s is the kernel's own gamma, such as that of the rule "mean_distance"; of a polynomial it is divided by
    the mean of ||x||^2. C is 0.01, 0.1, ..., 1,000 and alpha 1e-5, 1e-4, ..., 100; at the chosen gamma both
    reach two powers of ten further if the best lies at an end. Of equal scores the gamma nearest to s is
    chosen. Classes with fewer rows than folds are left out.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear, which has no gamma.
    map : FeatureMap, optional
        The map, or by its place a transformer with `n_components`; None: the solver gets the kernel, or for a
        linear solver the rows themselves.
    solver : {"newton", "ridge", "libsvm", "kernel_ridge", "boosting", "boosting_regression"}
        What is trained, by default "newton". Boosting chooses its learning rate, 0.05 or 0.2, and its leaves,
        7 or 31.
    columns : int, default 256
        A map with more columns takes the gamma of as many columns as this.
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
    solver: Literal["newton", "ridge", "libsvm", "kernel_ridge", "boosting", "boosting_regression"] = "newton"
    columns: Components = 256
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
        kernel = resolved_kernel(self.kernel, X)
        with warnings.catch_warnings(action="ignore"):  # of values that are too small or too large
            tried = self._tried(kernel, X, y)
            best = max(tried, key=lambda k: (tried[k].score, -abs(k)))
            trained = tried[best]
            D = None if self.map is None else self.map.n_components
            if D is not None and self.columns < D:
                trained = self._trained(trained.kernel, X, y, D)
            if trained.at_end:
                wider = self._trained(trained.kernel, X, y, D, wide=True)
                trained = max(trained, wider, key=lambda trained: trained.score)
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
        feature_map = None
        if self.map is not None:
            feature_map = clone(self.map).set_params(kernel=kernel, n_components=D, random_state=seed)
            X = feature_map.fit(X, y).transform(X)
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
        elif self.solver == "ridge":
            solver = RidgeCV(*ends, folds=FOLDS, random_state=seed).fit(X, y)
            score = 1 - float(solver.cv_errors_.min()) / float(np.var(y))
        elif self.solver == "kernel_ridge":
            grid_search = model_selection.GridSearchCV(
                KernelRidge(kernel), {"alpha": grid}, cv=folds, error_score=-np.inf
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


@dataclass(frozen=True)
class Trained:
    """A trained method: its kernel, map and solver, the best score of its folds, and the chosen values."""

    kernel: Kernel
    map: FeatureMap | OtherMap | None
    solver: Any
    score: float
    values: dict[str, float] = field(default_factory=dict)
    at_end: bool = False
