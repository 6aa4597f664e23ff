"""Matrices that are read in batches of rows and never held in memory as a whole, and files that hold them."""

import errno
import mmap
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from math import prod
from operator import add
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kfeat.errors import DataError

BATCH_BYTES = 2**24  # of a batch of features: large enough that the cost of a call does not matter
WHOLE_BLOCKS = 4096  # rows that products and moments process at once; a batch holds a multiple of them

Rows = NDArray[np.intp]
Piece = tuple[int, Rows | None, Sequence[Any]]  # a batch's number, its rows in use (None: all), aligned rows


class Batches(ABC):
    """A matrix of shape (n, d) as batches of consecutive rows.

    `each` and `total` visit the batches in the order of the rows. `take` selects rows without copying them.
    """

    def __init__(self, edges: NDArray[np.intp], d: int, dtype: DTypeLike, rows: Rows | None = None) -> None:
        """Set the first row of each batch, the end of the last one, and the rows in use in rising order."""
        self.edges, self.rows, self.dtype = edges, rows, np.dtype(dtype)
        self.shape = (int(edges[-1]) if rows is None else len(rows), d)

    @abstractmethod
    def each(self, function: Callable[..., Any], *aligned: Any) -> Iterator[Any]:
        """Yield function(block, *parts) for each batch; `aligned` are arrays with one entry for each row."""

    @abstractmethod
    def _with_rows(self, rows: Rows) -> Self:
        """Return these batches with other rows in use."""

    def total(self, function: Callable[..., Any], *aligned: Any) -> Any:
        """Return the sum of `each` over all batches."""
        return reduce(add, self.each(function, *aligned))

    def take(self, rows: Rows) -> Self:
        """Return the batches of some rising rows of these."""
        return self._with_rows(rows if self.rows is None else self.rows[rows])

    def _pieces(self, aligned: Sequence[Any]) -> Iterator[Piece]:
        """Yield each batch that has rows in use."""
        wrong = [len(array) for array in aligned if len(array) != self.shape[0]]
        if wrong:
            expected = f"expected a target for each row of the batches, {self.shape[0]:,} in all"
            raise DataError(f"{expected}; got {wrong[0]:,}")
        ends = self.edges if self.rows is None else np.searchsorted(self.rows, self.edges)
        for k, (start, stop) in enumerate(pairwise(ends)):
            if start < stop:
                rows = None if self.rows is None else self.rows[start:stop] - self.edges[k]
                yield k, rows, [array[start:stop] for array in aligned]


class LocalBatches(Batches):
    """Batches that this process makes of rows of X, one after the other."""

    X: Any

    @abstractmethod
    def _block(self, k: int, rows: Rows | None) -> Any:
        """Return batch k, or some of its rows."""

    def each(self, function: Callable[..., Any], *aligned: Any) -> Iterator[Any]:
        """Yield function(block, *parts) for each batch."""
        for k, rows, parts in self._pieces(aligned):
            result = function(self._block(k, rows), *parts)
            release(self.X)
            yield result


class ArrayBatches(LocalBatches):
    """The rows of an array or a CSR matrix; at most one batch of a memory map is resident at a time."""

    def __init__(self, X: Any, rows: Rows | None = None) -> None:
        dtype = np.dtype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
        super().__init__(batch_edges(X.shape[0], X.shape[1], dtype.itemsize), X.shape[1], dtype, rows)
        self.X = X

    def _with_rows(self, rows: Rows) -> Self:
        return type(self)(self.X, rows)

    def _block(self, k: int, rows: Rows | None) -> Any:
        return rows_of(self.X, self.edges, k, rows).astype(self.dtype, copy=False)


class MappedBatches(LocalBatches):
    """The features of the rows of X under a fitted map, computed again in each pass.

    Nothing is stored, so each pass takes the time to map all rows in use. `observe` is called with every
    block of features.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.maps import TensorSketch
    >>> X = np.random.default_rng(0).random((1000, 5))
    >>> features = MappedBatches(TensorSketch(n_components=64, random_state=0).fit(X), X)
    >>> features.shape, sum(features.each(len))
    ((1000, 64), 1000)
    """

    def __init__(
        self, fitted: Any, X: Any, rows: Rows | None = None, observe: Callable[[Any], None] | None = None
    ) -> None:
        dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        d = len(fitted.get_feature_names_out())
        super().__init__(batch_edges(X.shape[0], d, dtype.itemsize), d, dtype, rows)
        self.fitted, self.X, self.observe = fitted, X, observe

    def _with_rows(self, rows: Rows) -> Self:
        return type(self)(self.fitted, self.X, rows, self.observe)

    def _block(self, k: int, rows: Rows | None) -> Any:
        Z = self.fitted.transform(rows_of(self.X, self.edges, k, rows))
        if self.observe is not None:
            self.observe(Z)
        return Z


def batch_edges(n: int, d: int, itemsize: int) -> NDArray[np.intp]:
    """Return the first row of each batch of n rows of d numbers, and n."""
    size = max(1, BATCH_BYTES // max(1, d * itemsize))
    size = max(size // WHOLE_BLOCKS * WHOLE_BLOCKS, min(size, WHOLE_BLOCKS))
    return np.append(np.arange(0, n, size), n)


def rows_of(X: Any, edges: NDArray[np.intp], k: int, rows: Rows | None) -> Any:
    """Return the rows of batch k, or some of them."""
    return X[edges[k] : edges[k + 1]] if rows is None else X[edges[k] + rows]


def stored(batches: Batches, folder: Path) -> NDArray[Any]:
    """Return all rows as an array in an unnamed file of `folder` (see `unnamed_file`)."""
    return written(batches.each(np.asarray), unnamed_file(batches.shape, batches.dtype, folder))


def written(blocks: Iterable[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Write dense blocks of rows into an array, and return it."""
    start = 0
    for block in blocks:
        out[start : start + len(block)] = block
        start += len(block)
        release(out)
    return out


def unnamed_file(shape: tuple[int, ...], dtype: DTypeLike, folder: Path) -> NDArray[Any]:
    """Return an array mapped from a temporary file, which the system removes with the array or the process.

    The file has no name, and its disk space is reserved at once. Raises DataError where the disk has too
    little space.
    """
    size = max(1, prod(shape) * np.dtype(dtype).itemsize)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if size > (free := shutil.disk_usage(folder).free):  # an attempt would fill the disk before it fails
            raise OSError(errno.ENOSPC, f"{free:,} bytes are free")
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # otherwise a full disk would end the process at a later write
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        raise DataError(
            f"a file of {size:,} bytes cannot be created in {folder} ({error.strerror or error}): free some "
            "space, or set KFEAT_CACHE to a folder on another disk"
        ) from None


def release(X: Any) -> None:
    """Release the memory of an array that is mapped from a file; the file keeps what was written."""
    base = X
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode == "c":
            return  # changes to such a map are in memory only
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)
