"""Measured errors of a map over the bounds that Pham & Pagh prove for it."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from kfeat.errors import ParameterError
from kfeat.experiments.measures.base import Clock, Measure, register
from kfeat.experiments.measures.pairs import Estimates, estimates
from kfeat.experiments.measures.sketch_bounds import TAIL_BOUNDS, VARIANCE_BOUNDS, largest_product
from kfeat.experiments.quantities import Quantity, at


@register("bound_ratio")
class BoundRatio(Measure):
    """The ratio of a map's measured errors to a bound of Pham & Pagh (KDD 2013) on its <z(x), z(y)>.

    The errors are those of `n_draws` draws of the map on `n_rows` pairs whose angle has this `cosine` (1:
    y = x). A bound that holds gives at most 1, up to the error of the draws. By `lemma`, with the formulas of
    `sketch_bounds`:

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
            name="bound_ratio",
            title="over the lemma's bound",
            read=at("bound_ratio"),
            spec=".3f",
            better="lower",
            score=True,
            note="over sampled rows and draws of the map, {spread}; at most 1 if it holds",
        ),
        Quantity(
            name="least_bound",
            title="least bound of a probability",
            read=at("least_bound"),
            spec=".3g",
            score=True,
            note="least bound of the probability of errors that were seen, {spread}; 1 or more says nothing",
        ),
    )

    def __init__(
        self,
        lemma: Literal[6, 7, 8, 9, 10, "extended", "corrected"],
        n_rows: Annotated[int, Ge(3)] = 50,
        n_draws: Annotated[int, Ge(2)] = 400,
        cosine: Annotated[float, Gt(0), Le(1)] = 1.0,
        sketches: Annotated[int, Ge(1)] = 16,
    ) -> None:
        self.lemma = lemma
        self.n_rows = n_rows
        self.n_draws = n_draws
        self.cosine = cosine
        self.sketches = sketches

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the ratio over pairs with rows sampled from X (n, d), for a row."""
        self._check()
        found = estimates(
            feature_map, X, clock, seed, cosine=self.cosine, n_rows=self.n_rows, n_draws=self.n_draws
        )
        return {**self._ratio(found), "columns": None}

    def _check(self) -> None:
        if self.lemma == 10 and self.cosine != 1:
            raise ParameterError(
                f"bound_ratio: Lemma 10 is about norms, so cosine must be 1, got {self.cosine:g}"
            )
        if self.lemma == 9 and self.n_draws < self.sketches:
            raise ParameterError(
                f"bound_ratio: expected n_draws of at least sketches = {self.sketches}, got {self.n_draws}"
            )

    def _ratio(self, found: Estimates) -> dict[str, float]:
        if self.lemma in VARIANCE_BOUNDS:
            bound = VARIANCE_BOUNDS[self.lemma](found.pairs)
            return {"bound_ratio": float(((found.errors**2).mean(axis=0) / bound).mean())}
        if self.lemma == 8:
            return {"bound_ratio": float(np.abs(found.products).max() / largest_product(found.pairs))}
        errors = np.abs(self._averaged(found.errors) if self.lemma == 9 else found.errors)
        eps, bounds = TAIL_BOUNDS[self.lemma](found.pairs, self.sketches)
        shares = np.stack([(errors >= each).mean(axis=0) for each in eps])
        least = {"least_bound": float(bounds[shares > 0].min())} if shares.any() else {}
        return {"bound_ratio": float((shares / bounds).mean(axis=1).max()), **least}

    def _averaged(self, errors: Any) -> Any:
        """Return the means of `sketches` draws after each other, shape (n // sketches, m)."""
        n = len(errors) // self.sketches
        return errors[: n * self.sketches].reshape(n, self.sketches, -1).mean(axis=1)
