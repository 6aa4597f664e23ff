"""What verdicts call a cell: as much of dataset, kernel, method and size as tells it from the others."""

from collections.abc import Sequence

from kfeat.analysis.cells import Cell, setting
from kfeat.analysis.labels import dataset, kernel, method

SIZE = "map.n_components"


def place(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the cell's dataset and kernel, without what all cells share; empty if they share both."""
    parts = []
    if len({(other.trial.source, other.trial.protocol) for other in cells}) > 1:
        parts.append(dataset(cell, cells))
    if len({kernel(other, cells) for other in cells}) > 1:
        parts.append(kernel(cell, cells))
    return ", ".join(parts)


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
    """Return the number of components of the cell's map; None for an exact kernel SVM."""
    found = cell.trial.map.parameters.get("n_components") if cell.trial.map else None
    return None if found is None else int(found)
