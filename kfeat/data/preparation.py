"""What a protocol learns from training rows: it turns raw rows into the input of maps and solvers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from kfeat.batches import release
from kfeat.data.dataset import Indices, Matrix, block_rows
from kfeat.data.scaling import Transformer, apply_chain
from kfeat.errors import DataError


@dataclass(frozen=True)
class Preparation:
    """Columns chosen, then scaled by a chain of transformers, then converted to `dtype`.

    Raw rows have `n_features`; `columns` are the positions of those that stay (None: all). `sparse` says that
    rows were sparse and stay so. If labels were made binary, `classes` are the original classes, and
    `positive` those that became +1; the others became -1.
    """

    n_features: int
    columns: Indices | None
    chain: tuple[Transformer, ...]
    sparse: bool
    dtype: str
    classes: NDArray[Any] | None = None
    positive: NDArray[Any] | None = None

    def rows(self, X: Matrix) -> Matrix:
        """Return raw rows (n, d), dense or CSR, prepared as in training.

        Raises DataError for another number of features, and for a value that is too large for `dtype`.
        """
        if X.shape[1] != self.n_features:
            raise DataError(f"expected rows of {self.n_features} features, got {X.shape[1]}")
        X = X if self.columns is None else X[:, self.columns]
        step = block_rows(X, X.shape[1], dense=not self.sparse)
        with refusing_large_values("the data", self.dtype):
            if not self.chain or X.shape[0] <= step:
                return self.block(X)
            blocks = (self.block(X[start : start + step]) for start in range(0, X.shape[0], step))
            if self.sparse and issparse(X):
                return stacked(blocks)
            return written(blocks, np.empty(X.shape, self.dtype))

    def block(self, X: Matrix) -> Matrix:
        """Return rows that have the chosen columns only; raises FloatingPointError where one is too large."""
        X = X.astype("float64" if self.chain else self.dtype, copy=False)
        return apply_chain(self.chain, X, dense=not self.sparse).astype(self.dtype, copy=False)

    def labels(self, y: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return labels as +1 and -1 if training made them so, otherwise unchanged.

        `start` is how many rows come before. Raises DataError, which names the row, for a label that the data
        did not have.
        """
        if self.classes is None or self.positive is None:
            return y
        known = np.isin(y, self.classes)
        if not known.all():
            row = int(np.argmin(known))
            classes = ", ".join(str(label) for label in self.classes.tolist())
            raise DataError(f"row {start + row + 1}: expected one of the labels {classes}, got {y[row]}")
        return np.where(np.isin(y, self.positive), 1, -1)


def stacked(blocks: Iterator[Matrix]) -> Matrix:
    """Return sparse blocks of rows as one CSR matrix."""
    first, *others = blocks
    return vstack([first, *others], format="csr") if others else first


def written(blocks: Iterator[Matrix], out: NDArray[Any]) -> NDArray[Any]:
    """Write dense blocks of rows into an array, and return it."""
    start = 0
    for block in blocks:
        out[start : start + len(block)] = block
        start += len(block)
        release(out)
    return out


@contextmanager
def refusing_large_values(name: str, dtype: str) -> Iterator[None]:
    """Raise DataError where a value overflows while rows are scaled."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError:
        raise DataError(
            f"{name}: expected values that {dtype} can hold once they are scaled, "
            "got larger ones; scale them another way, or set `dtype` to float64"
        ) from None
