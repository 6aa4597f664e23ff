"""Scaling: a chain of steps, each learnt from blocks of training rows, then applied to any block of rows."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from kfeat.data.models import Matrix
from kfeat.data.protocol import Divide, Step

Blocks = Callable[[], Iterable[Matrix]]  # starts a new pass over the training rows, float64 blocks


class Scaler(Protocol):
    """One step of a chain."""

    shifts: bool  # whether zeros may become non-zero, so that a sparse matrix has to become dense

    def learn(self, block: Matrix) -> None:
        """Take one block of training rows into account."""

    def apply(self, block: Matrix) -> Matrix:
        """Return the scaled block."""


class Divisor:
    """x / c with c given."""

    shifts = False

    def __init__(self, divisor: float) -> None:
        self.divisor = divisor

    def learn(self, block: Matrix) -> None:
        """Learn nothing."""

    def apply(self, block: Matrix) -> Matrix:
        """Return block / c."""
        return block / self.divisor


class GlobalNorm:
    """x / max_i ||x_i||, the largest norm of a training row; 1 if all are zero."""

    shifts = False

    def __init__(self) -> None:
        self.largest = 0.0

    def learn(self, block: Matrix) -> None:
        """Keep the largest norm met."""
        from sklearn.utils.extmath import row_norms

        self.largest = max(self.largest, float(row_norms(block).max(initial=0.0)))

    def apply(self, block: Matrix) -> Matrix:
        """Return block / largest norm."""
        return block / (self.largest or 1.0)


class UnitRows:
    """x / ||x||; zero rows stay."""

    shifts = False

    def learn(self, block: Matrix) -> None:
        """Learn nothing."""

    def apply(self, block: Matrix) -> Matrix:
        """Return the block with rows of norm 1."""
        from sklearn.preprocessing import normalize

        return normalize(block)


class Columns:
    """A column-wise scaler of scikit-learn that learns from blocks."""

    shifts = True

    def __init__(self, scaler: Any) -> None:
        self.scaler = scaler

    def learn(self, block: Matrix) -> None:
        """Update each column's statistics."""
        self.scaler.partial_fit(block)

    def apply(self, block: Matrix) -> Matrix:
        """Return the block, each column shifted and scaled."""
        return self.scaler.transform(block)


def scaler_of(step: Step) -> Scaler:
    """Return a fresh scaler for one step of a protocol."""
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    if isinstance(step, Divide):
        return Divisor(step.divide)
    kinds: dict[str, Callable[[], Scaler]] = {
        "minmax": lambda: Columns(MinMaxScaler()),
        "minmax_symmetric": lambda: Columns(MinMaxScaler(feature_range=(-1, 1))),
        "zscore": lambda: Columns(StandardScaler()),
        "unit_rows": UnitRows,
        "global_norm": GlobalNorm,
    }
    return kinds[step]()


def learn_chain(steps: Sequence[Step], blocks: Blocks) -> list[Scaler]:
    """Return the chain's scalers, each learnt on the training rows as the steps before it leave them."""
    chain: list[Scaler] = []
    for step in steps:
        scaler = scaler_of(step)
        if isinstance(scaler, Columns | GlobalNorm):
            for block in blocks():
                scaler.learn(apply_chain(chain, block, dense=scaler.shifts))
        chain.append(scaler)
    return chain


def apply_chain(chain: Sequence[Scaler], block: Matrix, dense: bool = False) -> Matrix:
    """Return a block after all steps; dense if asked for, or if a step needs it."""
    from scipy.sparse import issparse

    if issparse(block) and (dense or any(scaler.shifts for scaler in chain)):
        block = block.toarray()
    for scaler in chain:
        block = scaler.apply(block)
    return np.asarray(block) if isinstance(block, np.ndarray) else block
