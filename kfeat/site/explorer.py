"""The points of the explorer: each cell with rows, what it was run on, and what can stand on an axis."""

from collections.abc import Sequence
from typing import Any

from kfeat.analysis.cells import Cell, by_setting
from kfeat.analysis.names import cell_names, method
from kfeat.analysis.standing import Standing
from kfeat.experiments.load import EXACT
from kfeat.experiments.plan import dataset_name
from kfeat.experiments.quantities import QUANTITIES, Quantity
from kfeat.site.scripts import packed_script

# What can stand on an axis, those first that a page shows where nothing is chosen.
AXES = (
    "fit", "n_components", "accuracy", "relative_error", "kernel_error", "map", "train", "test",
    "fit_and_sample", "live", "memory", "n_train",
)  # fmt: skip


def explorer_script(standings: Sequence[Standing]) -> str:
    """Return the points of all configs as a script; names stand once, points refer to them."""
    lists: dict[str, list[str]] = {"configs": [], "datasets": [], "kernels": [], "maps": [], "series": []}

    def at(name: str, value: str) -> int:
        if value not in lists[name]:
            lists[name].append(value)
        return lists[name].index(value)

    points = []
    for one in standings:
        names = cell_names(one.cells)
        for peers in by_setting(one.cells):
            for cell in peers:
                if not cell.rows:
                    continue
                trial = cell.trial
                places = [
                    at("configs", one.experiment.name),
                    at("datasets", dataset_name(trial.source)),
                    at("kernels", trial.kernel.formula),
                    at("maps", trial.map.name if trial.map else EXACT),
                    at("series", method(cell, peers, "n_components")),
                ]
                points.append([*places, cell.trial.cell, names[id(cell)], len(cell.rows), *_values(cell)])
    axes = [[one.name, one.heading, one.better or ""] for one in _axes()]
    return packed_script("cells", {**lists, "axes": axes, "points": points})


def _axes() -> list[Quantity]:
    return [QUANTITIES[name] for name in AXES]


def _values(cell: Cell) -> list[Any]:
    """Return the means on the axes to four digits; seconds count only where they were timed."""
    found = [cell.mean(name) for name in AXES]
    values = [None if value is None else float(f"{value:.4g}") for value in found]
    while values and values[-1] is None:
        values.pop()
    return values
