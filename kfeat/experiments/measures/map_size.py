"""The size of a fitted map."""

from collections.abc import Iterator
from math import ceil, log2
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from kfeat.experiments.measures.base import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at


@register("map_size")
class MapSize(Measure):
    """The size of a fitted map: its random numbers, and what it learnt from the data.

    map_bytes: the bytes of its arrays in memory. map_bits: the bits if integers were packed: ceil(log2 m) for
    each value of an array with m equally spaced possible values, that is log D for a hash into D buckets, and
    one for a sign. The O(p d log D) of Pham & Pagh (KDD 2013) counts in this way.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"map_bytes", "map_bits"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        Quantity(
            name="map_bytes",
            title="stored by the map",
            read=at("map_bytes"),
            spec=".0f",
            unit="bytes",
            better="lower",
            score=True,
            note="bytes of the arrays of the fitted map, {spread}",
        ),
        Quantity(
            name="map_bits",
            title="stored by the map, packed",
            read=at("map_bits"),
            spec=".0f",
            unit="bits",
            better="lower",
            score=True,
            note="bits of the arrays of the fitted map, integers as narrow as they can be, {spread}",
        ),
    )

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return what the map, fitted to X (n, d), stores, for a row."""
        with clock("map_fit"):
            feature_map.fit(X)
        stored = list(arrays(feature_map))
        bits = sum(array.size * bits_of_each(array) for array in stored)
        return {"map_bytes": sum(array.nbytes for array in stored), "map_bits": bits, "columns": None}


def arrays(item: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays that an object holds: an estimator's, those of its parts and those of lists."""
    if isinstance(item, np.ndarray):
        yield item
    elif isinstance(item, list | tuple):
        for each in item:
            yield from arrays(each)
    elif isinstance(item, BaseEstimator) or issparse(item):
        yield from arrays(list(vars(item).values()))


def bits_of_each(array: NDArray[Any]) -> int:
    """Return the bits of each number; for integers, those that distinguish min, min + step, ..., max."""
    if array.dtype.kind not in "iu" or not array.size:
        return 8 * array.itemsize
    steps = array.astype(np.int64).ravel() - int(array.min())
    return ceil(log2(int(steps.max()) // max(int(np.gcd.reduce(steps)), 1) + 1))
