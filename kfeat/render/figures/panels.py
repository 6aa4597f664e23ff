"""How the curves of a figure are shared out: into panels, and into the legend what the panels do not say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from kfeat.analysis.cells import Cell
from kfeat.analysis.names import NOBODY, dataset, kernel, method, places
from kfeat.errors import ConfigError
from kfeat.experiments.layout import FigureLayout
from kfeat.experiments.plan import dataset_name
from kfeat.render.figures.palette import COLOURS, DASHES, MARKERS, MORE_DASHES

MOST_COLUMNS = 4


@dataclass(frozen=True)
class Series:
    """One curve of the legend, in all panels: a method, and where it ran if the panels do not say that."""

    method: str
    where: str
    exact: bool

    @property
    def label(self) -> str:
        """The words of the legend."""
        return f"{self.method}, {self.where}" if self.where else self.method


@dataclass(frozen=True)
class Point:
    """A cell in the figure: its curve, and the row and the column of its panel with the title's parts.

    `stand_in` is what the data of the panel stand in for, if the title names them and they do.
    """

    cell: Cell
    series: Series
    row: tuple[str, ...]
    column: tuple[str, ...]
    title: tuple[str, ...]
    stand_in: str


def x_of(layout: FigureLayout, cell: Cell) -> float | None:
    """Return where a cell stands on the x axis; None for an exact SVM against a map's size."""
    return n_components(cell) if layout.x == "n_components" else cell.mean(layout.x, busy=True)


def n_components(cell: Cell) -> Any:
    """Return the number D of random features, or None where there is no such number."""
    return cell.trial.map.parameters.get("n_components") if cell.trial.map else None


def d_equals_D(cells: Sequence[Cell]) -> bool:  # noqa: N802
    """Tell whether the maps have as many features as the data."""
    return all(n_components(c) == c.rows[0]["n_features"] for c in cells if c.rows and c.trial.map)


def points(layout: FigureLayout, cells: Sequence[Cell], stand_ins: Mapping[str, str] = NOBODY) -> list[Point]:
    """Return each cell with its curve and its panel.

    Raises ConfigError where a map has no number of features, and that is what the x axis shows.
    """
    hidden: str | None = (layout.along or layout.x).rpartition(".")[2]
    of_data: str | None = None
    if layout.x == "n_features":
        hidden, of_data = ("n_components" if d_equals_D(cells) else None), "d"
    elif layout.x in ("n_train", "classes"):
        of_data = layout.x
    elif layout.x != "n_components":
        pass
    elif unsized := [c.trial.map.name for c in cells if c.trial.map and n_components(c) is None]:
        raise ConfigError(
            f"figure: curves against n_components need that number of every map, and {unsized[0]} has none; "
            "use `figure: methods`"
        )
    named = [name for name in ("dataset", "kernel") if name in (*layout.rows, *layout.columns)]
    # Along a parameter of the kernel a curve joins kernels, and is not told apart by them.
    unnamed = [name for name in ("dataset", "kernel") if name not in (*named, layout.x.partition(".")[0])]
    found = []
    for cell, where in zip(cells, places(cells, unnamed, of_data, stand_ins), strict=True):
        words = {"dataset": dataset(cell, cells, of_data), "kernel": kernel(cell, cells)}
        found.append(
            Point(
                cell=cell,
                series=Series(method(cell, cells, hidden), where, cell.trial.map is None),
                row=tuple(words[name] for name in layout.rows if name != "y"),
                column=tuple(words[name] for name in layout.columns),
                title=tuple(words[name] for name in named),
                stand_in=stand_ins.get(dataset_name(cell.trial.source), "") if "dataset" in named else "",
            )
        )
    return found


def panels(layout: FigureLayout, found: Sequence[Point]) -> list[list[list[Point]]]:
    """Return the points of each panel, row by row; a single row that is too long is broken into several."""
    rows = list(dict.fromkeys(point.row for point in found))
    columns = list(dict.fromkeys(point.column for point in found))
    flat = [[p for p in found if (p.row, p.column) == (row, column)] for row in rows for column in columns]
    width, most = len(columns), max(1, MOST_COLUMNS // layout.abreast)
    if len(rows) == 1 and width > most:
        width = ceil(width / ceil(width / most))
    flat += [[]] * (-len(flat) % width)
    return [flat[start : start + width] for start in range(0, len(flat), width)]


def styles(found: Sequence[Point]) -> dict[Series, dict[str, Any]]:
    """Return how each curve is drawn: colour by method, dashes by place, the marker by both.

    Where that would repeat a pair of colour and dashes, the next dashes that are free with the colour serve.
    """
    series = list(dict.fromkeys(point.series for point in found))
    names = list(dict.fromkeys(one.method for one in series if not one.exact))
    wheres = list(dict.fromkeys(one.where for one in series))
    drawn: dict[Series, dict[str, Any]] = {}
    taken: set[tuple[str, Any]] = set()
    for one in series:
        place = wheres.index(one.where)
        if one.exact:
            dashes = (*DASHES[1:], "-", *MORE_DASHES)
            colour, dash = _free(("black", "#767676"), dashes, place % 4, taken)
            drawn[one] = {"color": colour, "lw": 1, "ls": dash}
            continue
        i = names.index(one.method)
        colour, dash = _free((COLOURS[i % len(COLOURS)],), (*DASHES, *MORE_DASHES), place % 4, taken)
        marker = MARKERS[(i + place * len(names)) % len(MARKERS)]
        drawn[one] = {"color": colour, "marker": marker, "ls": dash}
    return drawn


def _free(
    colours: Sequence[str], dashes: Sequence[Any], first: int, taken: set[tuple[str, Any]]
) -> tuple[str, Any]:
    """Return the first pair of colour and dashes that is free, and take it; or the first of all."""
    turned = [*dashes[first:], *dashes[:first]]
    pairs = [(colour, dash) for colour in colours for dash in turned]
    pair = next((pair for pair in pairs if pair not in taken), pairs[0])
    taken.add(pair)
    return pair
