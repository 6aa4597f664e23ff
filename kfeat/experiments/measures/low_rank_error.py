"""The error of the Gram matrix of a map's features, compared with the best approximation of the same rank."""

from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from scipy.linalg import eigvalsh

from kfeat.diagnostics import sampled_rows
from kfeat.experiments.measures.base import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at
from kfeat.maps import column_counts


def _quantity(name: str, title: str, formula: str, score: bool = False) -> Quantity:
    return Quantity(
        name=name,
        title=title,
        read=at(name),
        spec=".4g",
        better="lower",
        score=score,
        note=f"{formula} on sampled rows, {{spread}}",
    )


@register("low_rank_error")
class LowRankError(Measure):
    """The error of Z Z^T as an approximation of the Gram matrix G of `n_rows` rows, and the least error.

    The map is fitted to these n rows and maps them. With k its number of columns and G_k the best
    approximation of G of rank k, which keeps the k largest eigenvalues, in the Frobenius norm:

    low_rank_error: ||G - Z Z^T|| / ||G||.
    best_rank_error: ||G - G_k|| / ||G||; it falls with k as fast as the spectrum decays.
    over_best: low_rank_error / best_rank_error.
    excess: ||G - Z Z^T|| - ||G - G_k||, which Drineas & Mahoney (2005) bound for Nystrom.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"low_rank_error", "best_rank_error", "over_best", "excess"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        _quantity("low_rank_error", "relative error of the Gram matrix", "‖G - Z Zᵀ‖ / ‖G‖", score=True),
        _quantity("best_rank_error", "least relative error at this rank", "‖G - G_k‖ / ‖G‖"),
        _quantity("over_best", "error over the least one at this rank", "‖G - Z Zᵀ‖ / ‖G - G_k‖"),
        _quantity("excess", "error beyond the least one at this rank", "‖G - Z Zᵀ‖ - ‖G - G_k‖"),
    )

    def __init__(self, n_rows: Annotated[int, Ge(3)] = 1000) -> None:
        self.n_rows = n_rows

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the errors of the map, fitted to rows sampled from X (n, d), for a row."""
        rows, _ = sampled_rows(X, self.n_rows, seed)
        with clock("fit"):
            feature_map.fit(rows)
        with clock("sample"):
            Z = np.asarray(feature_map.transform(rows), dtype=np.float64)
        G = np.asarray(feature_map.kernel_(rows.astype(np.float64)), dtype=np.float64)
        G -= feature_map.kernel_offset_
        squares = np.sort(eigvalsh(G) ** 2)  # of a positive definite matrix: the largest are kept
        best = float(np.sqrt(squares[: max(len(squares) - Z.shape[1], 0)].sum()))
        error, norm = float(np.linalg.norm(G - Z @ Z.T)), float(np.sqrt(squares.sum()))
        found = {"low_rank_error": error / norm, "best_rank_error": best / norm, "excess": error - best}
        ratio = {"over_best": error / best} if best > 0 else {}  # at full rank the least error is 0
        return {**found, **ratio, "columns": column_counts(Z)._asdict()}
