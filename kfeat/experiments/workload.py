"""What a trial's memory and time depend on: shapes, parameters and precision, from its plan or from a row."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from kfeat.data.shapes import Shape, class_shares, shape_of
from kfeat.experiments.component import Component
from kfeat.experiments.plan import Trial, dataset_name
from kfeat.experiments.row import Row

Parameters = dict[str, Any]

DEFAULT_COLUMNS = 100  # of a map that is not told how many
SINGULAR_DEGREE = 200  # of 1 / (1 - t), where the data reach t = 1: only they know how high degrees go
ENDLESS_DEGREE = 4  # of any other series without an end, near enough: e^t at t = 1 has a mean degree of 1


@dataclass(frozen=True)
class Workload:
    """One trial as work to do.

    `kernel`, `map`, `solver` and `measure` are descriptions as rows have them: name and parameters. `cache`
    is the bytes of kernel cache that LIBSVM was told to take, None where it chooses. `on_disk` says that the
    rows and the features stay there (`memory: out_of_core`).
    """

    dataset: str
    shape: Shape
    itemsize: int
    kernel: Parameters
    map: Parameters | None
    solver: Parameters | None
    measure: Parameters | None
    cache: float | None = field(default=None, compare=False)
    on_disk: bool = False

    @property
    def kind(self) -> tuple[str, ...]:
        """Return what trials of one kind have in common: data, kernel, map, solver or measure by name."""
        return (self.dataset, self.kernel["name"], *self.method)

    @property
    def method(self) -> tuple[str, str]:
        """Return the names of the map (exact: none) and of the solver or the measure."""
        return (self.map["name"] if self.map else "exact", (self.solver or self.measure or {})["name"])

    @cached_property
    def columns(self) -> int:
        """Return the number of columns that a solver sees: the map's, or the data's own."""
        return self.shape.n_features if self.map is None else columns_of(self.map, self.shape)

    @property
    def rows_seen(self) -> int:
        """Return how many of the training rows count: a measure may sample some."""
        sampled = (self.measure or {}).get("n_rows")
        return self.shape.n_train if sampled is None else min(sampled, self.shape.n_train)

    @property
    def subproblems(self) -> int:
        """Return how many classes are trained one against the rest; 1 for two classes and for regression."""
        return len(self.shape.classes) if len(self.shape.classes) > 2 else 1

    @property
    def largest_pair(self) -> int:
        """Return the rows of the largest problem of two classes, which is the largest that LIBSVM solves."""
        share = min(sum(self.shape.classes[:2]) or 1.0, 1.0)
        return int(np.ceil(share * self.shape.n_train))


def of_trial(trial: Trial, shapes: Callable[..., Shape | None] = shape_of) -> Workload | None:
    """Return a planned trial's work, or None where the shape of its data is not known before it is loaded.

    `shapes` gives the shape of a source under a protocol.
    """
    shape = shapes(trial.source, trial.protocol)
    if shape is None:
        return None
    cache_mb = trial.solver.parameters.get("cache_mb") if trial.solver else None
    return Workload(
        dataset_name(trial.source),
        shape,
        np.dtype(trial.protocol.dtype).itemsize,
        trial.kernel.description(),
        _described(trial.map),
        _described(trial.solver),
        _described(trial.measure),
        cache=None if cache_mb is None else cache_mb * 2**20,
        on_disk=trial.memory == "out_of_core",
    )


def _described(part: Component | None) -> Parameters | None:
    return None if part is None else part.description()


def of_row(row: Row) -> Workload:
    """Return the work of a trial that is done; its data count as dense, since a row does not say."""
    source = row["source"] or {}
    shape = Shape(
        row["n_train"],
        row["n_test"],
        row["n_features"],
        classes=class_shares(row["dataset"], row["protocol"]),
        generated=0 if source.get("name") == "large_quadric" else source.get("n", 0) * source.get("d", 0),
    )
    cache_mb = (row.get("solve") or {}).get("cache_mb")
    return Workload(
        row["dataset"],
        shape,
        np.dtype(row["protocol"].get("dtype", "float32")).itemsize,
        row["kernel"],
        row["map"],
        row.get("solver"),
        row.get("measure"),
        cache=None if cache_mb is None else cache_mb * 2**20,
        on_disk=row.get("memory") == "out_of_core",
    )


def columns_of(feature_map: Parameters, shape: Shape) -> int:
    """Return how many columns a map makes of rows of n_features, at most."""
    if "maps" in feature_map:
        return sum(columns_of(one, shape) for one in feature_map["maps"])
    columns = min(feature_map.get("rank") or components_of(feature_map), components_of(feature_map))
    return columns + (1 + shape.n_features if feature_map.get("h01") else 0)


def components_of(feature_map: Parameters) -> int:
    """Return a map's n_components, or its landmarks."""
    return int(feature_map.get("n_components") or DEFAULT_COLUMNS)


def mean_degree(feature_map: Parameters, kernel: Parameters) -> float:
    """Return how many sign vectors a column of a Maclaurin map multiplies, in the mean over its law.

    The geometric law has the mean 1 / (base - 1), and 2 more under H0/1; others follow the kernel's series,
    whose last degree bounds them all: columns beyond it are zero and have no vectors.
    """
    last = float(kernel.get("degree", inf))
    if feature_map.get("degree_law") == "geometric":
        return min(1 / (feature_map["base"] - 1) + (2 if feature_map.get("h01") else 0), last)
    if kernel["name"] == "vovk_infinite":
        return SINGULAR_DEGREE
    return ENDLESS_DEGREE if last == inf else last
