"""Cross-validation over one parameter, such as C: the folds are made once and used for all values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, log
from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pydantic import FiniteFloat
from sklearn import model_selection
from sklearn.base import clone
from sklearn.utils import get_tags

from kfeat.errors import DataError, ParameterError
from kfeat.kernels.operands import as_operand
from kfeat.parameters import Folds, Iterations, Seed
from kfeat.solvers.base import AboveZero, NotNegative, Solver, finite, resolved_kernel, weight_options
from kfeat.solvers.class_weights import ClassWeight
from kfeat.solvers.kernel_svm import KernelSVM
from kfeat.solvers.libsvm import Libsvm
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.newton_method import Newton, NewtonLoss

AboveOne = Annotated[FiniteFloat, Gt(1)]
MOST_STEPS = 10_000


def geometric_grid(smallest: float, largest: float, factor: float) -> NDArray[np.float64]:
    """Return smallest * factor^k, k = 0, 1, ..., up to the largest; raises ParameterError if impossible."""
    if largest < smallest:
        raise ParameterError(f"a grid from {smallest} up to {largest} is empty: exchange the two")
    steps = floor((log(largest) - log(smallest)) / log(factor) + 1e-9)
    if steps > MOST_STEPS:
        raise ParameterError(f"a grid of {steps:,} steps by {factor} is too long: take a larger factor")
    return smallest * float(factor) ** np.arange(steps + 1.0)


def path_scores(
    solver: Any, X: Any, y: NDArray[Any], values: Iterable[float], splits: Sequence[tuple[Any, Any]],
    score: Callable[..., float], weights: Any = None, *, parameter: str = "C", keep: bool = True,
    stop: Callable[[float, NDArray[np.float64]], bool] | None = None, n_jobs: int = 1,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the score on each held-out fold for each value of a parameter, (folds, values).

    `splits` has the positions of the rows that train and of those that are held out, and `score(trained, X,
    y)`, with the weights (n,) of the rows if there are any, judges the latter. A solver with `warm_start`
    starts each value from its last solution, so the values should be in order; unless it is to `keep` the
    factors of Hessians, each value is trained for itself. With `stop` all folds go along together, and end
    after a value for which `stop(value, mean scores so far)` is true; otherwise the threads share folds and
    values that do not depend on each other. X is the Gram matrix where the solver's kernel is precomputed.
    """
    grid, pairwise = [float(value) for value in values], get_tags(solver).input_tags.pairwise
    beside = [y] if weights is None else [y, weights]
    goes_along = isinstance(solver, Newton) and solver.warm_start and parameter == "C"

    def along(seen: Any, held_out: Any, values: Sequence[float]) -> Iterator[float]:
        rows, others = (
            [X[np.ix_(side, seen)] if pairwise else X[side], *(part[side] for part in beside)]
            for side in (seen, held_out)
        )
        estimator: Any = clone(solver)
        trained: Iterable[Any]
        if goes_along and keep:
            trained = estimator.path(rows[0], rows[1], values, *rows[2:])
        else:
            trained = (estimator.set_params(**{parameter: value}).fit(*rows) for value in values)
        for one in trained:
            yield score(one, *others)

    if stop is not None:
        columns: list[list[float]] = []
        for value, *column in zip(grid, *(along(*fold, grid) for fold in splits), strict=True):
            columns.append(column)
            if stop(value, np.mean(columns, axis=1)):
                break
        return np.array(columns).T
    parts = [grid] if goes_along or n_jobs == 1 else [[value] for value in grid]

    def scores(fold: tuple[Any, Any], part: Sequence[float]) -> list[float]:
        return list(along(*fold, part))

    jobs = (delayed(scores)(fold, part) for fold in splits for part in parts)
    return np.array(Parallel(n_jobs, prefer="threads")(jobs)).reshape(len(splits), len(grid))


def grid_scores(
    solver: Solver,
    X: Any,
    y: Any,
    parameter: str,
    values: Iterable[float],
    folds: int = 5,
    random_state: int = 0,
    sample_weight: Any = None,
) -> NDArray[np.float64]:
    """Return `solver.score` on each held-out fold for each value of the parameter, (folds, len(values)).

    A solver with `warm_start` starts each value from its last solution, so the values should be in order.
    Folds are random with the seed `random_state`, stratified for classification. Weights (n,) count in
    training and in scores.
    """
    X, y = as_operand(X), np.asarray(y)
    stratified = solver.task == "classification"
    cutter = model_selection.StratifiedKFold if stratified else model_selection.KFold
    splits = [*cutter(folds, shuffle=True, random_state=random_state).split(np.zeros(len(y)), y)]

    def own(trained: Solver, *held_out: Any) -> float:
        return float(trained.score(*held_out))

    return path_scores(solver, X, y, values, splits, own, sample_weight, parameter=parameter)


class ChoosesC(Solver):
    """A solver that chooses C by cross-validation on the training rows, then trains on all of them.

    Attributes
    ----------
    C_, Cs_ : float, ndarray
        The chosen C, and all values that were tried.
    cv_scores_ : ndarray of shape (folds, values)
        The accuracies, or coefficients of determination.
    """

    C_min: float
    C_max: float
    C_factor: float
    folds: int
    random_state: int | None
    trained: ClassVar[Solver]  # trained with each C and the parameters of this solver

    def learnt_parameters(self) -> dict[str, float]:
        """Return the chosen C."""
        return {"C": self.C_}

    def fit(self, X: Any, y: Any) -> Any:
        """Choose C on X (n, d) and y (n,), and train with it on all rows."""
        return self._fit(X, y)

    @finite
    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        X, y, sample_weight = self._check_weighted(X, y, sample_weight)
        self._check_folds(y)
        y = y if self.task == "regression" else self.classes_[y]
        start = perf_counter()
        solver = clone(self.trained)
        shared = solver.get_params(deep=False).keys() & self.get_params(deep=False)
        solver.set_params(**{name: getattr(self, name) for name in shared})
        if self.needs_kernel:  # a bandwidth heuristic is computed once, on all rows
            solver.set_params(kernel=resolved_kernel(self.kernel, X, sample_weight))
        self.Cs_ = geometric_grid(self.C_min, self.C_max, self.C_factor)
        seed = int(self.random_state or 0)
        self.cv_scores_ = grid_scores(solver, X, y, "C", self.Cs_, self.folds, seed, sample_weight)
        self.C_ = float(self.Cs_[np.argmax(self.cv_scores_.mean(axis=0))])
        searched = perf_counter()
        solver.set_params(C=self.C_).fit(X, y, **weight_options(solver, sample_weight))
        parameters = solver.get_params(deep=False)
        self.__dict__ |= {name: learnt for name, learnt in vars(solver).items() if name not in parameters}
        self.times_ = {"search": searched - start, **solver.times_}
        return self

    def _check_folds(self, y: Any) -> None:
        """Raise DataError if a fold would lack a class, or rows."""
        name, folds = type(self).__name__, self.folds
        if self.task == "regression":
            if len(y) < 2 * folds:  # R^2 of a single row is not defined
                raise DataError(f"{name}: {folds} folds need two rows each, got n_samples = {len(y)}")
        elif (rarest := int(np.bincount(y).min())) < folds:
            raise DataError(
                f"{name}: {folds} folds need as many rows of every class, got n_samples = {rarest} of one"
            )


@dataclass(eq=False, repr=False)
class NewtonCV(ChoosesC, LinearSolver):
    """Newton with the best C by stratified cross-validation with warm starts, then trained on all rows.

    Parameters
    ----------
    C_min, C_max, C_factor : float, default 2^-6, 2^6 and 4
        C is C_min, C_min C_factor, C_min C_factor^2, ... up to C_max; of equally good values the smallest is
        chosen.
    folds : int, default 5
        The number of folds, at least 2.
    loss, eps, bias, class_weight, max_iter : as in Newton
        The loss, the tolerance, the value of one more feature (below 0: none), the factors of C by class, and
        the largest number of Newton steps per class and value of C.
    random_state : int, optional
        The seed of the folds; None is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import NewtonCV
    >>> solver = NewtonCV(C_min=0.01, C_max=1.0, C_factor=10.0, bias=1.0).fit(X, y)
    >>> solver.cv_scores_.shape, bool(solver.C_ in solver.Cs_)
    ((5, 3), True)
    """

    working_bytes = staticmethod(Newton.working_bytes)
    identity_defaults: ClassVar[dict[str, float]] = {"eps": 1e-3}
    trained: ClassVar[Solver] = Newton(warm_start=True)
    task = Newton.task
    logistic = Newton.logistic

    C_min: AboveZero = 2.0**-6
    C_max: AboveZero = 2.0**6
    C_factor: AboveOne = 4.0
    folds: Folds = 5
    loss: NewtonLoss = "squared_hinge"
    eps: AboveZero = 1e-2
    bias: FiniteFloat = -1.0
    class_weight: ClassWeight = None
    max_iter: Iterations = 300
    random_state: Seed | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Choose C on X (n, d), y (n,) and weights (n,), and train with it on all rows."""
        return self._fit(X, y, sample_weight)


@dataclass(eq=False, repr=False)
class LibsvmCV(ChoosesC, KernelSVM):
    """Libsvm with the best C by cross-validation on the training rows, then trained on all of them.

    Folds are stratified for classification. A bandwidth heuristic is computed once, on all training rows.

    Parameters
    ----------
    kernel, solver_type : Kernel, optional, and {0, 3}, default 0
        The kernel (None: linear), and LIBSVM's -s: 0 is C-SVC (one against one), 3 epsilon-SVR.
    C_min, C_max, C_factor : float, default 2^-4, 2^8 and 4
        C is C_min, C_min C_factor, C_min C_factor^2, ... up to C_max; of equally good values the smallest is
        chosen.
    folds : int, default 5
        The number of folds, at least 2.
    eps, p, cache_mb, class_weight, max_iter : as in Libsvm
        The tolerance, half the width of the regression's tube, the kernel cache in MB, the factors of C by
        class, and the largest number of iterations of each subproblem.
    random_state : int, optional
        The seed of the folds; None is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import LibsvmCV
    >>> solver = LibsvmCV(Gaussian(gamma="median"), C_min=0.1, C_max=10.0, C_factor=10.0).fit(X, y)
    >>> solver.cv_scores_.shape, bool(solver.C_ in solver.Cs_)
    ((5, 3), True)
    """

    trained: ClassVar[Solver] = Libsvm()
    task = Libsvm.task

    kernel: Any = None
    solver_type: Literal[0, 3] = 0
    C_min: AboveZero = 2.0**-4
    C_max: AboveZero = 2.0**8
    C_factor: AboveOne = 4.0
    folds: Folds = 5
    eps: AboveZero = 1e-3
    p: NotNegative = 0.1
    cache_mb: AboveZero | None = None
    class_weight: ClassWeight = None
    max_iter: Iterations | None = None
    random_state: Seed | None = None
