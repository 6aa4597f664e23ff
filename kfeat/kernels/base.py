"""The base class of exact kernels: checks of matrices, and Gram blocks, computed tile by tile."""

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from importlib.metadata import version
from math import inf, isnan
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn import metrics
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms
from threadpoolctl import ThreadpoolController

from kfeat.errors import DataError, ParameterError, UnsupportedKernelError
from kfeat.parameters import check_parameters
from kfeat.text import counted


class Objects:
    """Rows that are objects, in the place of a matrix (n, 1): the operand of an ObjectKernel."""

    ndim, dtype = 2, np.dtype(np.float64)  # the dtype is that of the kernel's values

    def __init__(self, items: NDArray[Any]) -> None:
        self.items = items
        self.shape = (len(items), 1)

    @classmethod
    def of(cls, X: Any) -> "Objects":
        """Return the objects of a sequence, such as a list of strings, or of a column of them.

        Raises DataError for anything else.
        """
        if isinstance(X, cls):
            return X
        if isinstance(X, str | bytes) or not hasattr(X, "__len__") or issparse(X):
            raise DataError(f"expected a list or an array of objects, got {type(X).__name__}")
        rows = X.to_numpy() if hasattr(X, "to_numpy") else X
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.shape[1] == 1:
            rows = rows[:, 0]
        items = np.empty(len(rows), dtype=object)
        items[:] = [*rows]
        return cls(items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, rows: Any) -> "Objects":
        return Objects(self.items[rows])

    def astype(self, dtype: Any, copy: bool = True) -> "Objects":
        """Return the same rows: objects have no precision."""
        return self


def as_operand(X: Any) -> Any:
    """Return X as a dense or canonical CSR array of float32 or float64; without a copy if it already is one.

    Raises DataError if X is not a matrix of real numbers.
    """
    if isinstance(X, Objects):
        return X
    try:
        A = canonical(X) if issparse(X) else np.asarray(X)
        if A.dtype == object and hasattr(X, "iloc"):  # a data frame with columns of several types
            A = X.to_numpy(np.float64)
    except (ValueError, TypeError) as error:  # rows of different lengths, missing cells, words
        raise DataError(f"expected rows of real numbers, shape (n, d): {error}") from None
    if A.ndim != 2 or A.dtype.kind not in "fiub":
        raise DataError(f"expected rows of real numbers, shape (n, d), got {A.dtype} of shape {A.shape}")
    return A if A.dtype in (np.float32, np.float64) else A.astype(np.float64)


def canonical(X: Any) -> Any:
    """Return a sparse matrix as CSR with sorted 32-bit indices and duplicates summed; other X unchanged.

    X itself is never changed; its arrays are shared if they are in this form. Raises DataError if its arrays
    contradict each other: C code does not check them and would read outside of them.
    """
    if not issparse(X):
        return X
    if X.ndim != 2 or X.dtype.kind not in "fiubc":
        raise DataError(f"expected a sparse matrix of numbers, shape (n, d), got {X.dtype} of {X.shape}")
    _check_indices(X)
    try:
        rows = csr_array(X)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"the {X.format} matrix cannot be read as rows: {error}") from None
    if X.format not in ("csr", "csc", "bsr", "coo"):
        _check_indices(rows)
    native = (
        np.dtype(np.float64) if rows.dtype in (np.float16, np.longdouble) else rows.dtype.newbyteorder("=")
    )
    rows = rows.astype(native, copy=False)  # SciPy's compiled code supports only these
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if rows.indices.dtype != np.int32 and max(rows.nnz, *rows.shape) < 2**31:
        short = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
        rows = csr_array(short, shape=rows.shape)
    return rows


def check_finite(values: NDArray[Any], what: str) -> None:
    """Raise DataError if `values` contain NaN or infinity; with a finite sum they cannot."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if not np.isfinite(total) and not np.isfinite(values).all():
        raise DataError(
            f"{what} are not finite in {values.dtype}: the rows have NaN or infinity, or are so large that "
            "numbers overflow; scale them down"
        )


def _check_indices(X: Any) -> None:
    """Raise DataError if the indices of a CSR, CSC, BSR or COO matrix do not fit its shape and data."""
    if X.format == "coo":
        valid = all(
            _within(index, bound) and len(index) == len(X.data)
            for index, bound in zip(X.coords, X.shape, strict=True)
        )
    elif X.format in ("csr", "csc", "bsr"):
        block = X.blocksize if X.format == "bsr" else (1, 1)
        rows, columns = (n // size for n, size in zip(X.shape, block, strict=True))
        major, minor = (columns, rows) if X.format == "csc" else (rows, columns)
        pointers = np.asarray(X.indptr)
        valid = (
            _within(pointers, len(X.indices) + 1)
            and len(pointers) == major + 1
            and pointers[0] == 0
            and bool((pointers[1:] >= pointers[:-1]).all())
            and _within(X.indices, minor)
            and len(X.indices) == len(X.data)
        )
    else:
        return
    if not valid:
        raise DataError(
            f"the {X.format} matrix of shape {X.shape} is damaged: its indices are not integers within that "
            "shape, or do not match its data (see SciPy's X.check_format()); build it again"
        )


def _within(index: Any, bound: int) -> bool:
    """Return whether `index` is a vector of integers in range(bound)."""
    index = np.asarray(index)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        return False
    return not index.size or bool(index.min() >= 0 and index.max() < bound)


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for None, an int, a SeedSequence, a Generator (itself) or a RandomState.

    A RandomState gives a seed, so that its state advances with each call as in scikit-learn.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"random_state: expected None, an integer of at least 0 or a random generator of NumPy "
            f"(got {random_state!r}): {error}"
        ) from None


TILE = 1024  # rows and columns of a tile; a float64 tile takes 8 MB, the only extra memory of a Gram block
DENSE_FROM = 0.05  # from this share of non-zeros on, a dense tile multiplies faster than a sparse one

Positive = Annotated[float, Gt(0), Lt(inf)]


class Estimator(BaseEstimator):
    """A scikit-learn estimator that knows which kfeat pickled it, and warns in another version."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, and the version of kfeat."""
        return {**super().__getstate__(), "_kfeat_version": version("kfeat")}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the call that makes it, with NumPy's numbers as plain ones."""
        with np.printoptions(legacy="1.25"):
            return str(super().__repr__(N_CHAR_MAX))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes; warns as scikit-learn does if another version of kfeat wrote them."""
        state = dict(state)
        versions = {
            "original_sklearn_version": f"{state.pop('_kfeat_version', 'unknown')} of kfeat",
            "current_sklearn_version": f"{version('kfeat')} of kfeat",
        }
        if len({*versions.values()}) > 1:
            warning = InconsistentVersionWarning(estimator_name=type(self).__name__, **versions)
            warnings.warn(warning, stacklevel=2)
        super().__setstate__(state)


class Kernel(Estimator):
    """A positive definite kernel k(x, y); an estimator without fit, so `clone` and grids over it work.

    Examples
    --------
    >>> from kfeat.kernels import Gaussian, Polynomial
    >>> X, Y = [[1.0, 2.0], [1.0, 0.0]], [[3.0, 1.0]]
    >>> Polynomial(degree=2)(X, Y)
    array([[25.],
           [ 9.]])
    >>> Polynomial(degree=2).diagonal(X)
    array([25.,  1.])
    >>> Gaussian(gamma="median").resolve(X)
    Gaussian(gamma=0.125)
    """

    algorithm_version: ClassVar[int] = 1
    template: ClassVar[str]  # of the formula, with the names of parameters in braces
    learns: ClassVar[str | None] = None  # the parameter that may be a heuristic's name

    def __call__(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Return the Gram block K[i, j] = k(X[i], Y[j]), with Y = X by default.

        X (n, d) and Y (m, d) are dense or sparse; the block (n, m) is dense, and float32 if both are. Two
        rows (d,) give the number k(x, y), as scikit-learn's `pairwise_kernels` expects of a function. Raises
        ParameterError for invalid parameters, and DataError for data with different numbers of features or if
        kernel values are not finite.
        """
        self.check()
        if self._are_two_rows(X, Y):
            return self(X[None], Y[None])[0, 0]
        A = self.operand(X)
        B = A if Y is None else self.operand(Y)
        if A.shape[1] != B.shape[1]:
            raise DataError(
                f"X has {counted(A.shape[1], 'features')} and Y has {B.shape[1]:,}: give both the same"
            )
        try:
            with np.errstate(all="ignore"):  # check_finite finds overflows
                K = self._block(A, B, symmetric=Y is None)
        except MemoryError as error:
            raise DataError(f"{self!r}: {error}: give fewer rows or features at once") from None
        check_finite(K, f"values of {self!r}")
        return K

    def _are_two_rows(self, X: Any, Y: Any) -> bool:
        return all(isinstance(x, np.ndarray) and x.ndim == 1 for x in (X, Y))

    def against(self, Y: Any) -> Callable[[Any], NDArray[Any]]:
        """Return the function X -> k(X, Y), for many blocks of rows X in Y's precision.

        Work that depends only on Y is done once. The blocks should be small, since there are temporaries of
        their size. The kernel values are not checked to be finite.
        """
        self.check()
        Y = dense_if_quicker(as_operand(Y))
        Y = Y if issparse(Y) else np.asfortranarray(Y)  # Y.T is what CSR rows are multiplied with
        return lambda X: self._tile(X, Y)

    def operand(self, X: Any) -> Any:
        """Return rows in the form that the kernel computes with; raises DataError for others."""
        return as_operand(X)

    def parts(self) -> Sequence["Kernel"]:
        """Return the kernels of which this kernel consists."""
        return ()

    def check(self) -> None:
        """Raise ParameterError if a parameter of this kernel or of one of its parts is not valid."""
        check_parameters(self)
        for part in self.parts():
            part.check()

    def _block(self, A: Any, B: Any, symmetric: bool) -> NDArray[Any]:
        """Return the block tile by tile; if it is `symmetric`, only half of the tiles are computed."""
        if not symmetric and 0 < min(A.shape[0], B.shape[0]) <= max(A.shape[0], B.shape[0]) <= TILE:
            return self._tile(A, B)
        K: NDArray[Any] = np.empty((A.shape[0], B.shape[0]), dtype=np.result_type(A.dtype, B.dtype))
        if not K.size:
            return K
        for rows in gen_batches(A.shape[0], TILE):
            for columns in gen_batches(B.shape[0], TILE):
                if not symmetric or columns.start > rows.start:
                    K[rows, columns] = self._tile(A[rows], B[columns])
                elif columns == rows:
                    tile = A[rows]
                    K[rows, rows] = self._tile(tile, tile)
                    np.fill_diagonal(K[rows, rows], self.diagonal(tile))
                else:  # its transpose above the diagonal is already known
                    K[rows, columns] = K[columns, rows].T
        return K

    def diagonal(self, X: Any) -> NDArray[Any]:
        """Return k(X[i], X[i]), shape (n,)."""
        self.check()
        A = self.operand(X)
        with np.errstate(all="ignore"):
            values = self._diagonal(A).astype(A.dtype, copy=False)
        check_finite(values, f"values of {self!r}")
        return values

    @property
    def formula(self) -> str:
        """The kernel as tables and figures print it."""
        given = {name: v for name, v in self.get_params(deep=False).items() if v is not None}
        words = {name: v.replace("_", " ") if isinstance(v, str) else f"{v:g}" for name, v in given.items()}
        return self._template().format(**words)

    def _template(self) -> str:
        return self.template

    @abstractmethod
    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        """Return k(X[i], Y[j]) of two operands of at most TILE rows."""

    @abstractmethod
    def _diagonal(self, X: Any) -> NDArray[Any]:
        """Return k(X[i], X[i]) of an operand, shape (n,)."""

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return this kernel with every bandwidth heuristic replaced by the number learnt on X."""
        if self.learns is None:
            return self
        self.check()
        if not isinstance(rule := getattr(self, self.learns), str):
            return self
        resolved: Self = clone(self).set_params(**{self.learns: self._learnt(X, rule, random_state)})
        return resolved

    def _learnt(self, X: Any, rule: str, random_state: Any) -> float:
        """Return the bandwidth that a heuristic gives on X."""
        raise NotImplementedError


def dense_if_quicker(Y: Any) -> Any:
    """Return a CSR operand as a dense array if it is not sparse enough to be faster."""
    return Y.toarray() if issparse(Y) and Y.nnz >= DENSE_FROM * Y.shape[0] * Y.shape[1] else Y


def inner_products(X: Any, Y: Any) -> NDArray[Any]:
    """Return <X[i], Y[j]> as a new dense array, for any mix of dense and CSR operands."""
    Y = dense_if_quicker(Y) if issparse(X) else Y.toarray() if issparse(Y) else Y
    product = X @ Y.T
    return product.toarray() if issparse(product) else product


def squared_norms(X: Any) -> NDArray[Any]:
    """Return <X[i], X[i]>, shape (n,), in X's precision or float64 for integers."""
    if X.dtype in (np.float32, np.float64):
        norms: NDArray[Any] = row_norms(X, squared=True)
        return norms
    return np.concatenate([squared_norms(as_operand(X[rows])) for rows in gen_batches(X.shape[0], TILE)])


BandwidthRule = Literal["mean_distance", "median"]
CLOSE = 1e-6  # ||x - y||^2 / (||x||^2 + ||y||^2) below which the difference of the norms cancels too much
SOME = 32  # number of rows that are used to find where most rows lie
FAR = 100  # a mean that is more than so many times the size of most rows away from them is due to outliers
IMPORTED_BY = os.getpid()
MAX_ROWS = 2000  # two million pairs; with more rows the heuristic uses a random sample of them


def euclidean_bandwidth(X: Any, rule: str, random_state: Any) -> float:
    """Return the mean or median of ||x - y|| over the distinct pairs of (at most MAX_ROWS) rows of X."""
    A = sampled(X, random_state)
    found = bandwidth(np.sqrt(squared_distances(A, A)), rule)
    norms = squared_norms(A if issparse(A) else A - centre_of(A))
    # If most rows are equal, these distances are only rounding errors.
    return bandwidth(exact_distances(A, A), rule) if found**2 < 2 * CLOSE * norms.max() else found


def bandwidth(distances: NDArray[Any], rule: str) -> float:
    """Return the mean or median over the pairs above the diagonal."""
    pairs = distances[np.triu_indices(len(distances), k=1)]
    value = float(np.median(pairs) if rule == "median" else pairs.mean()) if pairs.size else 0.0
    if not value > 0:
        if isnan(value):
            raise DataError(
                f"the {rule} bandwidth is not a number: squares of the rows' values overflow; scale the rows"
            )
        if rule == "median" and pairs.any():
            raise DataError(
                "the median distance is 0, since at least half of the pairs of rows are equal: set the "
                "kernel's bandwidth to mean_distance, or to a number"
            )
        raise DataError(
            f"the {rule} bandwidth is 0, since all rows are equal: set the kernel's bandwidth to a number"
        )
    return value


def sampled(X: Any, random_state: Any) -> Any:
    """Return all rows of X, or MAX_ROWS of them drawn without replacement, in float64."""
    sliced = isinstance(X, np.ndarray) or (issparse(X) and X.format == "csr")
    X = X if sliced and X.ndim == 2 else as_operand(X)
    n = X.shape[0]
    if n > MAX_ROWS:
        X = X[np.sort(generator(random_state).choice(n, MAX_ROWS, replace=False))]
    return as_operand(X).astype(np.float64)


def centre_of(Y: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of rows Y (m, d), or the median of some rows if the mean is far from most of them.

    Subtracting it changes no distance and keeps the terms of ||x||^2 + ||y||^2 - 2 <x, y> small, so that less
    cancels. One outlier could move the mean far away from all other rows.
    """
    if not len(Y):
        return np.zeros(Y.shape[1], Y.dtype)
    some = Y[:: -(-len(Y) // SOME)]
    with np.errstate(all="ignore"):
        mean, middle = Y.mean(axis=0), np.median(some, axis=0).astype(Y.dtype, copy=False)
        size = np.median(squared_norms(some - middle))
        pulled = squared_norms((mean - middle)[None])[0] > FAR * size
    found: NDArray[Any] = middle if pulled else mean
    return found


def squared_distances(X: Any, Y: Any) -> NDArray[Any]:
    """Return ||X[i] - Y[j]||^2 = ||x||^2 + ||y||^2 - 2 <x, y>, dense operands shifted by `centre_of(Y)`."""
    same = X is Y  # then the distances are exactly symmetric
    if not (issparse(X) or issparse(Y)):
        centre = centre_of(Y)
        Y = Y - centre
        X = Y if same else X - centre
    products = inner_products(X, Y)
    products *= 2
    squares = np.add.outer(squared_norms(X), squared_norms(Y))
    squares -= products
    return np.maximum(squares, 0, out=squares)


def exact_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    """Return ||X[i] - Y[j]||, computed from the differences for close rows, whose norms would cancel."""
    distances: NDArray[np.float64] = squared_distances(X, Y)
    centre = 0 if issparse(X) or issparse(Y) else centre_of(Y)  # as in squared_distances
    norms = (squared_norms(rows if issparse(rows) else rows - centre) for rows in (X, Y))
    close = distances < CLOSE * np.add.outer(*norms)
    i, j = np.nonzero(close)
    for start in range(0, len(i), TILE):
        some = i[start : start + TILE], j[start : start + TILE]
        distances[some] = squared_norms(X[some[0]] - Y[some[1]])
    return np.sqrt(distances, out=distances)


def is_forked() -> bool:
    """Return whether this is a forked child, where OpenMP would wait forever for the parent's threads."""
    return os.getpid() != IMPORTED_BY


def manhattan_distances(X: Any, Y: Any) -> NDArray[np.float64]:
    """Return ||X[i] - Y[j]||_1, by SciPy (dense) or by scikit-learn's OpenMP (CSR)."""
    if not is_forked():
        return metrics.pairwise.manhattan_distances(X, Y)
    with ThreadpoolController().limit(limits=1, user_api="openmp"):
        return metrics.pairwise.manhattan_distances(X, Y)


def number(kernel: Any, name: str) -> float:
    """Return the kernel's bandwidth; raises UnsupportedKernelError if it is still a heuristic's name."""
    value = getattr(kernel, name)
    if isinstance(value, str):
        raise UnsupportedKernelError(
            f"{type(kernel).__name__}({name}={value!r}) is not a number yet: call kernel.resolve(X) first"
        )
    return float(value)
