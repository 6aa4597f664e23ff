"""What verdicts call a cell: as much of dataset, kernel, method and size as tells it from the others."""

from collections.abc import Sequence

from kfeat.reports.cells import Cell, setting
from kfeat.reports.labels import method

SIZE = "map.n_components"


def place(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the cell's dataset and kernel, without what all cells share; empty if they share both."""
    datasets, kernels = {_dataset(other) for other in cells}, {_kernel(other) for other in cells}
    parts = [_dataset(cell)] if len(datasets) > 1 else []
    return ", ".join([*parts, _kernel(cell)] if len(kernels) > 1 else parts)


def place_and_size(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the cell's place and its map's number of components, where these differ among `cells`."""
    sizes = {size(other) for other in cells} - {None}
    parts = [place(cell, cells)]
    if size(cell) is not None and len(sizes) > 1:
        parts.append(f"D = {size(cell)}")
    return ", ".join(part for part in parts if part)


def cell_name(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the cell's place and method, as short as they can be without being ambiguous."""
    peers = [other for other in cells if setting(other) == setting(cell)]
    return ", ".join(part for part in (place(cell, cells), method(cell, peers)) if part)


def size(cell: Cell) -> int | None:
    """Return the number of components of the cell's map; None for an exact machine."""
    found = cell.trial.map.parameters.get("n_components") if cell.trial.map else None
    return None if found is None else int(found)


def _dataset(cell: Cell) -> str:
    return str(cell.trial.describe()["dataset"])


def _kernel(cell: Cell) -> str:
    return cell.trial.kernel.label or str(cell.trial.kernel.build().formula)
