"""The figure of curves: scores or seconds against the number of features D or the dimension d, in panels."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kfeat.analysis.cells import Cell
from kfeat.experiments.schema import FigureLayout, Quantity
from kfeat.render.figures.panels import Point, Series, d_equals_D, panels, points, styles, x_of
from kfeat.render.figures.style import BUSY, logarithmic, say_why_empty, shared_legend, wrapped

TITLES: dict[Quantity, str] = {
    "map": "CPU seconds, mapping",
    "train": "CPU seconds, training",
    "fit": "CPU seconds, mapping + training",
    "test": "CPU seconds, test rows",
    "share": "share of mapping in the time",
    "spread": "standard deviation over the runs",
    "live": "live features",
}
Styles = Mapping[Series, dict[str, Any]]


def curves(layout: FigureLayout, cells: Sequence[Cell], in_decades: Collection[Quantity]) -> Figure:
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
    known = [name for name in layout.y if any(cell.quantity(name, busy=True) is not None for cell in cells)]
    return layout.model_copy(update={"y": known or layout.y})


def _panel(
    axes: Any, layout: FigureLayout, here: Sequence[Point], quantity: Quantity, style: Styles
) -> set[Series]:
    """Draw one quantity in one panel, and return the curves that have a point there."""
    groups: dict[Series, list[tuple[Cell, float]]] = {}
    for point in here:
        if (value := point.cell.quantity(quantity, busy=True)) is not None:
            groups.setdefault(point.series, []).append((point.cell, value))
    for series, members in groups.items():
        busy = [(cell, value) for cell, value in members if cell.is_busy(quantity)]
        if series.exact and layout.x == "n_components":
            for _, value in members:
                axes.axhline(value, **style[series])
            for _, value in busy:  # at the left end of its line
                axes.plot(0, value, transform=axes.get_yaxis_transform(), clip_on=False, **BUSY)
            continue
        if busy:
            axes.plot(*zip(*((x_of(layout, cell), value) for cell, value in busy), strict=True), **BUSY)
        line = sorted((x_of(layout, cell), value, _spread(cell, quantity)) for cell, value in members)
        x, y, spreads = zip(*line, strict=True)
        axes.errorbar(x, y, yerr=spreads if any(spreads) else None, **style[series])
    return set(groups)


def _scale(axes: Any, here: Sequence[Point], quantity: Quantity, in_decades: bool) -> None:
    """Let the y axis start at zero, except for scores, or be logarithmic; say where nothing is there."""
    cells = [point.cell for point in here]
    found = [
        (value, _spread(cell, quantity))
        for cell in cells
        if (value := cell.quantity(quantity, busy=True)) is not None
    ]
    ends = [end for value, spread in found for end in (value - spread, value + spread) if end > 0]
    if not found:
        say_why_empty(axes, cells)
        axes.set(xticks=[], yticks=[])
    elif in_decades and ends:
        logarithmic(axes, "y", ends)
    elif quantity != "score":
        axes.set_ylim(bottom=0)


def _spread(cell: Cell, quantity: Quantity) -> float:
    return (cell.score.sd or 0.0) if quantity == "score" and cell.score else 0.0


def _x_title(layout: FigureLayout, cells: Sequence[Cell]) -> str:
    if layout.x == "n_components":
        return "number of random features D"
    return "dimension d = D" if d_equals_D(cells) else "dimension d"


def _y_title(quantity: Quantity, cells: Sequence[Cell]) -> str:
    if quantity != "score":
        return TITLES[quantity]
    metric = next((cell for cell in cells if cell.rows), cells[0]).metric
    return "relative error" if metric.path[0] == "kernel_error" else metric.title
