"""The measures that compare a map with the lemmas of Pham & Pagh 2013."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from kfeat.errors import ParameterError
from kfeat.experiments.measures import Clock, Measure, register
from kfeat.experiments.measures.sketch_bounds import (
    VARIANCE_BOUNDS,
    Estimates,
    Numbers,
    Pairs,
    estimates,
    exact_variance,
    largest_product,
    lemma_7,
    lemma_9,
    lemma_10,
    tensor_error,
)
from kfeat.experiments.quantities import Quantity, at

TAIL_BOUNDS: dict[int | str, Callable[[Pairs, int], tuple[Numbers, Numbers]]] = {
    7: lemma_7,
    9: lemma_9,
    10: lemma_10,
}


@register("bound_ratio")
class BoundRatio(Measure):
    """The ratio of a map's measured errors to a bound of Pham & Pagh (KDD 2013) on its <z(x), z(y)>.

    The errors are those of `n_draws` draws of the map on `n_rows` pairs whose angle has this `cosine` (1:
    y = x). A bound that holds gives at most 1, up to the error of the draws. By `lemma`, with the formulas of
    `sketch_bounds`:

    4: the largest |<x^(p), y^(p)> - <x, y>^p|, which is 0, over a bound of its rounding error; x^(p) has all
    d^p products of p coordinates, and Lemma 5 is y = x. It needs no draws.
    6, "extended", "corrected": the mean squared error over the bound of the variance (Lemma 6, for p = 1
    Lemma 3; arXiv 2505.08146; a bound that holds for all x and y), mean over the pairs.
    7, 10: the share of errors of at least eps over the bound of its probability, mean over the pairs, at the
    eps where it is largest; 9: the same for averages of `sketches` draws each.
    8: the largest |<z(x), z(y)>| over R^2p, with R the largest 1-norm.

    `least_bound` is for the bounds of a probability: the smallest bound at an eps that some errors exceeded.
    If it is at least 1, the lemma says nothing there.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"bound_ratio", "least_bound"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        Quantity(
            "bound_ratio", "over the lemma's bound", at("bound_ratio"),
            spec=".3f", better="lower", score=True,
            note="over sampled rows and draws of the map, {spread}; at most 1 if it holds",
        ),
        Quantity(
            "least_bound", "least bound of a probability", at("least_bound"), spec=".3g", score=True,
            note="least bound of the probability of errors that were seen, {spread}; 1 or more says nothing",
        ),
    )  # fmt: skip

    lemma: Literal[4, 6, 7, 8, 9, 10, "extended", "corrected"]
    n_rows: Annotated[int, Ge(3)] = 50
    n_draws: Annotated[int, Ge(2)] = 400
    cosine: Annotated[float, Gt(0), Le(1)] = 1.0
    sketches: Annotated[int, Ge(1)] = 16

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the ratio over pairs with rows sampled from X (n, d), for a row."""
        self._check()
        drawn = estimates(
            feature_map, X, clock, seed, cosine=self.cosine, n_rows=self.n_rows, n_draws=self.n_draws
        )
        return {**self._ratio(drawn), "columns": None}

    def _check(self) -> None:
        if self.lemma == 10 and self.cosine != 1:
            raise ParameterError(
                f"bound_ratio: Lemma 10 is about norms, so cosine must be 1, got {self.cosine:g}"
            )
        if self.lemma == 9 and self.n_draws < self.sketches:
            raise ParameterError(
                f"bound_ratio: expected n_draws of at least sketches = {self.sketches}, got {self.n_draws}"
            )

    def _ratio(self, drawn: Estimates) -> dict[str, float]:
        if self.lemma == 4:
            return {"bound_ratio": tensor_error(drawn.pairs)}
        if self.lemma in VARIANCE_BOUNDS:
            bound = VARIANCE_BOUNDS[self.lemma](drawn.pairs)
            return {"bound_ratio": float(((drawn.errors**2).mean(axis=0) / bound).mean())}
        if self.lemma == 8:
            return {"bound_ratio": float(np.abs(drawn.products).max() / largest_product(drawn.pairs))}
        errors = np.abs(self._averaged(drawn.errors) if self.lemma == 9 else drawn.errors)
        eps, bounds = TAIL_BOUNDS[self.lemma](drawn.pairs, self.sketches)
        shares = np.stack([(errors >= threshold).mean(axis=0) for threshold in eps])
        least = {"least_bound": float(bounds[shares > 0].min())} if shares.any() else {}
        return {"bound_ratio": float((shares / bounds).mean(axis=1).max()), **least}

    def _averaged(self, errors: Any) -> Any:
        """Return the means of `sketches` draws after each other, shape (n // sketches, m)."""
        n = len(errors) // self.sketches
        return errors[: n * self.sketches].reshape(n, self.sketches, -1).mean(axis=1)


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

    n_rows: Annotated[int, Ge(3)] = 50
    n_draws: Annotated[int, Ge(2)] = 400
    cosine: Annotated[float, Gt(0), Le(1)] = 1.0

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the moments over pairs with rows sampled from X (n, d), for a row."""
        drawn = estimates(
            feature_map, X, clock, seed, cosine=self.cosine, n_rows=self.n_rows, n_draws=self.n_draws
        )
        errors = drawn.errors
        squared = (errors**2).mean(axis=0)
        moments = {
            "variance_ratio": squared / exact_variance(drawn.pairs),
            "squared_bias": errors.mean(axis=0) ** 2 / (errors.var(axis=0, ddof=1) / self.n_draws),
            "relative_variance": squared / drawn.pairs.kernel**2,
        }
        return {"estimate": {name: float(moment.mean()) for name, moment in moments.items()}, "columns": None}
