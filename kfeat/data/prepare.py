"""From a dataset's files and a protocol to the arrays an experiment sees."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.draws import shuffled
from kfeat.data.models import Dataset, Matrix, Part, Raw
from kfeat.data.protocol import Against, Protocol, RandomHalf
from kfeat.data.scaling import Scaler, apply_chain, learn_chain
from kfeat.data.splits import Rows, split_rows
from kfeat.errors import DataError

BLOCK_VALUES = 1 << 20  # values taken through the chain at a time: 8 MB in float64


def prepare(raw: Raw, protocol: Protocol, random_state: int) -> Dataset:
    """Return the dataset under a protocol; `random_state` draws what the protocol does not fix.

    Works in blocks of rows in float64 and writes the result once, so memory beyond the result stays small.
    Raises DataError when the split asks for too many rows, the training rows hold a single class, or a value
    is too large for the protocol's dtype.
    """
    try:
        with np.errstate(over="raise"):
            return prepared(raw, protocol, random_state)
    except FloatingPointError:
        raise DataError(
            f"{raw.name}: expected values that {protocol.dtype} can hold once they are scaled, "
            "got larger ones; scale them another way, or set `dtype` to float64"
        ) from None


def prepared(raw: Raw, protocol: Protocol, random_state: int) -> Dataset:
    """Return the dataset; raises FloatingPointError for a value that is too large."""
    train_rows, test_rows = split_rows(protocol.split, raw.parts, raw.name, random_state)
    y = np.concatenate([part.y for part in raw.parts.values()])
    if raw.task == "classification":
        y = binarised(y, protocol, raw)
        if len(np.unique(y[train_rows])) < 2:
            raise DataError(
                f"{raw.name}: expected two classes or more in the training rows, got one; "
                "draw more rows or choose another split"
            )
    elif protocol.binarise != "none":
        raise DataError(f"{raw.name} is a regression task; its targets have no classes to make binary")
    view = RowView(raw.parts, np.arange(next(iter(raw.parts.values())).X.shape[1]))
    if protocol.constant_features == "drop":
        view = RowView(raw.parts, view.varying_columns(train_rows, raw.name))
    chain = learn_chain(protocol.scale, lambda: view.blocks(train_rows))
    return Dataset(
        name=raw.name,
        X_train=scaled(view, train_rows, chain, protocol.dtype),
        y_train=y[train_rows],
        X_test=scaled(view, test_rows, chain, protocol.dtype),
        y_test=y[test_rows],
        task=raw.task,
        fingerprint=raw.fingerprint,
        verified=raw.verified,
        label_names=raw.label_names if protocol.binarise == "none" else (),
    )


class RowView:
    """The rows of a dataset's parts, counted through all of them, with some of the columns."""

    def __init__(self, parts: Mapping[str, Part], columns: NDArray[np.intp]) -> None:
        self.matrices = [part.X for part in parts.values()]
        self.starts = np.cumsum([0, *(X.shape[0] for X in self.matrices)])
        self.columns = columns
        self.all_columns = len(columns) == self.matrices[0].shape[1]

    @property
    def sparse(self) -> bool:
        """Whether any part is sparse; then blocks are CSR."""
        return not all(isinstance(X, np.ndarray) for X in self.matrices)

    def blocks(self, rows: Rows, dtype: str = "float64") -> Iterator[Matrix]:
        """Yield the given rising rows in blocks of one dtype."""
        from scipy.sparse import csr_array

        size = max(1, BLOCK_VALUES // len(self.columns))
        for X, start, stop in zip(self.matrices, self.starts, self.starts[1:], strict=False):
            here = rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)] - start
            for begin in range(0, len(here), size):
                block = take(X, here[begin : begin + size])
                if not self.all_columns:
                    block = block[:, self.columns]
                yield csr_array(block.astype(dtype)) if self.sparse else np.asarray(block, dtype)

    def varying_columns(self, rows: Rows, name: str) -> NDArray[np.intp]:
        """Return the columns that take more than one value in the given rows."""
        low, high = np.full(len(self.columns), np.inf), np.full(len(self.columns), -np.inf)
        for block in self.blocks(rows):
            dense = isinstance(block, np.ndarray)
            low = np.minimum(low, block.min(axis=0) if dense else block.min(axis=0).toarray().ravel())
            high = np.maximum(high, block.max(axis=0) if dense else block.max(axis=0).toarray().ravel())
        columns = np.flatnonzero(low < high)
        if not len(columns):
            raise DataError(
                f"{name}: every feature is constant in the training rows; nothing is left to learn from"
            )
        return columns


def take(X: Matrix, rows: Rows) -> Matrix:
    """Return some rising rows of a matrix, as a slice where they follow one another."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return X[int(rows[0]) : int(rows[-1]) + 1]
    return X[rows]


def scaled(view: RowView, rows: Rows, chain: Sequence[Scaler], dtype: str) -> Matrix:
    """Return the rows after all scaling steps in the protocol's dtype."""
    exact = "float64" if chain else dtype
    if view.sparse and not any(scaler.shifts for scaler in chain):
        from scipy.sparse import vstack

        blocks = [apply_chain(chain, block).astype(dtype) for block in view.blocks(rows, exact)]
        return blocks[0] if len(blocks) == 1 else vstack(blocks, format="csr")
    out = np.empty((len(rows), len(view.columns)), dtype)
    start = 0
    for block in view.blocks(rows, exact):
        out[start : start + block.shape[0]] = apply_chain(chain, block, dense=True)
        start += block.shape[0]
    return out


def binarised(y: NDArray[Any], protocol: Protocol, raw: Raw) -> NDArray[Any]:
    """Return labels +1 and -1 as the protocol asks, or the labels as they are."""
    if protocol.binarise == "none":
        return y
    classes = np.unique(y)
    if isinstance(protocol.binarise, Against):
        positive = np.array([code_of(protocol.binarise.positive, raw, classes)])
    else:
        positive = random_half(classes, protocol.binarise)
    return np.where(np.isin(y, positive), 1, -1)


def code_of(label: int | float | str, raw: Raw, classes: NDArray[Any]) -> Any:
    """Return the code of a class given by its number or word; raises DataError for one that is not there."""
    code = raw.label_names.index(label) if isinstance(label, str) and label in raw.label_names else label
    if code not in classes.tolist():
        known = raw.label_names or tuple(str(c) for c in classes.tolist())
        raise DataError(f"{raw.name} has no class {label!r}; its classes are {', '.join(known)}")
    return code


def random_half(classes: NDArray[Any], binarise: RandomHalf) -> NDArray[Any]:
    """Return a random half (rounded down) of the classes, the same for the same seed."""
    order = shuffled(np.random.default_rng(binarise.random_half), len(classes))
    return classes[order[: len(classes) // 2]]
