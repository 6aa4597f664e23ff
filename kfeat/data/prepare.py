"""From a raw dataset and a protocol to the arrays that an experiment sees."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.batches import release, unnamed_file, written
from kfeat.data.dataset import Dataset, Raw
from kfeat.data.labels import labels_under, positive_classes
from kfeat.data.matrix import Indices, Matrix, holds_strings
from kfeat.data.preparation import (
    Labels,
    Preparation,
    learn_chain,
    refusing_large_values,
    shifts,
    stacked,
    transformer_of,
)
from kfeat.data.protocol import LEARNT, Protocol
from kfeat.errors import DataError


def prepare(
    raw: Raw,
    protocol: Protocol,
    random_state: int,
    scratch: Path | None = None,
    timed: AbstractContextManager[None] | None = None,
) -> Dataset:
    """Return the dataset under a protocol; `random_state` draws what the protocol does not fix.

    Works in blocks of rows in float64 and writes the result once, so memory beyond the result stays small.
    With a folder `scratch` dense results are not held in memory either: rows that the protocol does not
    change stay in their files, and others are written to a temporary file of that folder. A learnt metric is
    learnt within `timed`.
    Raises DataError when the split asks for too many rows, the training rows hold a single class, or a value
    is too large for the protocol's dtype.
    """
    train, test = protocol.split.rows(raw, random_state)
    by = protocol.split.by(raw)
    weights = None if protocol.weight is None else raw.cells(protocol.weight, "weight")
    if weights is not None and not len(train := train[weights[train] > 0]):
        raise DataError(f"{raw.name}: expected a training row of a weight above 0, got none")
    positive = positive_classes(raw, protocol)
    y = labels_under(raw, positive, train)
    with refusing_large_values(raw.name, protocol.dtype):
        own = None if weights is None else weights[train]
        preparation = learn(raw, protocol, train, positive, own, timed)
        X_train, X_test = prepared_parts(raw, preparation, train, test, scratch)
    return Dataset(
        name=raw.name,
        X_train=X_train,
        y_train=y[train],
        X_test=X_test,
        y_test=y[test],
        task=raw.task,
        fingerprint=raw.fingerprint,
        verified=raw.verified,
        label_names=raw.label_names if positive is None else (),
        preparation=preparation,
        by=None if by is None else by[train],
        weights=own,
        weights_test=None if weights is None else weights[test],
    )


def learn(
    raw: Raw,
    protocol: Protocol,
    train: Indices,
    positive: NDArray[Any] | None,
    weights: NDArray[np.float64] | None = None,
    timed: AbstractContextManager[None] | None = None,
) -> Preparation:
    """Return what the protocol learns from the training rows, and from their weights (n,), if any.

    A learnt metric is learnt within `timed`.
    """
    drops = protocol.constant_features == "drop"
    if holds_strings(raw.parts["train"].X) and (drops or protocol.scale):
        raise DataError(f"{raw.name}: its rows are strings, so the protocol cannot scale or drop features")
    columns = varying_columns(raw, train) if drops else np.arange(raw.n_features)
    dense = any(shifts(transformer_of(step)) for step in protocol.scale)
    learns = any(step in LEARNT for step in protocol.scale)
    labels = Labels(labels_under(raw, positive, train)[train], raw.task) if learns else None
    blocks = partial(raw.blocks, train, columns, dense=dense)
    chain = tuple(learn_chain(protocol.scale, blocks, weights, labels, timed))
    return Preparation(
        n_features=raw.n_features,
        columns=columns if len(columns) < raw.n_features else None,
        chain=chain,
        sparse=raw.sparse and not any(map(shifts, chain)),
        dtype=protocol.dtype,
        classes=None if positive is None else np.unique(raw.y),
        positive=positive,
    )


def prepared_parts(
    raw: Raw, preparation: Preparation, train: Indices, test: Indices, scratch: Path | None = None
) -> tuple[Matrix, Matrix]:
    """Return X of the training and test rows after the protocol's selection of columns and its scaling."""
    if holds_strings(raw.parts["train"].X):
        X = np.concatenate([part.X for part in raw.parts.values()])
        return X[train], X[test]
    chain, dtype = preparation.chain, preparation.dtype
    columns = np.arange(raw.n_features) if preparation.columns is None else preparation.columns

    def blocks(rows: Indices) -> Iterator[Matrix]:
        sized = raw.blocks(rows, columns, "float64" if chain else dtype, dense=not preparation.sparse)
        return map(preparation.block, sized)

    def joined(rows: Indices) -> Matrix:
        if preparation.sparse:
            return stacked(blocks(rows))
        if scratch is None:
            return written(blocks(rows), np.empty((len(rows), len(columns)), dtype))
        unchanged = not chain and preparation.columns is None
        view = raw.consecutive(rows, dtype) if unchanged else None
        if view is not None:
            return view
        return written(blocks(rows), unnamed_file((len(rows), len(columns)), dtype, scratch))

    parts = joined(train), joined(test)
    if scratch is not None:
        for part in raw.parts.values():
            release(part.X)
    return parts


def varying_columns(raw: Raw, rows: Indices) -> Indices:
    """Return the columns that take more than one value in the given rows."""
    everything = np.arange(raw.n_features)
    low, high = np.full(raw.n_features, np.inf), np.full(raw.n_features, -np.inf)
    for block in raw.blocks(rows, everything, dense=False):
        dense = isinstance(block, np.ndarray)
        low = np.minimum(low, block.min(axis=0) if dense else block.min(axis=0).toarray().ravel())
        high = np.maximum(high, block.max(axis=0) if dense else block.max(axis=0).toarray().ravel())
    columns = np.flatnonzero(low < high)
    if not len(columns):
        raise DataError(
            f"{raw.name}: every feature is constant in the training rows; choose other rows or other data"
        )
    return columns
