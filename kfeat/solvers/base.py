"""What all solvers have in common: one contract, labels, scores and scikit-learn's view of them."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from sklearn import metrics
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags, RegressorTags, gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kfeat.batches import Batches
from kfeat.errors import DataError, SolverError, UnsupportedKernelError
from kfeat.kernels import Kernel, Linear
from kfeat.kernels.operands import canonical
from kfeat.parameters import check_parameters
from kfeat.solvers.batched_input import as_batches, check_columns, targets_beside

Task = Literal["classification", "regression"]
# How a solver trains on features that do not fit in memory: it passes over batches of them, once or again and
# again; it reads an array that is mapped from a file; or not at all.
OutOfCore = Literal["one pass", "passes", "mapped file", "no"]
LARGEST = float(np.sqrt(np.finfo(np.float64).max)) / 4  # the square of which is finite, also times a few
BLOCK_BYTES = 2**25  # of float64 scratch space while predicting


@dataclass(frozen=True)
class Subproblem:
    """How one subproblem (one class against the rest, one pair of classes) was solved."""

    finished_by: str
    iterations: int
    stop_reason: str = "tolerance"


Method = TypeVar("Method", bound=Callable[..., Any])


def available_when(condition: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Make a method exist only where the condition holds (scikit-learn's available_if, typed)."""
    decorate: Callable[[Method], Method] = available_if(condition)
    return decorate


def classifies(solver: "Solver") -> bool:
    """Tell whether decision values exist, as they do for classifiers only."""
    return solver.task == "classification"


def finite(fit: Method) -> Method:
    """Return a method that fits, raising SolverError where what it learnt is not finite."""

    @wraps(fit)
    def checked(self: Any, *data: Any, **more: Any) -> Any:
        try:
            with np.errstate(all="ignore"):  # what overflows is seen in the coefficients
                fit(self, *data, **more)
        except MemoryError as error:
            raise SolverError(f"{type(self).__name__}: {error}: take fewer rows or features") from None
        except ArithmeticError as error:
            raise SolverError(f"{type(self).__name__}: {error}: scale the features nearer to 1") from None
        for name in ("coef_", "dual_coef_", "intercept_"):
            if not np.isfinite(getattr(self, name, 0.0)).all():
                raise SolverError(
                    f"{type(self).__name__}: numbers overflow, {name} is not finite: scale the features "
                    "down, or take another C or alpha"
                )
        return self

    return cast(Method, checked)


class Solver(BaseEstimator):
    """A classifier or a regression, trained by `fit(X, y)`; X dense or CSR, float32 or float64, shape (n, d).

    Newton, Ridge and RidgeCV also take `kfeat.batches.Batches` of rows, or a Dask array.

    Every fitted solver says how the solve went. Classifiers also have `classes_` (sorted) and
    `decision_function`, with scikit-learn's signs and columns.

    Attributes
    ----------
    objective_ : float
        The primal objective at the solution, summed over the one-against-rest subproblems of several classes
        (LIBSVM: the dual objective, which is maximised and equals the primal at the optimum).
    n_iter_ : int
        The number of iterations, the most over several subproblems.
    converged_ : bool
        Whether its own tolerance was met.
    stop_reason_ : str
        "tolerance", or what stopped it.
    finished_by_ : str
        Who finished it, such as "-s 2".
    subproblems_ : tuple of Subproblem
        The last three for each subproblem.
    times_ : dict
        Wall seconds by phase.
    """

    algorithm_version: ClassVar[int] = 1
    needs_kernel: ClassVar[bool] = False
    resource_parameters: ClassVar[frozenset[str]] = frozenset()
    out_of_core: ClassVar[OutOfCore] = "no"

    @property
    @abstractmethod
    def task(self) -> Task:
        """What this solver, with these parameters, is for."""

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label or a value per row of X."""

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy (classification) or the coefficient of determination (regression)."""
        measure = metrics.accuracy_score if self.task == "classification" else metrics.r2_score
        return float(measure(y, self.predict(X)))

    def along(self, X: Any, y: Any, parameter: str, values: Iterable[float]) -> Iterator["Solver"]:
        """Train with each value of a parameter in turn, and yield this solver, the same each time."""
        for value in values:
            yield self.set_params(**{parameter: value}).fit(X, y)

    def learnt_parameters(self) -> dict[str, float]:
        """Return what took the place of parameters that were left to the data or to a library, by name."""
        return {}

    def _check(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return X and y checked; for classification y holds positions in `classes_`, which is set."""
        check_parameters(self)
        regression = self.task == "regression"
        X = as_batches(X)
        if isinstance(X, Batches):
            y = targets_beside(X, y, type(self).__name__, self.out_of_core)
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        else:
            X, y = validate_data(
                self,
                canonical(X),
                y,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                y_numeric=regression,
            )
            check_size("features", X)
        if regression:
            if np.asarray(y).dtype.kind not in "fiub":
                raise DataError(f"{type(self).__name__} needs numbers as targets, got {np.asarray(y).dtype}")
            y = np.asarray(y, dtype=np.float64)
            check_size("targets", y)
            return X, y
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"{type(self).__name__} needs labels of at least 2 classes, got 1 class: {self.classes_[0]!r}"
            )
        return X, codes

    def _report(self, subproblems: Sequence[Subproblem]) -> None:
        """Set the attributes that tell how the solve went."""
        self.subproblems_ = tuple(subproblems)
        self.n_iter_ = max(one.iterations for one in subproblems)
        reasons = sorted({one.stop_reason for one in subproblems} - {"tolerance"})
        self.converged_ = not reasons
        self.stop_reason_ = "; ".join(reasons) or "tolerance"
        self.finished_by_ = ", ".join(sorted({one.finished_by for one in subproblems}))

    def _check_again(self, X: Any) -> Any:
        """Return X checked against what was seen in fit."""
        check_is_fitted(self)
        if isinstance(X, Batches):
            check_columns(X, int(self.n_features_in_), type(self).__name__)
            return X
        return validate_data(
            self, canonical(X), accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        if self.task == "classification":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags


class LinearSolver(Solver):
    """A linear solver: `coef_` (subproblems, d) and `intercept_` (subproblems,); (d,) in regression."""

    coef_: NDArray[np.float64]
    intercept_: Any

    @property
    def logistic(self) -> bool:
        """Whether scores are log odds, so that probabilities exist."""
        return False

    @available_when(classifies)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return <w, x> + b: shape (n,), or (n, classes) for more than two classes."""
        return self._values(X)

    @available_when(lambda self: self.logistic)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities (n, classes): the logistic function of the scores, normalised."""
        values = self.decision_function(X)
        if values.ndim == 1:
            positive = special.expit(values)
            return np.stack([1 - positive, positive], axis=1)
        logs = special.log_expit(values)  # all of a row may be beyond what their exponentials can hold
        positive = np.exp(logs - logs.max(axis=1, keepdims=True))
        return positive / positive.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest score, or the value, for each row."""
        values = self._values(X)
        if self.task == "regression":
            return values
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Return <w, x> + b of checked rows for each subproblem, shape (n, subproblems)."""
        return scores(X, np.atleast_2d(self.coef_)) + self.intercept_

    def _all_scores(self, X: Any) -> NDArray[np.float64]:
        """Return `_scores` of checked rows, which may come in batches."""
        return np.concatenate(list(X.each(self._scores))) if isinstance(X, Batches) else self._scores(X)

    def _values(self, X: Any) -> NDArray[np.float64]:
        values = self._all_scores(self._check_again(as_batches(X)))
        return values[:, 0] if values.shape[1] == 1 else values


def check_size(what: str, values: Any) -> None:
    """Raise DataError where values are NaN, or sums of their squares overflow double precision."""
    stored = values.data if issparse(values) else values
    largest = max(abs(float(stored.max(initial=0))), abs(float(stored.min(initial=0))))
    if not largest <= LARGEST / np.sqrt(max(stored.size, 1)):
        raise DataError(f"{what} reach {largest:.3g}, and sums of their squares overflow: scale them down")


def resolved_kernel(kernel: Any, X: Any) -> Kernel:
    """Return the kernel (None: linear) with every bandwidth heuristic replaced by the number learnt on X."""
    if kernel is None:
        return Linear()
    if not isinstance(kernel, Kernel):
        raise UnsupportedKernelError(
            f"kernel: expected one of kfeat.kernels, Polynomial(2) say, got {kernel!r}"
        )
    kernel.check()
    own: Kernel = clone(kernel)  # the one given may be changed and trained with again
    return own.resolve(X, 0)


def scores(X: Any, W: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X W' in double precision, shape (n, len(W)), converting float32 rows a block at a time."""
    if not isinstance(X, np.ndarray) or X.dtype == W.dtype:
        return np.asarray(X @ W.T)
    values = np.empty((len(X), len(W)))
    for rows in gen_batches(len(X), max(1, BLOCK_BYTES // (8 * X.shape[1]))):
        np.matmul(X[rows].astype(W.dtype), W.T, out=values[rows])
    return values
