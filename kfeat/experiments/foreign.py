"""Classes by their place as kernels, maps, solvers and measures: of a user's own file, or of any package.

A class needs nothing of kfeat: a map is a transformer of scikit-learn, a solver a classifier or regressor, a
kernel a callable k(X, Y), and a measure has `of(feature_map, X)`. kfeat gives them rows in a form that they
take, checks what they return, and names the file and line of an error. Classes that derive from kfeat's
FeatureMap, Kernel or Solver are used as they are.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from math import isfinite
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from kfeat.errors import CodeError, DataError
from kfeat.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from kfeat.kernels.base import as_operand, check_finite
from kfeat.maps import FeatureMap
from kfeat.memory import check_memory
from kfeat.parameters import HANDED_IN, did_you_mean
from kfeat.place import Place, code_errors, set_back
from kfeat.solvers import Solver
from kfeat.text import counted

METHODS = {
    "kernel": ("__call__",),
    "map": ("fit", "transform"),
    "solver": ("fit", "predict"),
    "measure": ("of",),
}
DENSE_BYTES = 2**30  # of sparse rows that are made dense for a class that does not take sparse ones
PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Foreign:
    """A class by its place, as the class of a component; it is imported when it is first needed.

    Its version is that of the place. Its parameters are those of its constructor. A function that returns an
    object of the kind serves as well.
    """

    part: str
    place: Place

    @property
    def algorithm_version(self) -> str:
        """Return the version of the code."""
        return self.place.version

    @property
    def __signature__(self) -> Signature:
        return signature(self.place.load())

    @property
    def needs_kernel(self) -> bool:
        """Return whether a solver trains on a kernel; only those of kfeat do."""
        return bool(getattr(self.place.load(), "needs_kernel", False))

    @property
    def out_of_core(self) -> str:
        """Return how a solver trains on features that do not fit in memory."""
        return str(getattr(self.place.load(), "out_of_core", "no"))

    def serves(self, kind: type) -> bool:
        """Return whether its objects can stand where kfeat's own class `kind` is needed."""
        cls = self.place.load()
        return (isinstance(cls, type) and issubclass(cls, kind)) or issubclass(_FORMS[self.part], kind)

    def supports(self, kernel: Kernel) -> bool:
        """Return whether a map can approximate this kernel; one that is not of kfeat knows by itself."""
        return bool(self.place.load().supports(kernel)) if self.serves(FeatureMap) else True

    def problems(self, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the class or with parameters of these names, each with its key."""
        cls = self.place.load()
        wanted = METHODS[self.part]
        missing = [name for name in wanted if not hasattr(cls, name)] if isinstance(cls, type) else []
        if missing or not callable(cls):
            lacks = f"has no {' and no '.join(missing)}" if missing else "is not a class"
            where = self.place.line_of()
            yield "name", f"{self.place.text} {lacks}, so it is not a {self.part} ({where})"
            return
        known = self.__signature__.parameters
        if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in known.values()):
            return
        for name in parameters:
            if name not in known:
                listed = ", ".join(known) or "none"
                yield name, f"unknown key{did_you_mean(name, list(known))}; known: {listed}"
        for name, parameter in known.items():
            needed = parameter.default is Parameter.empty and parameter.kind is not Parameter.VAR_POSITIONAL
            if needed and name not in parameters and name not in HANDED_IN:
                yield name, "missing"

    def defaults(self) -> dict[str, Any]:
        """Return the defaults of the constructor that JSON can hold, for a row to be complete."""
        known = {name: item.default for name, item in self.__signature__.parameters.items()}
        return {
            name: default
            for name, default in known.items()
            if isinstance(default, PLAIN) and name not in HANDED_IN
            if not isinstance(default, float) or isfinite(default)
        }

    def build(self, parameters: Mapping[str, Any], handed_in: Mapping[str, Any]) -> Any:
        """Return an object with these parameters, in the form that a trial uses.

        It gets those of `handed_in` (kernel, random_state, n_jobs) that its constructor takes, but a solver
        no kernel unless it is one of kfeat.
        """
        known, kernel = self.__signature__.parameters, handed_in.get("kernel")
        taken = {name: value for name, value in handed_in.items() if name in known}
        if "kernel" in taken.keys() - parameters.keys() and isinstance(known["kernel"].default, str):
            taken |= {key: value for key, value in named_kernel(kernel).items() if key in known}
        if self.part == "solver" and not self.needs_kernel:
            taken = {name: value for name, value in taken.items() if name == "random_state"}
        with code_errors(self.place), set_back():
            made = self.place.load()(**{**taken, **parameters})
        if isinstance(made, FeatureMap | Kernel | Solver):
            return made
        return (
            OtherMap(made, self.place, kernel) if self.part == "map" else _FORMS[self.part](made, self.place)
        )


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


_FORMS: dict[str, type] = {
    "kernel": OtherKernel,
    "map": OtherMap,
    "solver": OtherSolver,
    "measure": OtherMeasure,
}
