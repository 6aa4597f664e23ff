"""What kernels, maps and solvers compute with: rows as checked arrays, and random generators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from kfeat.errors import DataError, ParameterError


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
