"""The mean and the variance of a map's estimates of a kernel, compared with theory."""

from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le

from kfeat.experiments.measures.base import Clock, Measure, register
from kfeat.experiments.measures.pairs import estimates
from kfeat.experiments.measures.sketch_bounds import exact_variance
from kfeat.experiments.quantities import Quantity, at


def _quantity(name: str, key: str, title: str, formula: str, spec: str = ".3f") -> Quantity:
    return Quantity(
        name=name,
        title=title,
        read=at("estimate", key),
        spec=spec,
        score=True,
        note=f"{formula}, mean over the pairs, {{spread}}",
    )


@register("estimate_moments")
class EstimateMoments(Measure):
    """Mean and variance of the errors e = <z(x), z(y)> - k(x, y) over `n_draws` draws of the map.

    The quantities are means over `n_rows` pairs whose angle has this `cosine` (1: y = x).

    variance_ratio: mean e^2 over the exact variance of Tensor Sketch (formula in `sketch_bounds`), which for
    p = 1 is Lemma 2 of Pham & Pagh (KDD 2013). Its expectation is 1.
    squared_bias: (mean e)^2 over its squared standard error. It is about 1 if the map is unbiased.
    relative_variance: mean e^2 / k(x, y)^2. The D that a given relative error needs is proportional to it.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"estimate"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        _quantity(
            "variance_ratio", "variance_ratio", "variance over the exact one",
            "mean squared error over the variance of Tensor Sketch",
        ),
        _quantity(
            "squared_bias", "squared_bias", "squared bias over its error",
            "square of the mean error over its standard error, 1 if unbiased",
        ),
        _quantity(
            "relative_variance", "relative_variance", "relative mean squared error",
            "mean of (<z(x), z(y)> - k(x, y))² / k(x, y)²", spec=".4g",
        ),
    )  # fmt: skip

    def __init__(
        self,
        n_rows: Annotated[int, Ge(3)] = 50,
        n_draws: Annotated[int, Ge(2)] = 400,
        cosine: Annotated[float, Gt(0), Le(1)] = 1.0,
    ) -> None:
        self.n_rows = n_rows
        self.n_draws = n_draws
        self.cosine = cosine

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the moments over pairs with rows sampled from X (n, d), for a row."""
        found = estimates(
            feature_map, X, clock, seed, cosine=self.cosine, n_rows=self.n_rows, n_draws=self.n_draws
        )
        errors = found.errors
        squared = (errors**2).mean(axis=0)
        moments = {
            "variance_ratio": squared / exact_variance(found.pairs),
            "squared_bias": errors.mean(axis=0) ** 2 / (errors.var(axis=0, ddof=1) / self.n_draws),
            "relative_variance": squared / found.pairs.kernel**2,
        }
        return {"estimate": {name: float(each.mean()) for name, each in moments.items()}, "columns": None}
