"""What a protocol learns from training rows, block by block, to prepare any rows in the same way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from kfeat.batches import written
from kfeat.data.base import Task
from kfeat.data.matrix import Indices, Matrix, block_rows
from kfeat.data.protocol import LEARNT, Divide, Step
from kfeat.errors import DataError
from kfeat.text import counted
from kfeat.weights import copies

Blocks: TypeAlias = Callable[[], Iterable[Matrix]]  # starts a new pass over the training rows, float64 blocks
Transformer: TypeAlias = Any  # transforms blocks; where it learns, it has `partial_fit`, or `fit_blocks`
SAMPLE = 5_000  # training rows at most from which a power transform learns its exponents


@dataclass(frozen=True)
class DivideBy:
    """x / number."""

    number: float

    def transform(self, block: Matrix) -> Matrix:
        """Return block / number."""
        return block / self.number


@dataclass
class GlobalNorm:
    """x / max_i ||x_i||, the largest norm of a training row; x if all are zero."""

    largest: float = 0.0

    def partial_fit(self, block: Matrix) -> None:
        """Update the largest norm."""
        from sklearn.utils.extmath import row_norms

        self.largest = max(self.largest, float(row_norms(block).max(initial=0.0)))

    def transform(self, block: Matrix) -> Matrix:
        """Return block / largest norm."""
        return block / (self.largest or 1.0)


@dataclass
class NumberScaler:
    """A scaler of scikit-learn for the columns that hold other numbers than 0 and 1; those of 0 and 1 stay.

    Columns of 0 and 1 are mostly words, and z-scores would give rare words large values.
    """

    scaler: Any
    columns: Indices | None = None

    def fit_blocks(self, blocks: Blocks, weights: NDArray[np.float64] | None = None) -> None:
        """Find the columns in all rows; the scaler learns from every k-th row, SAMPLE of them at most.

        Rows are counted by their weights (n,), if there are any.
        """
        facts = [(((block != 0) & (block != 1)).any(axis=0), len(block)) for block in blocks()]
        self.columns = np.flatnonzero(np.any([other for other, _ in facts], axis=0))
        starts = list(accumulate((n for _, n in facts), initial=0))
        n = starts[-1]
        some = np.arange(0, n, -(-n // SAMPLE)) if weights is None else copies(weights, SAMPLE)
        rows = [
            block[some[(start <= some) & (some < start + len(block))] - start][:, self.columns]
            for start, block in zip(starts, blocks(), strict=False)
        ]
        if len(self.columns):
            self.scaler.fit(np.concatenate(rows))

    def transform(self, block: Matrix) -> Matrix:
        """Return the rows with these columns scaled."""
        assert self.columns is not None
        block = block.copy()
        if len(self.columns):
            block[:, self.columns] = self.scaler.transform(block[:, self.columns])
        return block


def transformer_of(step: Step) -> Transformer:
    """Return a fresh transformer for one step of a protocol."""
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PowerTransformer,
        StandardScaler,
    )

    if isinstance(step, Divide):
        return DivideBy(step.divide)
    if step in LEARNT:
        from kfeat.learnt_metric import LearntMetric

        return LearntMetric(matrix=LEARNT[step])
    kinds: dict[str, Callable[[], Transformer]] = {
        "minmax": MinMaxScaler,
        "minmax_symmetric": lambda: MinMaxScaler(feature_range=(-1, 1)),
        "maxabs": MaxAbsScaler,
        "zscore": StandardScaler,
        "zscore_numbers": lambda: NumberScaler(StandardScaler()),
        "power": lambda: NumberScaler(PowerTransformer()),
        "unit_rows": Normalizer,  # x / ||x||; a zero row stays as it is
        "global_norm": GlobalNorm,
    }
    transformer = kinds[step]()
    scaler = transformer.scaler if isinstance(transformer, NumberScaler) else transformer
    if hasattr(scaler, "set_output"):  # of scikit-learn: blocks stay arrays whatever the user has set
        scaler.set_output(transform="default")
    return transformer


def shifts(transformer: Transformer) -> bool:
    """Return whether zeros may become non-zero, so that a sparse matrix has to become dense."""
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    scalers = isinstance(transformer, MinMaxScaler | StandardScaler | NumberScaler)
    return scalers or getattr(transformer, "matrix", None) == "full"


class Labels(NamedTuple):
    """The labels or targets y (n,) of the training rows, for what learns from them."""

    y: NDArray[Any]
    task: Task


def learn_chain(
    steps: Sequence[Step],
    blocks: Blocks,
    weights: NDArray[np.float64] | None = None,
    labels: Labels | None = None,
    timed: AbstractContextManager[None] | None = None,
) -> list[Transformer]:
    """Return the chain's transformers, each learnt on the training rows as the steps before it leave them.

    With weights (n,) means and variances are weighted; a largest norm and a range do not depend on them. A
    learnt metric needs the labels, and is learnt within `timed`.
    """
    from sklearn.preprocessing import StandardScaler

    chain: list[Transformer] = []
    for step in steps:
        transformer = transformer_of(step)
        if isinstance(transformer, NumberScaler):
            transformer.fit_blocks(
                lambda: (apply_chain(chain, block, dense=True) for block in blocks()), weights
            )
        elif step in LEARNT:
            assert labels is not None
            parts = (apply_chain(chain, block, dense=shifts(transformer)) for block in blocks())
            learn_metric(transformer, parts, labels, weights, timed)
        elif hasattr(transformer, "partial_fit"):
            start, own = 0, weights if isinstance(transformer, StandardScaler) else None
            for block in blocks():
                stop = start + block.shape[0]
                options = {} if own is None else {"sample_weight": own[start:stop]}
                transformer.partial_fit(apply_chain(chain, block, dense=shifts(transformer)), **options)
                start = stop
        chain.append(transformer)
    return chain


def learn_metric(
    metric: Any,
    blocks: Iterator[Matrix],
    labels: Labels,
    weights: NDArray[np.float64] | None,
    timed: AbstractContextManager[None] | None = None,
) -> Any:
    """Return a LearntMetric that is fitted on a random sample of the rows, which is as large as it takes.

    `timed` is around the fit alone.
    """
    from kfeat.learnt_metric import MOST_ROWS

    n = len(labels.y)
    some = np.sort(np.random.default_rng(0).permutation(n)[:MOST_ROWS])
    rows, start = [], 0
    for block in blocks:
        stop = start + block.shape[0]
        rows.append(block[some[(start <= some) & (some < stop)] - start])
        start = stop
    X = vstack(rows, format="csr") if issparse(rows[0]) else np.concatenate(rows)
    metric.set_params(task=labels.task)
    with timed or nullcontext():
        return metric.fit(X, labels.y[some], None if weights is None else weights[some])


def apply_chain(chain: Sequence[Transformer], block: Matrix, dense: bool = False) -> Matrix:
    """Return a block after all steps; dense if asked for, or if a step needs it."""
    if issparse(block) and (dense or any(map(shifts, chain))):
        block = block.toarray()
    for transformer in chain:
        block = transformer.transform(block)
    return block


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
            raise DataError(f"expected rows of {counted(self.n_features, 'features')}, got {X.shape[1]}")
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

    @property
    def metric(self) -> Any | None:
        """The LearntMetric of the chain, None if it has none."""
        return next((step for step in self.chain if hasattr(step, "weights_")), None)

    def learnt_parameters(self, names: Sequence[str] = ()) -> dict[str, float]:
        """Return the weights of a learnt metric by `weight.COLUMN`, a name or a position; nothing without."""
        if self.metric is None:
            return {}
        columns = range(self.n_features) if self.columns is None else self.columns
        known = len(names) == self.n_features
        named = [names[column] if known else str(column) for column in columns]
        return dict(
            zip((f"weight.{name}" for name in named), self.metric.weights_.round(4).tolist(), strict=True)
        )

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
