"""What an experiment may measure of a map itself, in the place of training a solver on its features."""

from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from annotated_types import Ge

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


MEASURES: dict[str, Any] = {"kernel_error": KernelError, "map_time": MapTime}
