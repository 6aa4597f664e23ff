"""The figure of curves: scores or seconds against the number of features D or the dimension d, in panels.

The panels say of a curve what the layout's rows and columns name, the legend says the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from operator import attrgetter
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kfeat.analysis.cells import Cell, grouped
from kfeat.analysis.names import Names, formulas
from kfeat.experiments.config import Experiment
from kfeat.experiments.layout import FigureLayout
from kfeat.render.figures.marks import Marks, why_single
from kfeat.render.figures.style import (
    COLOURS,
    DASHES,
    MARKERS,
    MORE_DASHES,
    by_score,
    heading,
    logarithmic,
    logarithmic_at,
    say_why_empty,
    shared_legend,
    wrapped,
)
from kfeat.render.paper_table import PaperNumbers, Printed, check_sizes

MOST_COLUMNS = 4
FORMULA_SIZE = 0.62  # of the letters of a formula that is set as mathematics, for `wrapped`


@dataclass(frozen=True)
class _Series:
    """One curve of the legend, in all panels: a method, and where it ran if the panels do not say that."""

    method: str
    where: str
    exact: bool


@dataclass(frozen=True)
class _Point:
    """A cell with its curve, and its panel: the row, the column, the title's parts, and the stand-in's."""

    cell: Cell
    series: _Series
    row: tuple[str, ...]
    column: tuple[str, ...]
    title: tuple[str, ...]
    stand_in: str


def curves(experiment: Experiment, layout: FigureLayout, cells: Sequence[Cell]) -> Figure:
    """Return panels by `rows` and `columns`, the quantities `y` beside each other, and one legend below.

    Raises ConfigError where a map has no number of features and the x axis shows it.
    """
    layout = _known(layout, cells)
    points = _points(layout, cells, experiment.stand_ins)
    panels, abreast, below = _panels(layout, points), layout.abreast, len(layout.y) // layout.abreast
    n_columns, n_rows = len(panels[0]) * abreast, len(panels) * below
    width = {1: 6.5, 2: 4.5, 3: 3.4}.get(n_columns, 2.9)
    height = 3.0 if n_columns < 3 else 2.5
    figure = Figure(figsize=(width * n_columns, 1.0 + height * n_rows), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    drawing = _CurvePanels(layout, points, PaperNumbers(experiment))
    x_title = layout.x_title or cells[0].named(layout.x).heading
    if layout.x == "n_features" and _d_equals_D(cells):
        x_title = "dimension d = D"
    for i, j, k in product(range(len(panels)), range(len(panels[0])), range(len(layout.y))):
        axes = grid[i * below + k // abreast][j * abreast + k % abreast]
        panel, is_last = panels[i][j], i + 1 == len(panels) or not panels[i + 1][j]
        if not panel:
            axes.set_axis_off()
            continue
        drawing.panel(axes, panel, layout.y[k])
        if k == 0:
            axes.set_title(_title(panel[0], width - 0.7))
        if j == 0 or abreast > 1:
            axes.set_ylabel(wrapped(heading(layout.y[k], cells), height + 0.5))
        if is_last and k + abreast >= len(layout.y):
            axes.set_xlabel(wrapped(x_title, width - 0.7))
    shared_legend(figure, drawing.handles(), width * n_columns)
    return figure


def _known(layout: FigureLayout, cells: Sequence[Cell]) -> FigureLayout:
    """Return the layout without the quantities of which no cell has a value, unless none has any."""
    names = by_score(layout.y, cells)
    known = [name for name in names if any(cell.mean(name, busy=True) is not None for cell in cells)]
    return layout.model_copy(update={"y": known or names})


def _points(layout: FigureLayout, cells: Sequence[Cell], stand_ins: Mapping[str, str]) -> list[_Point]:
    check_sizes(layout, cells)
    hidden = {(layout.along or layout.x).rpartition(".")[2], layout.x}
    if layout.x == "n_features":
        hidden = {"d", "n_components"} if _d_equals_D(cells) else {"d"}
    hidden |= {key.rpartition(".")[2] for key in layout.join}
    named = [name for name in ("dataset", "kernel") if name in (*layout.rows, *layout.columns)]
    # Along a parameter of the kernel a curve joins kernels, and is not told apart by them.
    joined = {key.partition(".")[0] for key in (layout.x, *layout.join)}
    unnamed = [name for name in ("dataset", "kernel") if name not in {*named, *joined}]
    names = Names(cells, hidden, {} if "dataset" in named else stand_ins)
    points = []
    for cell in cells:
        words = {"dataset": names.dataset(cell), "kernel": names.kernel(cell)}
        series = _Series(names.method(cell), names.place(cell, unnamed), cell.trial.map is None)
        row, column, title = (
            tuple(words[part] for part in parts if part != "y")
            for parts in (layout.rows, layout.columns, named)
        )
        stand_in = stand_ins.get(cell.trial.source.name, "") if "dataset" in named else ""
        points.append(_Point(cell, series, row, column, title, stand_in))
    return points


def _d_equals_D(cells: Sequence[Cell]) -> bool:  # noqa: N802
    """Tell whether the maps have as many features as the data."""
    return all(c.rows[0]["n_features"] == c.D for c in cells if c.rows and c.trial.map)


def _panels(layout: FigureLayout, points: Sequence[_Point]) -> list[list[list[_Point]]]:
    """Return the points of each panel, row by row; a single row that is too long is broken into several."""
    rows = list(dict.fromkeys(point.row for point in points))
    columns = list(dict.fromkeys(point.column for point in points))
    flat = [[p for p in points if (p.row, p.column) == (row, column)] for row in rows for column in columns]
    width, most = len(columns), max(1, MOST_COLUMNS // layout.abreast)
    if len(rows) == 1 and width > most:
        width = ceil(width / ceil(width / most))
    flat += [[]] * (-len(flat) % width)
    return [flat[start : start + width] for start in range(0, len(flat), width)]


def _styles(points: Sequence[_Point]) -> dict[_Series, dict[str, Any]]:
    """Return how each curve is drawn: colour by method, dashes by place, the marker by both.

    Where that would repeat a pair of colour and dashes, the next dashes that are free with the colour serve.
    """
    series = list(dict.fromkeys(point.series for point in points))
    names = list(dict.fromkeys(curve.method for curve in series if not curve.exact))
    locations = list(dict.fromkeys(curve.where for curve in series))
    drawn: dict[_Series, dict[str, Any]] = {}
    taken: set[tuple[str, Any]] = set()
    for curve in series:
        place = locations.index(curve.where)
        if curve.exact:
            colours, dashes = ["black", "#767676"], [*DASHES[1:], "-", *MORE_DASHES]
            drawn[curve] = {"lw": 1}
        else:
            i = names.index(curve.method)
            colours, dashes = [COLOURS[i % len(COLOURS)]], [*DASHES, *MORE_DASHES]
            drawn[curve] = {"marker": MARKERS[(i + place * len(names)) % len(MARKERS)]}
        turned = dashes[place % 4 :] + dashes[: place % 4]
        pairs = [(colour, dash) for colour in colours for dash in turned]
        pair = next((pair for pair in pairs if pair not in taken), pairs[0])
        taken.add(pair)
        drawn[curve] |= {"color": pair[0], "ls": pair[1]}
    return drawn


class _CurvePanels:
    """Draws the panels of a figure, and keeps what its legend has to say."""

    def __init__(self, layout: FigureLayout, points: Sequence[_Point], paper: PaperNumbers) -> None:
        self.layout, self.cells, self.paper = layout, [point.cell for point in points], paper
        self.style = _styles(points)
        self.marks = Marks("y")
        self.drawn: dict[_Series, set[str]] = {}  # what the lines of exact kernel SVMs are of

    def panel(self, axes: Any, panel: Sequence[_Point], quantity: str) -> None:
        """Draw one quantity in one panel."""
        self.marks.across(axes, self.layout.lines, quantity)
        for series, points in grouped(panel, attrgetter("series")).items():
            members = [point.cell for point in points]
            for cell in members:
                if number := self.paper.of(cell, quantity):
                    self._printed(axes, series, cell, number, quantity)
            if any(cell.of(quantity, busy=True) for cell in members):
                self._curve(axes, series, members, quantity)
        self._scales(axes, [point.cell for point in panel], quantity)

    def _x(self, cell: Cell) -> float | None:
        """Return where a cell stands on the x axis; None for an exact method without a size."""
        kernel, solver = cell.trial.own_kernel, cell.trial.solver
        if self.layout.x == "kernel.gamma" and kernel and kernel.parameters.get("bandwidth"):
            return float(kernel.parameters["bandwidth"])
        if self.layout.x != "n_components":
            return cell.mean(self.layout.x, busy=True)
        return cell.D if cell.D or not solver else solver.parameters.get("cell_size")

    def _printed(self, axes: Any, series: _Series, cell: Cell, number: Printed, quantity: str) -> None:
        """Mark what the paper prints; of an exact kernel SVM, at the right end of its line."""
        x, place = self._x(cell), {}
        if x is None:
            x, place = 1, {"transform": axes.get_yaxis_transform(), "clip_on": False}
            number = Printed(number.value, None, number.bound)
        self.marks.paper(axes, quantity, x, number, color=self.style[series]["color"], **place)

    def _curve(self, axes: Any, series: _Series, members: Sequence[Cell], quantity: str) -> None:
        style, along = self.style[series], self.layout.along
        words = self.drawn.setdefault(series, set())
        ordered = sorted(members, key=lambda cell: (along and cell.mean(along, busy=True)) or 0.0)
        placed = [(x, cell) for cell in ordered if (x := self._x(cell)) is not None]
        if placed:
            points = placed if along else sorted(placed, key=lambda point: point[0])
            self.marks.means(axes, quantity, points, **style)
            return
        for cell in members:  # it has no x: a line across, with a band for its spread
            if (number := cell.of(quantity, busy=True)) is None:
                continue
            axes.axhline(number.mean, **style)
            if number.sd:
                ends = number.mean - number.sd, number.mean + number.sd
                axes.axhspan(*ends, color=style["color"], alpha=0.12, lw=0)
                words.add("band: standard deviation")
            elif number.n == 1:
                words.add(why_single(cell, quantity))
            if cell.is_busy(quantity):
                words.add("timed on a busy machine")

    def _scales(self, axes: Any, cells: Sequence[Cell], quantity: str) -> None:
        """Let the y axis start at zero, except for scores and below it, or be logarithmic; say what is empty.

        Logarithmic axes of one quantity are the same in all panels, so that these can be compared.
        """
        if not any(cell.of(quantity, busy=True) or self.paper.of(cell, quantity) for cell in cells):
            say_why_empty(axes, cells, quantity)
            axes.set(xticks=[], yticks=[])
            return
        means = [cell.mean(quantity, busy=True) or 0.0 for cell in cells]
        if self.layout.in_decades(quantity) and (ends := self._ends(quantity)):
            logarithmic(axes, "y", ends)
        elif not cells[0].named(quantity).score and min(means) >= 0:
            axes.set_ylim(bottom=0)
        xs = [x for cell in cells if (x := self._x(cell)) is not None and x > 0]
        if "x" in self.layout.log and xs:
            logarithmic_at(axes, xs)

    def _ends(self, quantity: str) -> list[float]:
        """Return what a logarithmic axis has to show: the positive ends of all bars, and the lines."""
        ours = [cell.of(quantity, busy=True) for cell in self.cells]
        theirs = [self.paper.of(cell, quantity) for cell in self.cells]
        spans = [(number.mean, number.sd or 0.0) for number in ours if number]
        spans += [(number.value, number.sd or 0.0) for number in theirs if number]
        spans += [(line.at, 0.0) for line in self.layout.lines if line.of == quantity]
        return [end for value, spread in spans for end in (value - spread, value + spread) if end > 0]

    def handles(self) -> list[Any]:
        """Return the legend's entries: the curves, and what their points are."""
        handles = []
        for curve, style in self.style.items():
            if curve in self.drawn:
                words = ", ".join(sorted(self.drawn[curve]))
                label = ", ".join(filter(None, (curve.method, curve.where))) + f" ({words})" * bool(words)
                handles.append(Line2D([], [], label=label, **style))
        lines = {line.label: line for line in self.layout.lines if line.of in self.layout.y}
        return handles + self.marks.handles(list(lines.values()))


def _title(point: _Point, inches: float) -> str:
    """Return the title of a panel: on one line, or a line for each part, so that no formula is broken."""
    whole = wrapped(", ".join(point.title), inches)
    known = {part for part in formulas([point.cell]) if "\n" not in wrapped(part, inches, FORMULA_SIZE)}
    parts = [part if part in known else wrapped(part, inches) for part in point.title]
    lines = [whole] if "\n" not in whole else parts
    return "\n".join(lines + [f"(stand-in for {point.stand_in})"] * bool(point.stand_in))
