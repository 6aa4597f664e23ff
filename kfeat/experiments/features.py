"""The features that a trial's solver gets: in memory, in a file, or mapped batch by batch on demand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kfeat.batches import ArrayBatches, MappedBatches, stored
from kfeat.data import Dataset
from kfeat.experiments.clock import Clock

# How a trial runs. This is not part of its identity: its numbers are the same up to rounding.
Memory = Literal["in_core", "out_of_core"]


class Features(NamedTuple):
    """Features of the training and the test rows; call `columns` after training for the column counts."""

    train: Any
    test: Any
    columns: Callable[[], Any]


def fit_map(feature_map: Any, X: Any, memory: Memory) -> None:
    """Fit a map; rows on disk are not checked for finite values here, since mapping checks them."""
    from sklearn import config_context

    with config_context(assume_finite=memory == "out_of_core"):
        feature_map.fit(X)


def in_core(feature_map: Any, data: Dataset, clock: Clock) -> Features:
    """Return the features as arrays in memory."""
    from kfeat.maps import column_counts

    with clock("map_train"):
        Z_train = feature_map.transform(data.X_train)
    columns = column_counts(Z_train)
    with clock("map_test"):
        Z_test = feature_map.transform(data.X_test)
    return Features(Z_train, Z_test, lambda: columns)


def out_of_core(feature_map: Any, data: Dataset, clock: Clock, solver: type, folder: Path) -> Features:
    """Return features that need not fit into memory, in the form that the solver takes.

    A solver that passes over the features once gets batches that are mapped during the phases `train` and
    `predict`. Other solvers get the features from a temporary file in `folder`. Reading 100,000 x 500 random
    Fourier features back took a sixth of the time of mapping them again (from the page cache), or the same
    time (from a disk of 1 GB/s).
    """
    from kfeat.diagnostics import ColumnCounter

    counter = ColumnCounter()
    train = MappedBatches(feature_map, data.X_train, observe=counter.see)
    test = MappedBatches(feature_map, data.X_test)
    how = solver.out_of_core  # type: ignore[attr-defined]
    if how == "one pass":
        return Features(train, test, counter.counts)
    with clock("map_train"):
        Z_train = stored(train, folder)
    with clock("map_test"):
        Z_test = stored(test, folder)
    if how == "passes":
        return Features(ArrayBatches(Z_train), ArrayBatches(Z_test), counter.counts)
    return Features(Z_train, Z_test, counter.counts)
