"""The time of a map alone, without a solver."""

from typing import Any, ClassVar

import numpy as np

from kfeat.experiments.measures.base import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at
from kfeat.maps import column_counts


@register("map_time")
class MapTime(Measure):
    """The time of fitting the map and mapping all rows.

    The mean of ||z(x)||^2, which is k(x, x) up to the map's error, checks that maps compute the same.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"mean_square"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        Quantity(
            name="mean_square",
            title="mean ‖z(x)‖²",
            read=at("mean_square"),
            spec=".4g",
            score=True,
            note="over all rows, {spread}; the mean of k(x, x) up to the map's error",
        ),
    )

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the mean squared norm of the features of X (n, d), for a row; the clock has the seconds."""
        with clock("map_fit"):
            feature_map.fit(X)
        with clock("map_train"):
            Z = feature_map.transform(X)
        norm = float(np.einsum("ij,ij->", Z, Z, dtype=np.float64) / Z.shape[0])
        return {"mean_square": norm, "columns": column_counts(Z)._asdict()}
