"""The base classes of all solvers and of linear ones: interface, checks of data, scores, objectives."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from math import inf, nan
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from pydantic import FiniteFloat
from scipy.sparse import issparse
from sklearn import metrics, preprocessing
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, RegressorTags, validation
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from kfeat.batches import Batches
from kfeat.errors import DataError, SolverError, UnsupportedKernelError
from kfeat.kernels import Kernel, Linear, ObjectKernel
from kfeat.kernels.base import Estimator
from kfeat.kernels.distances import MAX_ROWS
from kfeat.kernels.operands import Objects, canonical
from kfeat.parameters import check_parameters
from kfeat.solvers.dask_batches import as_batches
from kfeat.text import counted
from kfeat.weights import IN_RANGE, by_weight, out_of_range

# Types of parameters that several constructors take.
AboveZero = Annotated[FiniteFloat, Gt(0)]
NotNegative = Annotated[FiniteFloat, Ge(0)]
Task = Literal["classification", "regression"]
Target = Literal["none", "log", "power"]
MOST_TARGETS = 100_000  # repeated by their weights, from which a power transform learns its exponent
# How a solver trains on features that do not fit in memory: it passes over batches of them, once or several
# times; it reads an array that is mapped from a file; or it cannot.
OutOfCore = Literal["one pass", "passes", "mapped file", "no"]
ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
LARGEST = float(np.sqrt(np.finfo(np.float64).max)) / 4  # its square is finite, even multiplied by a few


@dataclass(frozen=True)
class Subproblem:
    """How one subproblem (one class against the rest, one pair of classes) was solved."""

    finished_by: str
    iterations: int
    stop_reason: str = "tolerance"


Method = TypeVar("Method", bound=Callable[..., Any])


def available_when(condition: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Make a method exist only if the condition holds (scikit-learn's available_if with types)."""
    decorate: Callable[[Method], Method] = available_if(condition)
    return decorate


def classifies(solver: "Solver") -> bool:
    """Return whether the solver is a classifier, so that decision values exist."""
    return solver.task == "classification"


def finite(fit: Method) -> Method:
    """Wrap a `fit` method so that it raises SolverError if the learnt coefficients are not finite."""

    @wraps(fit)
    def checked(self: Any, *data: Any, **more: Any) -> Any:
        try:
            with np.errstate(all="ignore"):  # an overflow shows in the coefficients
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


class Solver(Estimator):
    """A classifier or a regressor, trained by `fit(X, y)`; X dense or CSR, float32 or float64, shape (n, d).

    Newton, Ridge and RidgeCV also take `kfeat.batches.Batches` of rows, or a Dask array. Classifiers have
    `classes_` (sorted) and `decision_function`, with scikit-learn's signs and columns. Where `fit` takes
    `sample_weight` (n,), a row of weight 2 counts as two equal rows, and one of weight 0 is left out.

    Attributes
    ----------
    objective_ : float
        The primal objective at the solution, summed over the one-against-rest subproblems of several classes
        (LIBSVM: the dual objective, which is maximised and equals the primal at the optimum).
    n_iter_, converged_ : int, bool
        The number of iterations (the maximum over subproblems), and whether the tolerance was reached.
    stop_reason_, finished_by_ : str
        "tolerance", or what stopped the solver; and which solver finished, such as "-s 2".
    subproblems_, times_ : tuple of Subproblem, dict
        The same for each subproblem; and wall seconds by phase.
    """

    algorithm_version: ClassVar[int] = 1
    needs_kernel: ClassVar[bool] = False
    resource_parameters: ClassVar[frozenset[str]] = frozenset()
    out_of_core: ClassVar[OutOfCore] = "no"

    @property
    def task(self) -> Task:
        """The task of this solver with these parameters."""
        return "classification"

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes that `fit` takes beside X (n, D), for k subproblems; 0 if unsure."""
        return 0.0

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label or a value for each row of X."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy (classification) or the coefficient of determination (regression)."""
        measure = metrics.accuracy_score if self.task == "classification" else metrics.r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def learnt_parameters(self) -> dict[str, float]:
        """Return the values of parameters that the data or a library determined, by name."""
        return {}

    def _check(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return checked X and y; for classification, set `classes_` and return positions in it as y."""
        return self._check_weighted(X, y, None)[:2]

    def _check_weighted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Any]:
        """Return the same without the rows of weight 0, and the weights of the others (None: all are 1).

        Targets that are learnt on another scale are returned on that scale, which is kept as `target_`.
        """
        check_parameters(self)
        regression = self.task == "regression"
        X = as_batches(X)
        if isinstance(X, Batches):
            y = self._targets_beside(X, y)
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        elif isinstance(getattr(self, "kernel", None), ObjectKernel):
            X, self.n_features_in_ = Objects.of(X), 1
            y = checked_targets(X, y)
        else:
            X, y = validation.validate_data(self, canonical(X), y, y_numeric=regression, **ROWS)
            check_size("features", X)
        weights = None if sample_weight is None else checked_weights(sample_weight, X)
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            X, y, weights = X.take(rows) if isinstance(X, Batches) else X[rows], y[rows], weights[rows]
        if regression:
            if np.asarray(y).dtype.kind not in "fiub":
                raise DataError(f"{type(self).__name__} needs numbers as targets, got {np.asarray(y).dtype}")
            y = np.asarray(y, dtype=np.float64)
            check_size("targets", y)
            if hasattr(self, "target"):
                self.target_ = TargetScale.learn(self.target, y, weights)
                y = self.target_.of(y)
            return X, y, weights
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise DataError(
                f"{type(self).__name__} needs labels of at least 2 classes, got 1 class: {only!r}"
            )
        return X, codes, weights

    def _targets_beside(self, X: Batches, y: Any) -> NDArray[Any]:
        """Return y, checked to have one target per row of X; the numbers in X are checked when used."""
        if self.out_of_core not in ("passes", "one pass"):
            able = "Newton, Ridge, and RidgeCV with folds"
            raise DataError(
                f"{type(self).__name__} needs all rows at once; solvers that take batches: {able}"
            )
        return checked_targets(X, y)

    def _report(self, subproblems: Sequence[Subproblem]) -> None:
        """Set the attributes that describe how the solver ended."""
        self.subproblems_ = tuple(subproblems)
        self.n_iter_ = max(subproblem.iterations for subproblem in subproblems)
        reasons = sorted({subproblem.stop_reason for subproblem in subproblems} - {"tolerance"})
        self.converged_ = not reasons
        self.stop_reason_ = "; ".join(reasons) or "tolerance"
        self.finished_by_ = ", ".join(sorted({subproblem.finished_by for subproblem in subproblems}))
        if set(reasons) - {"rounding"}:  # nearer than rounding no solver comes
            limits = [f"`{limit}`" for limit in ("max_iter", "eps") if hasattr(self, limit)]
            advice = f"raise {' or '.join(limits)}, scale the features nearer to 1, or lower C"
            name = type(self).__name__
            warnings.warn(
                f"{name} has not converged ({self.stop_reason_}): {advice}", ConvergenceWarning, stacklevel=2
            )

    def _check_again(self, X: Any) -> Any:
        """Return X, checked to have the same features as in fit."""
        validation.check_is_fitted(self)
        if isinstance(X, Batches):
            if X.shape[1] != self.n_features_in_:
                raise DataError(
                    f"{type(self).__name__} was fitted to {counted(self.n_features_in_, 'features')}, "
                    f"and the batches have {X.shape[1]}"
                )
            return X
        if isinstance(getattr(self, "kernel", None), ObjectKernel):
            return Objects.of(X)
        return validation.validate_data(self, canonical(X), reset=False, **ROWS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        if self.task == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def checked_targets(X: Any, y: Any) -> NDArray[Any]:
    """Return y (n,), checked to have one finite number or one label for each row of X."""
    y = validation.column_or_1d(np.asarray(y))
    validation.check_consistent_length(X, y)
    if y.dtype.kind == "f":
        validation.assert_all_finite(y, input_name="y")
    return y


def checked_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Return the weights of the rows of X, 0 or more; raises ValueError for others, and if all are 0."""
    weights = validation._check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise DataError("weights: expected some above zero, got zero in every row")
    if (far := out_of_range(weights)).any():
        raise DataError(f"weights: expected {IN_RANGE} in each row, got {weights[far][0]:g}")
    return np.asarray(weights)


TAKE_WEIGHTS = (
    "newton, newton_cv, ridge, ridge_cv, ridge_classifier, ridge_classifier_cv, kernel_ridge, "
    "kernel_ridge_classifier, cell_kernel_ridge, cell_kernel_ridge_classifier, svc"
)


def weight_options(solver: Any, sample_weight: Any, rows: Any = slice(None)) -> dict[str, Any]:
    """Return the argument of `fit` for the weights of some rows, if there are any.

    Raises SolverError for a solver whose library has no weights of rows: the official LIBLINEAR and LIBSVM.
    """
    if sample_weight is None:
        return {}
    fitted = getattr(solver, "estimator", solver)  # another library's, which stands in a solver
    if not validation.has_fit_parameter(fitted, "sample_weight"):
        name = type(fitted).__name__
        raise SolverError(f"{name} takes no weights of rows; these solvers do: {TAKE_WEIGHTS}")
    return {"sample_weight": sample_weight[rows]}


def unweighted(fit: Method) -> Method:
    """Wrap the `fit` of a library without weights of rows so that it refuses them in one sentence."""

    @wraps(fit)
    def checked(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        weight_options(self, sample_weight)  # the parameter is not in the signature, which is that of `fit`
        return fit(self, X, y)

    return cast(Method, checked)


@dataclass(frozen=True)
class TargetScale:
    """The scale on which a regression learns its targets, and the way back.

    `log` is log(1 + y), for targets of 0 or more; `power` is the transform of Yeo and Johnson (Biometrika
    2000) that makes them most normal. Predictions are cut to the range of the targets of training, from
    `low` to `high`: beyond it the way back explodes, or does not exist.
    """

    transformer: Any = None
    low: float = -inf
    high: float = inf

    @classmethod
    def learn(cls, target: Target, y: NDArray[np.float64], weights: Any = None) -> Self:
        """Return the scale for targets y (n,) with weights (n,) above 0, if there are any.

        Raises DataError for the logarithm of negative targets.
        """
        if target == "none":
            return cls()
        if target == "log" and y.min() < 0:
            raise DataError(f"target: log needs targets of 0 or more, got {y.min():g}; power takes all")
        logarithms = preprocessing.FunctionTransformer(np.log1p, np.expm1)
        chosen = logarithms if target == "log" else preprocessing.PowerTransformer()
        chosen.set_output(transform="default").fit(by_weight(y, weights, MOST_TARGETS)[:, None])
        return cls(chosen, float(y.min()), float(y.max()))

    def of(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return targets on this scale."""
        return y if self.transformer is None else np.asarray(self.transformer.transform(y[:, None])[:, 0])

    def back(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values on this scale as targets."""
        if self.transformer is None:
            return values
        inside = np.clip(values, *self.of(np.array([self.low, self.high])))
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            targets = self.transformer.inverse_transform(inside[:, None])[:, 0]
        # At the end of a strongly skewed scale targets nearly coincide, and the way back is inf or NaN.
        targets = np.where(np.isnan(targets), np.where(inside > 0, inf, -inf), targets)
        return np.clip(targets, self.low, self.high)


def check_size(what: str, values: Any) -> None:
    """Raise DataError if values are NaN, or if sums of their squares overflow double precision."""
    stored = values.data if issparse(values) else values
    largest = max(abs(float(stored.max(initial=0))), abs(float(stored.min(initial=0))))
    if not largest <= LARGEST / np.sqrt(max(stored.size, 1)):
        raise DataError(f"{what} reach {largest:.3g}, and sums of their squares overflow: scale them down")


def resolved_kernel(kernel: Any, X: Any, weights: Any = None) -> Kernel:
    """Return the kernel (None: linear) with every bandwidth heuristic replaced by the number learnt on X.

    Rows of X (n, d) count by their weights (n,), if there are any.
    """
    if kernel is None:
        return Linear()
    if not isinstance(kernel, Kernel):
        raise UnsupportedKernelError(
            f"kernel: expected one of kfeat.kernels, such as Polynomial(2), got {kernel!r}"
        )
    rows = by_weight(X, weights, MAX_ROWS)
    own: Kernel = clone(kernel).resolve(rows, 0)  # the caller may change and reuse the given kernel
    own.check()
    return own


def relative_error(y: Any, predicted: Any) -> float:
    """Return ||predicted - y|| / ||y||, as Chang, Li, Yang and Poczos (IJCAI 2017) report it."""
    y, predicted = (np.asarray(values, dtype=np.float64) for values in (y, predicted))
    with np.errstate(divide="ignore", invalid="ignore"):  # inf or nan if y is 0
        return float(np.linalg.norm(predicted - y) / np.linalg.norm(y))


def regression_errors(y: Any, predicted: Any, weights: Any = None) -> dict[str, float]:
    """Return relative error, root mean squared error, mean absolute error and R^2 (one row: nan) by name."""
    root = 1.0 if weights is None else np.sqrt(weights)
    return {
        "relative_error": relative_error(root * np.asarray(y), root * np.asarray(predicted)),
        "rmse": float(metrics.root_mean_squared_error(y, predicted, sample_weight=weights)),
        "mae": float(metrics.mean_absolute_error(y, predicted, sample_weight=weights)),
        "r2": float(metrics.r2_score(y, predicted, sample_weight=weights)) if len(y) > 1 else nan,
    }
