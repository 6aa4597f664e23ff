"""The figure of curves: scores or seconds against the number of features D or the dimension d, in panels."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kfeat.analysis.cells import Cell
from kfeat.experiments.schema import FigureLayout
from kfeat.render.figures.panels import Point, Series, d_equals_D, panels, points, styles, x_of
from kfeat.render.figures.style import BUSY, logarithmic, say_why_empty, shared_legend, wrapped

Styles = Mapping[Series, dict[str, Any]]


def curves(layout: FigureLayout, cells: Sequence[Cell], in_decades: Collection[str]) -> Figure:
    """Return panels by `rows` and `columns`, the quantities `y` beside each other, and one legend below.

    The y axes of `in_decades` are logarithmic. Raises ConfigError where a map has no number of features and
    the x axis shows it.
    """
    layout = _known(layout, cells)
    found = points(layout, cells)
    parts = panels(layout, found)
    n_columns = len(parts[0]) * len(layout.y)
    width = {1: 6.5, 2: 4.5, 3: 3.4}.get(n_columns, 2.9)
    height = 3.0 if n_columns < 3 else 2.5
    figure = Figure(figsize=(width * n_columns, 1.0 + height * len(parts)), layout="constrained")
    grid = figure.subplots(len(parts), n_columns, squeeze=False)
    shown: set[Series] = set()
    style = styles(found)
    for i, row in enumerate(parts):
        for j, here in enumerate(row):
            is_last = i + 1 == len(parts) or not parts[i + 1][j]
            for k, quantity in enumerate(layout.y):
                axes = grid[i][j * len(layout.y) + k]
                if not here:
                    axes.set_axis_off()
                    continue
                shown |= _panel(axes, layout, here, quantity, style)
                _scale(axes, here, quantity, quantity in in_decades)
                axes.set_title(wrapped(here[0].title, width - 0.7) if k == 0 else "")
                axes.set_ylabel(_y_title(quantity, cells) if j == 0 or len(layout.y) > 1 else "")
                axes.set_xlabel(_x_title(layout, cells) if is_last else "")
    handles = [Line2D([], [], label=one.label, **style[one]) for one in style if one in shown]
    if any(cell.is_busy(quantity) for cell in cells for quantity in layout.y):
        handles.append(Line2D([], [], **BUSY))
    shared_legend(figure, handles, width * n_columns)
    return figure


def _known(layout: FigureLayout, cells: Sequence[Cell]) -> FigureLayout:
    """Return the layout without the quantities of which no cell has a value, unless none has any."""
    known = [name for name in layout.y if any(cell.mean(name, busy=True) is not None for cell in cells)]
    return layout.model_copy(update={"y": known or layout.y})


def _panel(
    axes: Any, layout: FigureLayout, here: Sequence[Point], quantity: str, style: Styles
) -> set[Series]:
    """Draw one quantity in one panel, and return the curves that have a point there."""
    groups: dict[Series, list[tuple[Cell, float]]] = {}
    for point in here:
        if (value := point.cell.mean(quantity, busy=True)) is not None:
            groups.setdefault(point.series, []).append((point.cell, value))
    for series, members in groups.items():
        placed = [(x, cell, value) for cell, value in members if (x := x_of(layout, cell)) is not None]
        if not placed:  # it has no x, and is the same for all: a line across
            for cell, value in members:
                axes.axhline(value, **style[series])
                if cell.is_busy(quantity):  # at the left end of its line
                    axes.plot(0, value, transform=axes.get_yaxis_transform(), clip_on=False, **BUSY)
            continue
        if busy := [(x, value) for x, cell, value in placed if cell.is_busy(quantity)]:
            axes.plot(*zip(*busy, strict=True), **BUSY)
        line = sorted((x, value, _spread(cell, quantity)) for x, cell, value in placed)
        xs, ys, spreads = zip(*line, strict=True)
        axes.errorbar(xs, ys, yerr=spreads if any(spreads) else None, **style[series])
    return set(groups)


def _scale(axes: Any, here: Sequence[Point], quantity: str, in_decades: bool) -> None:
    """Let the y axis start at zero, except for scores, or be logarithmic; say where nothing is there."""
    cells = [point.cell for point in here]
    found = [
        (value, _spread(cell, quantity))
        for cell in cells
        if (value := cell.mean(quantity, busy=True)) is not None
    ]
    ends = [end for value, spread in found for end in (value - spread, value + spread) if end > 0]
    if not found:
        say_why_empty(axes, cells)
        axes.set(xticks=[], yticks=[])
    elif in_decades and ends:
        logarithmic(axes, "y", ends)
    elif not cells[0].named(quantity).score:
        axes.set_ylim(bottom=0)


def _spread(cell: Cell, quantity: str) -> float:
    found = cell.of(quantity) if cell.named(quantity).score else None
    return (found.sd or 0.0) if found else 0.0


def _x_title(layout: FigureLayout, cells: Sequence[Cell]) -> str:
    both = layout.x == "n_features" and d_equals_D(cells)
    return "dimension d = D" if both else cells[0].named(layout.x).heading


def _y_title(quantity: str, cells: Sequence[Cell]) -> str:
    return next((cell for cell in cells if cell.rows), cells[0]).named(quantity).heading
