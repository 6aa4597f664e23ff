"""The distribution of the weights of Fourier features, compared with the equal weights of the plain map."""

from typing import Any, ClassVar

import numpy as np

from kfeat.errors import ParameterError
from kfeat.experiments.measures.base import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at
from kfeat.maps.weighted_fourier import WeightedFourier

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
                f"weight_q{each}", f"{each} % quantile of the weights", f"{each} % quantile of w_i / p_i"
            )
            for each in QUANTILES
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
        found = {
            "sum": w.sum(),
            "deviation": np.sqrt(np.mean((w - feature_map.plain_weights()) ** 2)),
            "distance": np.sqrt(np.mean((relative - 1) ** 2)),
            "minimum": relative.min(),
            **{f"q{name}": np.quantile(relative, share) for name, share in QUANTILES.items()},
            "maximum": relative.max(),
            "negative": (w < 0).mean(),
            "zero": (w == 0).mean(),
        }
        return {"weights": {name: float(value) for name, value in found.items()}, "columns": None}
