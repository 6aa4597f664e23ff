"""Scaling: a chain of transformers, each learnt from blocks of training rows, then applied to any block."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from kfeat.data.dataset import Indices, Matrix
from kfeat.data.protocol import Divide, Step

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


@dataclass(frozen=True)
class UnitRows:
    """x / ||x||; a zero row stays as it is."""

    def transform(self, block: Matrix) -> Matrix:
        """Return the rows, each divided by its norm."""
        from sklearn.preprocessing import normalize

        return normalize(block)


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
class OfNumbers:
    """A scaler of scikit-learn for the columns that hold other numbers than 0 and 1; those of 0 and 1 stay.

    Columns of 0 and 1 are mostly words, and z-scores would give rare words large values.
    """

    scaler: Any
    columns: Indices | None = None

    def fit_blocks(self, blocks: Blocks) -> None:
        """Find the columns in all rows; the scaler learns from every k-th row, SAMPLE of them at most."""
        found = [(((block != 0) & (block != 1)).any(axis=0), len(block)) for block in blocks()]
        self.columns = np.flatnonzero(np.any([other for other, _ in found], axis=0))
        starts = list(accumulate((n for _, n in found), initial=0))
        every = -(-starts[-1] // SAMPLE)
        rows = [
            block[-start % every :: every, self.columns]
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
    from sklearn.preprocessing import MinMaxScaler, PowerTransformer, StandardScaler

    if isinstance(step, Divide):
        return DivideBy(step.divide)
    kinds: dict[str, Callable[[], Transformer]] = {
        "minmax": MinMaxScaler,
        "minmax_symmetric": lambda: MinMaxScaler(feature_range=(-1, 1)),
        "zscore": StandardScaler,
        "zscore_numbers": lambda: OfNumbers(StandardScaler()),
        "power": lambda: OfNumbers(PowerTransformer()),
        "unit_rows": UnitRows,
        "global_norm": GlobalNorm,
    }
    transformer = kinds[step]()
    scaler = transformer.scaler if isinstance(transformer, OfNumbers) else transformer
    if hasattr(scaler, "set_output"):  # of scikit-learn: blocks stay arrays whatever the user has set
        scaler.set_output(transform="default")
    return transformer


def shifts(transformer: Transformer) -> bool:
    """Return whether zeros may become non-zero, so that a sparse matrix has to become dense."""
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    return isinstance(transformer, MinMaxScaler | StandardScaler | OfNumbers)


def makes_dense(steps: Sequence[Step]) -> bool:
    """Return whether a chain has a step that makes sparse blocks dense."""
    return any(shifts(transformer_of(step)) for step in steps)


def learn_chain(steps: Sequence[Step], blocks: Blocks) -> list[Transformer]:
    """Return the chain's transformers, each learnt on the training rows as the steps before it leave them."""
    chain: list[Transformer] = []
    for step in steps:
        transformer = transformer_of(step)
        if isinstance(transformer, OfNumbers):
            transformer.fit_blocks(partial(_after, chain, blocks))
        elif hasattr(transformer, "partial_fit"):
            for block in blocks():
                transformer.partial_fit(apply_chain(chain, block, dense=shifts(transformer)))
        chain.append(transformer)
    return chain


def _after(chain: Sequence[Transformer], blocks: Blocks) -> Iterator[Matrix]:
    return (apply_chain(chain, block, dense=True) for block in blocks())


def apply_chain(chain: Sequence[Transformer], block: Matrix, dense: bool = False) -> Matrix:
    """Return a block after all steps; dense if asked for, or if a step needs it."""
    from scipy.sparse import issparse

    if issparse(block) and (dense or any(map(shifts, chain))):
        block = block.toarray()
    for transformer in chain:
        block = transformer.transform(block)
    return block
