"""The base class of feature maps: checks, the random generator, the register of maps, and random signs.

A new map has its parameters as the fields of a dataclass and is registered by `register`. It draws its random
numbers in `_draw`, and its `_block_mapper` returns the function that maps one block.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from types import UnionType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.random import Generator
from numpy.typing import DTypeLike, NDArray
from pydantic_core import core_schema
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from kfeat.diagnostics import Diagnosis, diagnose
from kfeat.errors import DataError, ParameterError, UnsupportedKernelError
from kfeat.kernels import KERNELS, Kernel, ObjectKernel
from kfeat.kernels.base import Estimator
from kfeat.kernels.operands import Objects, canonical, generator
from kfeat.maps.blocks import map_in_blocks, rows_per_block
from kfeat.memory import check_memory
from kfeat.parameters import ALIASES, Jobs, check_parameters, did_you_mean, plain
from kfeat.text import counted

Array = NDArray[Any]
FOURTH_ROOTS = np.array([1, 1j, -1, -1j])  # the complex signs i^j by their exponents j
BlockMapper = Callable[[Any, Array], None]  # (rows of X, rows of the output to fill)


class Facts(NamedTuple):
    """What `kfeat maps` and the README say about a map, one line each; d features of a row, D columns.

    `cost`: operations for mapping one dense row; `variance`: that of <z(x), z(y)>, or the error of a map that
    is not random; `source`: the publication; `use`: when to use it, and when another map.
    """

    cost: str
    variance: str
    source: str
    use: str


@dataclass(eq=False, repr=False)
class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A map z with <z(x), z(y)> close to kernel_(x, y) - kernel_offset_, as a scikit-learn transformer.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel to approximate, one of the classes that `approximates` names; None is `default_kernel`.
    random_state : int, Generator, RandomState or None, default None
        The source of the random numbers; an int makes the map reproducible.
    n_jobs : int, optional
        The number of threads of `transform`, as in joblib: None is one, -1 is all cores.

    Attributes
    ----------
    kernel_ : Kernel
        The approximated kernel, with its bandwidth as a number.
    kernel_offset_ : float
        The constant that a map without its constant column leaves out, otherwise 0.
    n_features_in_ : int
        The number of features of the data that the map was fitted to.
    """

    facts: ClassVar[Facts]
    approximates: ClassVar[type[Kernel] | UnionType]
    default_kernel: ClassVar[Kernel]
    algorithm_version: ClassVar[int] = 1
    min_rows: ClassVar[int] = 64  # of a block: with fewer, calls cost more than cache misses
    sparse_output: ClassVar[bool] = False  # whether features are CSR, with n_components non-zeros in a row

    kernel: Any = None
    random_state: Any = field(default=None, kw_only=True)
    n_jobs: Jobs = field(default=None, kw_only=True)
    _n_features_out: int = field(init=False)  # set when the map is fitted

    @classmethod
    def supports(cls, kernel: Kernel) -> bool:
        """Return whether the map can approximate this kernel."""
        return isinstance(kernel, cls.approximates)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.is_instance_schema(cls)  # a mapping of its fields is not accepted

    @abstractmethod
    def _draw(self, X: Any, rng: Generator) -> int:
        """Draw the map's random numbers for kernel_ and X, and return the number of output columns."""

    @abstractmethod
    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        """Return the function that maps a dense or CSR block of this dtype into the rows of the output."""

    def _check_memory(self, what: str, needed: int) -> None:
        """Raise ParameterError if `needed` bytes are not free for a map of `what`."""
        check_memory(f"a map of {what}", needed, "take fewer components", ParameterError)

    def _row_bytes(self, itemsize: int) -> int:
        """Return the working memory per row of a block."""
        return itemsize * (int(self.n_features_in_) + int(self._n_features_out))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map for data with X's number of features; X (n, d) dense or sparse.

        Raises ParameterError, UnsupportedKernelError (naming the maps that can), DataError, or
        scikit-learn's ValueError for NaN, complex or misshapen data.
        """
        check_parameters(self)
        if hasattr(self, "_n_features_out"):
            del self._n_features_out  # until it is fitted again
        X = self._rows(X)
        rng = generator(self.random_state)
        self.kernel_offset_ = 0.0
        self.kernel_ = self._kernel_for(X, rng)
        try:
            with np.errstate(all="ignore"):  # an overflow shows in the features
                self._n_features_out = self._draw(X, rng)
        except MemoryError as error:
            name = type(self).__name__
            raise ParameterError(
                f"{name}: {error}: take fewer components, or data of fewer features"
            ) from None
        return self

    def _rows(self, X: Any, reset: bool = True) -> Any:
        """Return X, checked; `reset` sets the number of its features, else it must be that of fit."""
        if isinstance(self.kernel, ObjectKernel):
            self.n_features_in_ = 1
            return Objects.of(X)
        return validate_data(self, canonical(X), accept_sparse="csr", reset=reset)

    def _kernel_for(self, X: Any, rng: Generator) -> Kernel:
        kernel = self.default_kernel if self.kernel is None else self.kernel
        self.check_kernel(kernel)
        resolved: Kernel = clone(kernel).resolve(X, rng)  # the caller may change the given kernel
        resolved.check()
        return resolved

    def check_kernel(self, kernel: object) -> None:
        """Raise UnsupportedKernelError if this map cannot approximate the kernel; it names maps that can."""
        cls = type(self)
        if not isinstance(kernel, Kernel):
            raise UnsupportedKernelError(
                f"{cls.__name__}: expected a kernel such as {example_of(cls, kernel)}, got {plain(kernel)!r}"
            )
        if not cls.supports(kernel):
            able = ", ".join(maps_for(kernel)) or "none"
            raise UnsupportedKernelError(
                f"{cls.__name__} cannot approximate {kernel!r}; maps that can: {able}"
            )

    def transform(self, X: Any, out: Array | None = None) -> Array:
        """Return the features of X (n, d), shape (n, n_features_out); float32 if X is, else float64.

        If `out` is given (any array of that shape and dtype, such as a memory map), they are written into it
        block by block, so neither X nor the features need to fit in memory. Integer data are converted block
        by block.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        shape = (X.shape[0], self._n_features_out)
        if out is None:
            what = f"the matrix of {counted(shape[0], 'rows')} of {counted(shape[1], 'features')}"
            check_memory(what, shape[0] * shape[1] * dtype.itemsize, "give `out`, or take fewer", DataError)
        features = np.empty(shape, dtype) if out is None else checked_output(out, shape, dtype, X)
        step = rows_per_block(self._row_bytes(dtype.itemsize), self.min_rows)
        map_in_blocks(self._block_mapper(dtype), X, features, step, self.n_jobs)
        return features

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_n_features_out")

    @property
    def row_values(self) -> int:
        """How many numbers a row of features holds: all columns, or the non-zeros of sparse ones."""
        return int(self.n_components if self.sparse_output else self._n_features_out)

    @property
    def bias(self) -> str:
        """Why E <z(x), z(y)> is not kernel_(x, y) - kernel_offset_; empty where it is."""
        return ""

    @property
    def has_features(self) -> bool:
        """Whether `transform` gives features; otherwise the map has only `approximate_kernel`."""
        return True

    def learnt_parameters(self) -> dict[str, float]:
        """Return the values of parameters that were determined from the data, by name."""
        return {}

    def diagnose(self, X: Any, n_rows: int = 1000, random_state: Any = 0) -> Diagnosis:
        """Return statistics of the columns and the error of the kernel on up to `n_rows` rows of X."""
        return diagnose(self, X, n_rows, random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def example_of(cls: type[FeatureMap], named: object = None) -> str:
    """Return a kernel that a map takes, in Python; the one that other libraries call `named`, if any."""
    name = ALIASES.get(named, named) if isinstance(named, str) else None
    kernel = KERNELS[name]() if name in KERNELS else cls.default_kernel
    kernel = kernel if cls.supports(kernel) else cls.default_kernel
    shown = {name: value for name, value in kernel.get_params(deep=False).items() if plain(value) is not None}
    listed = ", ".join(f"{name}={plain(value)!r}" for name, value in shown.items())
    return f"{type(kernel).__name__}({listed})"


def tell_of_kernel(cls: type[FeatureMap]) -> None:
    """Have the constructor of a map name the kernel to which an unknown parameter such as `gamma` belongs."""
    init = cls.__init__

    @wraps(init)
    def told(self: FeatureMap, *args: Any, **parameters: Any) -> None:
        try:
            init(self, *args, **parameters)
        except TypeError as error:
            known = signature(init).parameters
            unknown = next((name for name in parameters if name not in known), None)
            if unknown is None:
                raise
            kernels = (type(cls.default_kernel), *KERNELS.values())
            of_kernel = [kernel for kernel in kernels if unknown in kernel().get_params(deep=False)]
            fitting = next((kernel for kernel in of_kernel if cls.supports(kernel())), None)
            value = plain(parameters[unknown])
            place = (
                f": it belongs to the kernel, as in {cls.__name__}({fitting.__name__}({unknown}={value!r}))"
                if fitting
                else did_you_mean(unknown, list(known))
            )
            raise TypeError(f"{cls.__name__}: unknown parameter {unknown!r}{place}") from error

    cls.__init__ = told  # type: ignore[method-assign]


MAPS: dict[str, type[FeatureMap]] = {}
M = TypeVar("M", bound=type[FeatureMap])


@dataclass_transform(eq_default=False)
def register(name: str) -> Callable[[M], M]:
    """Return a class decorator that registers a map in MAPS and makes its fields its parameters."""

    def enter(cls: M) -> M:
        MAPS[name] = dataclass(eq=False, repr=False)(cls)
        tell_of_kernel(cls)
        return cls

    return enter


def kernels_of(cls: type[FeatureMap]) -> list[str]:
    """Return the names of the kernels that a map of this class can approximate."""
    return [name for name, kernel in KERNELS.items() if cls.supports(kernel())]


def maps_for(kernel: Kernel) -> list[str]:
    """Return the names of the maps that can approximate this kernel."""
    return sorted(name for name, cls in MAPS.items() if cls.supports(kernel))


def checked_output(out: Array, shape: tuple[int, int], dtype: DTypeLike, X: Any) -> Array:
    """Return `out`; raises DataError if the features do not fit into it, or if it shares memory with X."""
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype or not out.flags.writeable:
        given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise DataError(f"out: expected a writeable array of {dtype} {shape}, got {given}")
    if not isinstance(X, Objects) and np.shares_memory(out, X.data if issparse(X) else X):
        raise DataError("out: expected a separate array, got one that shares memory with X")
    return out


def random_signs(rng: Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Return independent uniform signs in {-1, 1}, as int8."""
    return 2 * rng.integers(2, size=shape, dtype=np.int8) - 1


def random_fourth_roots(rng: Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Return independent uniform exponents j in {0, 1, 2, 3}, as int8, of the complex signs i^j."""
    return rng.integers(4, size=shape, dtype=np.int8)
