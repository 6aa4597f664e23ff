"""Objects of classes that know nothing of kfeat, as its kernels, maps, solvers and measures.

kfeat gives them rows in a form that they take, checks what they return, and names the file and line of an
error.
"""

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from kfeat.errors import CodeError, DataError
from kfeat.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from kfeat.kernels.operands import as_operand, check_finite
from kfeat.memory import check_memory
from kfeat.place import Place, code_errors
from kfeat.text import counted

DENSE_BYTES = 2**30  # of sparse rows that are made dense for a class that does not take sparse ones


# The names that scikit-learn has for kernels, and their parameters, which are those of kfeat.
_NAMES = {
    Linear: ("linear", ()),
    Gaussian: ("rbf", ("gamma",)),
    Laplacian: ("laplacian", ("gamma",)),
    Polynomial: ("poly", ("degree", "gamma", "coef0")),
}


def named_kernel(kernel: Any) -> dict[str, Any]:
    """Return a kernel by scikit-learn's name for it and its parameters, or as a function of two rows.

    A class such as Nystroem, whose `kernel` is a name by default, calls a function for each pair of rows.
    """
    if type(kernel) in _NAMES:
        name, parameters = _NAMES[type(kernel)]
        return {"kernel": name, **{key: getattr(kernel, key) for key in parameters}}
    return {"kernel": lambda x, y: float(kernel(x[None], y[None])[0, 0])}


def refuse(place: Place, what: str) -> NoReturn:
    """Raise CodeError for what the code of a place returned."""
    raise CodeError(f"{place.line_of()}: {place.name}{what}")


def rows_for(estimator: Any, X: Any) -> Any:
    """Return X, as a dense array unless the estimator's tags say that it takes sparse rows."""
    if not issparse(X):
        return X
    try:
        takes_sparse = get_tags(estimator).input_tags.sparse
    except (AttributeError, TypeError):  # it has no tags
        takes_sparse = False
    return X if takes_sparse else dense(X, type(estimator).__name__)


def dense(X: Any, user: str) -> Any:
    """Return CSR rows as a dense array; raises DataError if it does not fit in memory."""
    if not issparse(X):
        return X
    needed = X.shape[0] * X.shape[1] * X.dtype.itemsize
    if needed > DENSE_BYTES:
        raise DataError(
            f"{user} does not say that it takes sparse rows (scikit-learn's tag `input_tags.sparse`), and "
            f"dense ones of {X.shape[1]:,} columns take {needed:,} bytes: take `liblinear`, or a class with "
            "the tag"
        )
    check_memory(f"the dense form of the rows for {user}", needed, "take fewer rows", DataError)
    return X.toarray()


class OtherMap(BaseEstimator):
    """A transformer as a map; its features have the width, the precision and the form that it gives them."""

    has_features = True

    def __init__(self, transformer: Any, place: Place, kernel: Any) -> None:
        self.transformer = transformer
        self.place = place
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformer to X (n, d), and to y if it takes targets."""
        self.kernel_, self.kernel_offset_ = self.kernel, 0.0
        takes_y = "y" in signature(self.transformer.fit).parameters
        with code_errors(self.place):
            self.transformer.fit(rows_for(self.transformer, X), *([y] if takes_y else []))
        return self

    def transform(self, X: Any) -> Any:
        """Return its features of X (n, d), shape (n, D); raises CodeError for anything else."""
        rows = rows_for(self.transformer, X)
        with code_errors(self.place):
            Z = self.transformer.transform(rows)
            self._check(Z, rows)
            return as_operand(Z)

    def _check(self, Z: Any, X: Any) -> None:
        """Raise CodeError unless Z has a row of finite numbers for each row of X, in its own memory."""
        if np.ndim(Z) != 2 or np.shape(Z)[0] != X.shape[0]:
            refuse(
                self.place,
                f".transform returned features of shape {np.shape(Z)} for {counted(X.shape[0], 'rows')}",
            )
        values, own = (A.data if issparse(A) else np.asarray(A) for A in (Z, X))
        if values.dtype.kind == "f" and not np.isfinite(values.sum()) and not np.isfinite(values).all():
            refuse(self.place, ".transform returned features that are NaN or infinite")
        if np.may_share_memory(values, own):
            what = ".transform returned a view of its input, which the next step may change; return a copy"
            refuse(self.place, what)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the transformer, such as random_state; of a kernel those that it takes."""
        if kernel := parameters.get("kernel"):
            self.kernel, known = kernel, self.transformer.get_params(deep=False)
            by_name = isinstance(known.get("kernel", ""), str)
            named = named_kernel(kernel) if by_name else {"kernel": kernel}
            parameters = {key: value for key, value in {**parameters, **named}.items() if key in known}
        self.transformer.set_params(**parameters)
        return self

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the transformer, such as random_state or n_components."""
        if name.startswith("_") or name == "transformer":
            raise AttributeError(name)
        return getattr(self.transformer, name)


class OtherSolver:
    """A classifier or regressor as a solver."""

    def __init__(self, estimator: Any, place: Place) -> None:
        self.estimator, self.place = estimator, place

    @property
    def task(self) -> str:
        """Return the task, by scikit-learn's tags."""
        return "regression" if is_regressor(self.estimator) else "classification"

    def fit(self, X: Any, y: Any, **weights: Any) -> Self:
        """Train on X (n, d), y (n,), and weights of rows; a warning that it has not converged is kept."""
        rows = rows_for(self.estimator, X)
        with warnings.catch_warnings(record=True) as caught, code_errors(self.place):
            warnings.simplefilter("always", ConvergenceWarning)
            self.estimator.fit(rows, y, **weights)
        if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
            self.converged_ = False
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label or a value for each row of X; raises CodeError for anything else."""
        with code_errors(self.place):
            predicted = np.asarray(self.estimator.predict(rows_for(self.estimator, X)))
            if predicted.shape != (X.shape[0],):
                refuse(
                    self.place,
                    f".predict returned the shape {predicted.shape} for {counted(X.shape[0], 'rows')}",
                )
        return predicted

    @property
    def class_weight(self) -> Any:
        """Return the weights of classes that the estimator has, if any."""
        return getattr(self.estimator, "class_weight", None)

    @property
    def n_iter_(self) -> int | None:
        """Return the most iterations of a subproblem, where the estimator says so."""
        counts = getattr(self.estimator, "n_iter_", None)
        return None if counts is None else int(np.max(counts))

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the estimator."""
        self.estimator.set_params(**parameters)
        return self


class OtherKernel(Kernel):
    """A callable k(X, Y) of dense rows as a kernel; Nystrom and the exact solvers take its Gram blocks."""

    def __init__(self, function: Any, place: Place) -> None:
        self.function = function
        self.place = place

    @property
    def formula(self) -> str:
        """The kernel as tables print it."""
        return self.place.name

    def check(self) -> None:
        """Check nothing: the callable checks its own parameters."""

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        with code_errors(self.place):
            block = np.asarray(self.function(dense(X, self.place.name), dense(Y, self.place.name)))
            if block.shape != (X.shape[0], Y.shape[0]):
                shapes = f"{block.shape} for {X.shape[0]:,} and {counted(Y.shape[0], 'rows')}"
                refuse(self.place, f" returned the shape {shapes}")
        check_finite(block, f"values of {self.place.text}")
        return block

    def _diagonal(self, X: Any) -> NDArray[Any]:
        steps = (X[start : start + 64] for start in range(0, X.shape[0], 64))
        return np.concatenate([np.diagonal(self._tile(rows, rows)) for rows in steps] or [np.empty(0)])


class OtherMeasure:
    """An object with `of(feature_map, X)` as a measure; it returns numbers by name."""

    def __init__(self, measure: Any, place: Place) -> None:
        self.measure, self.place = measure, place

    def of(self, feature_map: Any, X: Any, clock: Callable[[str], Any], seed: int) -> dict[str, Any]:
        """Return the numbers that measure an unfitted map on X (n, d), under the key `measured` of a row."""
        with clock("measure"), code_errors(self.place):
            numbers = {
                str(name): float(number) for name, number in self.measure.of(clone(feature_map), X).items()
            }
        return {"measured": numbers, "columns": None}


FORMS: dict[str, type] = {
    "kernel": OtherKernel,
    "map": OtherMap,
    "solver": OtherSolver,
    "measure": OtherMeasure,
}
