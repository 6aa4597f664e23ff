"""Errors of a map's kernel: in several norms, and against the best approximation of its rank."""

from dataclasses import asdict
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from scipy.linalg import eigvalsh

from kfeat.diagnostics import Estimate, gram_matrix, held_out_rows, kernel_errors, sampled_rows
from kfeat.experiments.measures import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at, seconds_of
from kfeat.maps import column_counts


def _quantity(name: str, key: str, title: str, formula: str, score: bool = False) -> Quantity:
    has_interval = key not in ("maximum", "relative_spectral")
    return Quantity(
        name=name,
        title=title,
        read=at("kernel_error", key, *(["value"] if has_interval else [])),
        spec=".4f" if key.startswith("relative") else ".4g",
        better="lower",
        score=score,
        note=f"{formula} of sampled rows, {{spread}}",
    )


@register("kernel_error")
class KernelError(Measure):
    """The error of <z(x), z(y)> as an estimate of k(x, y) on `n_rows` sampled rows (`kfeat.diagnostics`).

    All maps get the same rows. The Frobenius and the mean errors have a 95 % interval for the rows that were
    not sampled. With `held_out` the map is fitted to the other rows only, which matters for a map that learns
    from its rows; the kernel's bandwidth is that of all rows. For a map without features (sign="signed") the
    error is that of `approximate_kernel`, and there are no columns.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"kernel_error"})
    quantities: ClassVar[tuple[Quantity, ...]] = (
        _quantity(
            "kernel_error", "relative_frobenius", "relative kernel error (Frobenius)",
            "sqrt(sum (z_i·z_j - k_ij)² / sum k_ij²) over the pairs i != j", score=True,
        ),
        _quantity(
            "kernel_error_spectral", "relative_spectral", "relative kernel error (spectral)",
            "‖Z Zᵀ - K‖₂ / ‖K‖₂",
        ),
        _quantity(
            "kernel_error_mean", "mean_absolute", "mean absolute kernel error",
            "mean |z_i·z_j - k_ij| over the pairs i != j",
        ),
        _quantity(
            "kernel_error_mean_relative", "mean_relative", "mean relative kernel error",
            "mean |z_i·z_j - k_ij| / |k_ij| over the pairs i != j",
        ),
        _quantity(
            "kernel_error_max", "maximum", "largest absolute kernel error",
            "max |z_i·z_j - k_ij| over the pairs i != j",
        ),
        *(
            Quantity(
                name, f"CPU time of {title}", seconds_of(phases, last="sample"),
                unit="s", better="lower", timed=True,
            )
            for name, title, phases in (
                ("sample", "mapping the sampled rows", ["sample"]),
                ("fit_and_sample", "fitting the map and mapping the sampled rows", ["fit", "sample"]),
            )
        ),
    )  # fmt: skip

    n_rows: Annotated[int, Ge(3)] = 2000
    held_out: bool = False

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the errors of the map, fitted to X (n, d), for a row."""
        if self.held_out:
            rows, others = held_out_rows(X, self.n_rows, seed)
            unseen = 1 - rows.shape[0] / X.shape[0]
        else:
            (rows, unseen), others = sampled_rows(X, self.n_rows, seed), X
        with clock("fit"):
            feature_map.fit(others)
        estimates, columns = self._estimates(feature_map, rows, clock)
        errors = kernel_errors(feature_map, rows, estimates, unseen)
        numbers = {key: asdict(e) if isinstance(e, Estimate) else e for key, e in errors.items()}
        return {"kernel_error": numbers, "columns": columns}

    def _estimates(self, feature_map: Any, rows: Any, clock: Clock) -> tuple[Any, dict[str, int] | None]:
        """Return the map's estimates of the kernel between the rows, and its columns by kind, if any."""
        if not feature_map.has_features:
            with clock("sample"):
                return feature_map.approximate_kernel(rows), None
        with clock("sample"):
            Z = feature_map.transform(rows)
        return gram_matrix(Z.astype(np.float64, copy=False)), column_counts(Z)._asdict()


def _rank_quantity(name: str, title: str, formula: str, score: bool = False) -> Quantity:
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
        _rank_quantity("low_rank_error", "relative error of the Gram matrix", "‖G - Z Zᵀ‖ / ‖G‖", score=True),
        _rank_quantity("best_rank_error", "least relative error at this rank", "‖G - G_k‖ / ‖G‖"),
        _rank_quantity("over_best", "error over the least one at this rank", "‖G - Z Zᵀ‖ / ‖G - G_k‖"),
        _rank_quantity("excess", "error beyond the least one at this rank", "‖G - Z Zᵀ‖ - ‖G - G_k‖"),
    )

    n_rows: Annotated[int, Ge(3)] = 1000

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the errors of the map, fitted to rows sampled from X (n, d), for a row."""
        rows, _ = sampled_rows(X, self.n_rows, seed)
        with clock("fit"):
            feature_map.fit(rows)
        with clock("sample"):
            Z = feature_map.transform(rows).astype(np.float64, copy=False)
        G = np.asarray(feature_map.kernel_(rows.astype(np.float64)), dtype=np.float64)
        G -= feature_map.kernel_offset_
        squares = np.sort(eigvalsh(G) ** 2)  # of a positive definite matrix: the largest are kept
        best = float(np.sqrt(squares[: max(len(squares) - Z.shape[1], 0)].sum()))
        error, norm = float(np.linalg.norm(G - gram_matrix(Z))), float(np.sqrt(squares.sum()))
        errors = {"low_rank_error": error / norm, "best_rank_error": best / norm, "excess": error - best}
        ratio = {"over_best": error / best} if best > 0 else {}  # at full rank the least error is 0
        return {**errors, **ratio, "columns": column_counts(Z)._asdict()}
