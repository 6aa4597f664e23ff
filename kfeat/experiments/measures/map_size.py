"""The size of a fitted map, the time of a map alone, and the distribution of its weights."""

from collections.abc import Iterator
from math import ceil, log2
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from kfeat.errors import ParameterError
from kfeat.experiments.measures import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at
from kfeat.maps import column_counts
from kfeat.maps.weighted_fourier import WeightedFourier


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
            "map_bytes", "stored by the map", at("map_bytes"),
            spec=".0f", unit="bytes", better="lower", score=True,
            note="bytes of the arrays of the fitted map, {spread}",
        ),
        Quantity(
            "map_bits", "stored by the map, packed", at("map_bits"),
            spec=".0f", unit="bits", better="lower", score=True,
            note="bits of the arrays of the fitted map, integers as narrow as they can be, {spread}",
        ),
    )  # fmt: skip

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
        for member in item:
            yield from arrays(member)
    elif isinstance(item, BaseEstimator) or issparse(item):
        yield from arrays(list(vars(item).values()))


def bits_of_each(array: NDArray[Any]) -> int:
    """Return the bits of each number; for integers, those that distinguish min, min + step, ..., max."""
    if array.dtype.kind not in "iu" or not array.size:
        return 8 * array.itemsize
    steps = array.astype(np.int64).ravel() - int(array.min())
    return ceil(log2(int(steps.max()) // max(int(np.gcd.reduce(steps)), 1) + 1))


@register("map_time")
class MapTime(Measure):
    """The time of fitting the map and mapping all rows.

    The mean of ||z(x)||^2, which is k(x, x) up to the map's error, checks that maps compute the same.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"mean_square"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        Quantity(
            "mean_square", "mean ‖z(x)‖²", at("mean_square"), spec=".4g", score=True,
            note="over all rows, {spread}; the mean of k(x, x) up to the map's error",
        ),
    )  # fmt: skip

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the mean squared norm of the features of X (n, d), for a row; the clock has the seconds."""
        with clock("map_fit"):
            feature_map.fit(X)
        with clock("map_train"):
            Z = feature_map.transform(X)
        norm = float(np.einsum("ij,ij->", Z, Z, dtype=np.float64) / Z.shape[0])
        return {"mean_square": norm, "columns": column_counts(Z)._asdict()}


QUANTILES = {"5": 0.05, "25": 0.25, "50": 0.5, "75": 0.75, "95": 0.95}


def _quantity(name: str, title: str, formula: str, score: bool = False, **more: Any) -> Quantity:
    return Quantity(
        name=name,
        title=title,
        read=at("weights", name.removeprefix("weight_"), factor=100.0 if more.get("unit") == "%" else 1.0),
        score=score,
        note=f"{formula}, {{spread}}",
        **({"spec": ".3f"} | more),
    )


@register("weights")
class Weights(Measure):
    """The weights w_i of weighted Fourier features; the plain map has the weights p_i = 2 / D.

    weight_sum: sum_i w_i, the map's estimate of k(x, x); 1 for the plain map.
    weight_deviation: sqrt(mean (w_i - p_i)^2), the distance from equal weights.
    weight_distance: sqrt(mean (w_i / p_i - 1)^2), the same relative to p_i, which falls with D.
    weight_minimum, weight_q5, ..., weight_q95, weight_maximum: quantiles of w_i / p_i, which for even D is
    D w_i / 2; 1 for the plain map.
    weight_negative, weight_zero: the shares of weights below 0, and of 0.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"weights"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        _quantity("weight_sum", "sum of the weights", "Σ w_i; 1 for the plain map", score=True),
        _quantity("weight_deviation", "deviation from equal weights", "sqrt(mean (w_i - p_i)²)", spec=".3g"),
        _quantity("weight_distance", "relative distance from equal weights", "sqrt(mean (w_i / p_i - 1)²)"),
        _quantity("weight_minimum", "least weight", "least w_i / p_i"),
        *(
            _quantity(
                f"weight_q{percent}",
                f"{percent} % quantile of the weights",
                f"{percent} % quantile of w_i / p_i",
            )
            for percent in QUANTILES
        ),
        _quantity("weight_maximum", "largest weight", "largest w_i / p_i"),
        _quantity(
            "weight_negative", "negative weights", "share of the weights below 0", spec=".1f", unit="%"
        ),
        _quantity(
            "weight_zero", "weights that are zero", "share of weights that are 0", spec=".1f", unit="%"
        ),
    )

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the distribution of the weights of the map, fitted to X (n, d), for a row.

        Raises ParameterError for a map without weights.
        """
        if not isinstance(feature_map, WeightedFourier):
            raise ParameterError(
                "weights: expected a map that learns weights, ses or bayesian_quadrature, got "
                f"{type(feature_map).__name__}"
            )
        with clock("map_fit"):
            feature_map.fit(X)
        w = feature_map.weights_
        relative = w / feature_map.plain_weights()
        distribution = {
            "sum": w.sum(),
            "deviation": np.sqrt(np.mean((w - feature_map.plain_weights()) ** 2)),
            "distance": np.sqrt(np.mean((relative - 1) ** 2)),
            "minimum": relative.min(),
            **{f"q{name}": np.quantile(relative, share) for name, share in QUANTILES.items()},
            "maximum": relative.max(),
            "negative": (w < 0).mean(),
            "zero": (w == 0).mean(),
        }
        return {"weights": {name: float(value) for name, value in distribution.items()}, "columns": None}
