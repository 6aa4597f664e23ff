"""What an experiment may measure of a map itself, in the place of training a solver on its features."""

from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from sklearn.base import clone

from kfeat.maps import column_counts
from kfeat.maps.diagnostics import Estimate, kernel_errors, sampled_rows


class Clock(Protocol):
    """Times the phase of this name."""

    def __call__(self, phase: str) -> AbstractContextManager[None]:
        """Return the context in which the work happens."""


class KernelError:
    """How far <z(x), z(y)> is off k(x, y) on `n_rows` sampled rows: `kfeat.maps.diagnostics.Diagnosis`.

    All maps see the same rows. Each error comes with a 95 % interval for the rows that were not sampled.
    """

    algorithm_version: ClassVar[int] = 1

    def __init__(self, n_rows: Annotated[int, Ge(3)] = 2000) -> None:
        self.n_rows = n_rows

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the errors of the map, fitted to X (n, d), for a row."""
        rows, unseen = sampled_rows(X, self.n_rows, seed)
        with clock("fit"):
            feature_map.fit(X)
        with clock("sample"):
            Z = feature_map.transform(rows)
        columns = column_counts(Z)._asdict()
        errors = kernel_errors(feature_map, rows, np.asarray(Z, dtype=np.float64), unseen)
        found = {key: asdict(e) if isinstance(e, Estimate) else e for key, e in errors.items()}
        return {"kernel_error": found, "columns": columns}


class MapTime:
    """How long fitting the map and mapping all rows takes.

    The mean of ||z(x)||^2, which is k(x, x) up to the map's error, says beside it that the same was computed.
    """

    algorithm_version: ClassVar[int] = 1

    def of(self, feature_map: Any, X: Any, clock: Clock, seed: int) -> dict[str, Any]:
        """Return the mean squared norm of the features of X (n, d), for a row; the clock has the seconds."""
        with clock("map_fit"):
            feature_map.fit(X)
        with clock("map_train"):
            Z = feature_map.transform(X)
        norm = float(np.einsum("ij,ij->", Z, Z, dtype=np.float64) / Z.shape[0])
        return {"mean_square": norm, "columns": column_counts(Z)._asdict()}


class BoundRatio:
    """Tensor Sketch's error on k(x, x) = ||x||^2p over the bound of Lemma 6 or 7 of Pham & Pagh (KDD 2013).

    Over `n_draws` draws of the map and `n_rows` sampled rows, with e = ||z(x)||^2 - k(x, x): for Lemma 6 the
    mean of e^2 over its bound 2 k(x, x)^2 / D; for Lemma 7 the share of |e| >= eps k(x, x) over its bound
    2 / (D eps^2), at the eps from EPSILONS where it is largest. A lemma that holds gives at most 1.
    """

    algorithm_version: ClassVar[int] = 1
    EPSILONS: ClassVar[tuple[float, ...]] = (0.25, 0.5, 1.0, 2.0)

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


MEASURES: dict[str, Any] = {"kernel_error": KernelError, "map_time": MapTime, "bound_ratio": BoundRatio}
