"""A dataset: raw, as its files have it, and ready for maps and solvers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.base import Task
from kfeat.data.fingerprints import fingerprint_of
from kfeat.data.matrix import Indices, Matrix, Part, block_rows, take
from kfeat.errors import DataError


@dataclass(frozen=True)
class Contents:
    """What a reader makes of files: their parts, and the coding of a table, whose columns have names.

    `task` is set where the type of the labels tells it.
    """

    parts: Mapping[str, Part]
    coding: Any = None
    task: Task | None = None


@dataclass(frozen=True)
class Raw:
    """A dataset as its files have it, before any protocol.

    `parts` has "train" and perhaps "test". Class labels are integers (or floats) as in the file; words are
    the codes 0, 1, ... of `label_names`. `recorded` is the fingerprint where it is known without reading the
    numbers. `verified` says that the files or the arrays equal pinned hashes. `columns` are the names of the
    columns that became features, none where the format has none, and `target` that of the labels' column.
    `n_dropped` rows were left out. `learn` returns how the columns became features and labels, and `column`
    the numbers by which a column of the files splits or weighs the rows.
    """

    name: str
    task: Task
    parts: Mapping[str, Part]
    label_names: tuple[str, ...] = ()
    recorded: str | None = None
    verified: bool = False
    columns: tuple[str, ...] = ()
    target: str | None = None
    n_dropped: int = 0
    learn: Callable[[], Any] | None = None
    column: Callable[[Any, str], NDArray[Any]] | None = None

    def cells(self, column: int | str | None, kind: str) -> NDArray[Any]:
        """Return the groups' numbers, times or weights in a column; raises DataError without columns."""
        if self.column is None:
            raise DataError(f"{self.name}: expected a table with named columns for `{kind}`")
        return self.column(column, kind)

    @cached_property
    def coding(self) -> Any:
        """How the columns became features and labels; None for data generated, or made from others."""
        return self.learn() if self.learn else None

    @cached_property
    def fingerprint(self) -> str:
        """The recorded fingerprint, or the one computed from the numbers."""
        return self.recorded or fingerprint_of(self.parts, self.label_names)

    @property
    def n_features(self) -> int:
        """The number of columns, the same in each part."""
        return int(self.parts["train"].X.shape[1])

    @cached_property
    def y(self) -> NDArray[Any]:
        """The labels or targets of all parts, one after the other."""
        return np.concatenate([part.y for part in self.parts.values()])

    @property
    def sparse(self) -> bool:
        """Whether any part is sparse; then blocks are CSR."""
        return not all(isinstance(part.X, np.ndarray) for part in self.parts.values())

    def consecutive(self, rows: Indices, dtype: str) -> Matrix | None:
        """Return consecutive rows of a dense part without a copy; None where they are not consecutive."""
        start = 0
        for part in self.parts.values():
            stop = start + len(part.y)
            if start <= rows[0] and rows[-1] < stop and rows[-1] - rows[0] == len(rows) - 1:
                X = part.X[int(rows[0]) - start : int(rows[-1]) + 1 - start]
                return X if isinstance(X, np.ndarray) and X.dtype == dtype else None
            start = stop
        return None

    def blocks(
        self, rows: Indices, columns: Indices, dtype: str = "float64", dense: bool = True
    ) -> Iterator[Matrix]:
        """Yield the given rising rows and columns of X in blocks of rows of one dtype.

        With `dense`, the blocks are small enough to be made dense.
        """
        from scipy.sparse import csr_array

        start = 0
        for part in self.parts.values():
            size = block_rows(part.X, len(columns), dense)
            stop = start + len(part.y)
            here = rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)] - start
            start = stop
            for begin in range(0, len(here), size):
                block = take(part.X, here[begin : begin + size])
                if len(columns) < self.n_features:
                    block = block[:, columns]
                yield csr_array(block.astype(dtype)) if self.sparse else np.asarray(block, dtype)


@dataclass(frozen=True)
class Dataset:
    """A dataset after its protocol, ready for maps and solvers.

    X_train (n_train, d) and X_test (n_test, d) are dense arrays or `scipy.sparse.csr_array`s of the
    protocol's dtype. Class labels are integers (or floats) as the file has them, +1 and -1 once binarised;
    targets are float64. `verified` says that the files or the parsed arrays equal pinned hashes. `learn`
    returns how the files' columns became features, before the protocol; None where no file was read.
    `preparation` turns other raw rows into rows like those of X_train. `by` has the groups or the times of
    the training rows, if the protocol splits by them; `weights` and `weights_test` are those of the rows.
    """

    name: str
    X_train: Matrix
    y_train: NDArray[Any]
    X_test: Matrix
    y_test: NDArray[Any]
    task: Task
    fingerprint: str
    verified: bool
    label_names: tuple[str, ...] = ()
    learn: Callable[[], Any] | None = None
    preparation: Any = None
    by: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    weights_test: NDArray[np.float64] | None = None

    @cached_property
    def coding(self) -> Any:
        """How the files' columns became features; learnt from the files when it is asked for."""
        return self.learn() if self.learn else None
