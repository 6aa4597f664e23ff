"""What a fitted map is worth: the error of its kernel, its size, the time that it takes, and its weights."""

from collections.abc import Iterator
from dataclasses import asdict
from math import ceil, log2
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from kfeat.diagnostics import Estimate, held_out_rows, kernel_errors, sampled_rows
from kfeat.errors import ParameterError
from kfeat.experiments.measures import Clock, Measure, register
from kfeat.experiments.quantities import Quantity, at, seconds_of
from kfeat.maps import column_counts
from kfeat.maps.weighted_fourier import WeightedFourier


def _error_quantity(name: str, key: str, title: str, formula: str, score: bool = False) -> Quantity:
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
        _error_quantity(
            "kernel_error", "relative_frobenius", "relative kernel error (Frobenius)",
            "sqrt(sum (z_i·z_j - k_ij)² / sum k_ij²) over the pairs i != j", score=True,
        ),
        _error_quantity(
            "kernel_error_spectral", "relative_spectral", "relative kernel error (spectral)",
            "‖Z Zᵀ - K‖₂ / ‖K‖₂",
        ),
        _error_quantity(
            "kernel_error_mean", "mean_absolute", "mean absolute kernel error",
            "mean |z_i·z_j - k_ij| over the pairs i != j",
        ),
        _error_quantity(
            "kernel_error_mean_relative", "mean_relative", "mean relative kernel error",
            "mean |z_i·z_j - k_ij| / |k_ij| over the pairs i != j",
        ),
        _error_quantity(
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
        found = {key: asdict(e) if isinstance(e, Estimate) else e for key, e in errors.items()}
        return {"kernel_error": found, "columns": columns}

    def _estimates(self, feature_map: Any, rows: Any, clock: Clock) -> tuple[Any, dict[str, int] | None]:
        """Return the map's estimates of the kernel between the rows, and its columns by kind, if any."""
        if not feature_map.has_features:
            with clock("sample"):
                return feature_map.approximate_kernel(rows), None
        with clock("sample"):
            Z = feature_map.transform(rows)
        columns = column_counts(Z)._asdict()
        Z = np.asarray(Z, dtype=np.float64)
        return Z @ Z.T, columns


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
            Z = np.asarray(feature_map.transform(rows), dtype=np.float64)
        G = np.asarray(feature_map.kernel_(rows.astype(np.float64)), dtype=np.float64)
        G -= feature_map.kernel_offset_
        squares = np.sort(eigvalsh(G) ** 2)  # of a positive definite matrix: the largest are kept
        best = float(np.sqrt(squares[: max(len(squares) - Z.shape[1], 0)].sum()))
        error, norm = float(np.linalg.norm(G - Z @ Z.T)), float(np.sqrt(squares.sum()))
        found = {"low_rank_error": error / norm, "best_rank_error": best / norm, "excess": error - best}
        ratio = {"over_best": error / best} if best > 0 else {}  # at full rank the least error is 0
        return {**found, **ratio, "columns": column_counts(Z)._asdict()}


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


def _weight_quantity(name: str, title: str, formula: str, score: bool = False, **more: Any) -> Quantity:
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
        _weight_quantity("weight_sum", "sum of the weights", "Σ w_i; 1 for the plain map", score=True),
        _weight_quantity(
            "weight_deviation", "deviation from equal weights", "sqrt(mean (w_i - p_i)²)", spec=".3g"
        ),
        _weight_quantity(
            "weight_distance", "relative distance from equal weights", "sqrt(mean (w_i / p_i - 1)²)"
        ),
        _weight_quantity("weight_minimum", "least weight", "least w_i / p_i"),
        *(
            _weight_quantity(
                f"weight_q{each}", f"{each} % quantile of the weights", f"{each} % quantile of w_i / p_i"
            )
            for each in QUANTILES
        ),
        _weight_quantity("weight_maximum", "largest weight", "largest w_i / p_i"),
        _weight_quantity(
            "weight_negative", "negative weights", "share of the weights below 0", spec=".1f", unit="%"
        ),
        _weight_quantity(
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
