"""Whether the lemmas of a paper hold of the map that they speak of."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from sklearn.base import clone

from kfeat.experiments.measures.base import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at
from kfeat.maps.diagnostics import sampled_rows


@register("bound_ratio")
class BoundRatio(Measure):
    """Tensor Sketch's error on k(x, x) = ||x||^2p over the bound of Lemma 6 or 7 of Pham & Pagh (KDD 2013).

    Over `n_draws` draws of the map and `n_rows` sampled rows, with e = ||z(x)||^2 - k(x, x): for Lemma 6 the
    mean of e^2 over its bound 2 k(x, x)^2 / D; for Lemma 7 the share of |e| >= eps k(x, x) over its bound
    2 / (D eps^2), at the eps from EPSILONS where it is largest. A lemma that holds gives at most 1.
    """

    EPSILONS: ClassVar[tuple[float, ...]] = (0.25, 0.5, 1.0, 2.0)
    keys: ClassVar[frozenset[str]] = frozenset({"bound_ratio"})
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
    )

    def __init__(
        self, lemma: Literal[6, 7], n_rows: Annotated[int, Ge(3)] = 50, n_draws: Annotated[int, Ge(2)] = 400
    ) -> None:
        self.lemma = lemma
        self.n_rows = n_rows
        self.n_draws = n_draws

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the mean ratio over the rows sampled from X (n, d), for a row."""
        rows, _ = sampled_rows(X, self.n_rows, seed)
        with clock("draws"):
            errors = np.stack([self._errors(feature_map, rows, i) for i in range(self.n_draws)])
        D = feature_map.n_components
        if self.lemma == 6:
            ratio = (errors**2).mean() * D / 2
        else:
            ratio = max((np.abs(errors) >= e).mean() * D * e**2 / 2 for e in self.EPSILONS)
        return {"bound_ratio": float(ratio), "columns": None}

    def _errors(self, feature_map: Any, rows: Any, draw: int) -> NDArray[np.float64]:
        """Return ||z(x)||^2 / k(x, x) - 1 of each row for one draw of the map."""
        drawn = clone(feature_map).set_params(random_state=[feature_map.random_state, draw]).fit(rows)
        Z = np.asarray(drawn.transform(rows), dtype=np.float64)
        exact = np.asarray(drawn.kernel_.diagonal(rows.astype(np.float64)))
        return np.einsum("ij,ij->i", Z, Z) / exact - 1
