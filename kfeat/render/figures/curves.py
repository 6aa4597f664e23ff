"""The figure of curves: scores or seconds against the number of features D or the dimension d, in panels."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kfeat.analysis.cells import Cell
from kfeat.analysis.names import NOBODY, formulas
from kfeat.experiments.layout import FigureLayout
from kfeat.render.figures.marks import Marks, across, why_single
from kfeat.render.figures.panels import Point, Series, d_equals_D, panels, points, styles, x_of
from kfeat.render.figures.printed import PaperNumbers
from kfeat.render.figures.style import (
    by_score,
    heading,
    logarithmic,
    logarithmic_at,
    say_why_empty,
    shared_legend,
    wrapped,
)

FORMULA_SIZE = 0.62  # of the letters of a formula that is set as mathematics, for `wrapped`
Styles = Mapping[Series, dict[str, Any]]


def curves(
    layout: FigureLayout,
    cells: Sequence[Cell],
    paper: PaperNumbers | None = None,
    stand_ins: Mapping[str, str] = NOBODY,
) -> Figure:
    """Return panels by `rows` and `columns`, the quantities `y` beside each other, and one legend below.

    Raises ConfigError where a map has no number of features and the x axis shows it.
    """
    layout = _known(layout, cells)
    found = points(layout, cells, stand_ins)
    parts = panels(layout, found)
    abreast, below = layout.abreast, len(layout.y) // layout.abreast
    n_columns, n_rows = len(parts[0]) * abreast, len(parts) * below
    width = {1: 6.5, 2: 4.5, 3: 3.4}.get(n_columns, 2.9)
    height = 3.0 if n_columns < 3 else 2.5
    figure = Figure(figsize=(width * n_columns, 1.0 + height * n_rows), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    drawing = _Drawing(layout, found, paper or PaperNumbers())
    for i, row in enumerate(parts):
        for j, here in enumerate(row):
            is_last = i + 1 == len(parts) or not parts[i + 1][j]
            for k, quantity in enumerate(layout.y):
                axes = grid[i * below + k // abreast][j * abreast + k % abreast]
                if not here:
                    axes.set_axis_off()
                    continue
                drawing.panel(axes, here, quantity)
                axes.set_title(_title(here[0], width - 0.7) if k == 0 else "")
                is_first = j == 0 or abreast > 1
                axes.set_ylabel(wrapped(heading(quantity, cells), height + 0.5) if is_first else "")
                axes.set_xlabel(
                    wrapped(_x_title(layout, cells), width - 0.7)
                    if is_last and k + abreast >= len(layout.y)
                    else ""
                )
    shared_legend(figure, drawing.handles(), width * n_columns)
    return figure


def _known(layout: FigureLayout, cells: Sequence[Cell]) -> FigureLayout:
    """Return the layout without the quantities of which no cell has a value, unless none has any."""
    wanted = by_score(layout.y, cells)
    known = [name for name in wanted if any(cell.mean(name, busy=True) is not None for cell in cells)]
    return layout.model_copy(update={"y": known or wanted})


class _Drawing:
    """Draws the panels of a figure, and keeps what its legend has to say."""

    def __init__(self, layout: FigureLayout, found: Sequence[Point], paper: PaperNumbers) -> None:
        self.layout, self.found, self.paper = layout, found, paper
        self.style: Styles = styles(found)
        self.marks = Marks()
        self.drawn: dict[Series, set[str]] = {}  # what the lines of exact kernel SVMs are of

    def panel(self, axes: Any, here: Sequence[Point], quantity: str) -> None:
        """Draw one quantity in one panel."""
        groups: dict[Series, list[Cell]] = {}
        for point in here:
            groups.setdefault(point.series, []).append(point.cell)
        across(axes, "y", self.layout.lines, quantity)
        for series, members in groups.items():
            self._printed(axes, series, members, quantity)
            if any(cell.of(quantity, busy=True) for cell in members):
                self._curve(axes, series, members, quantity)
        self._scales(axes, [point.cell for point in here], quantity)

    def _curve(self, axes: Any, series: Series, members: Sequence[Cell], quantity: str) -> None:
        style = self.style[series]
        words = self.drawn.setdefault(series, set())
        along = self.layout.along
        ordered = sorted(members, key=lambda cell: (along and cell.mean(along, busy=True)) or 0.0)
        placed = [(x, cell) for cell in ordered if (x := x_of(self.layout, cell)) is not None]
        if along is None:
            placed.sort(key=lambda point: point[0])
        if placed:
            self.marks.means(axes, "y", quantity, placed, **style)
            return
        for (
            cell
        ) in members:  # it has no x, and is the same for all: a line across, with a band for its spread
            number = cell.of(quantity, busy=True)
            if number is None:
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

    def _printed(self, axes: Any, series: Series, members: Sequence[Cell], quantity: str) -> None:
        """Mark what the paper prints; of an exact kernel SVM, at the right end of its line."""
        for cell in members:
            if (number := self.paper.of(cell, quantity)) is None:
                continue
            x, place = x_of(self.layout, cell), {}
            if x is None:
                x, place = 1, {"transform": axes.get_yaxis_transform(), "clip_on": False}
                number = type(number)(number.value, None, number.bound)
            self.marks.paper(axes, "y", quantity, x, number, color=self.style[series]["color"], **place)

    def _scales(self, axes: Any, cells: Sequence[Cell], quantity: str) -> None:
        """Let the y axis start at zero, except for scores and below it, or be logarithmic; say what is empty.

        Logarithmic axes of one quantity are the same in all panels, so that these can be compared.
        """
        if not any(cell.of(quantity, busy=True) or self.paper.of(cell, quantity) for cell in cells):
            say_why_empty(axes, cells, quantity)
            axes.set(xticks=[], yticks=[])
            return
        ends = self._ends(quantity) if self.layout.in_decades(quantity) else []
        if ends:
            logarithmic(axes, "y", ends)
        elif not cells[0].named(quantity).score and all(
            (cell.mean(quantity, busy=True) or 0.0) >= 0 for cell in cells
        ):
            axes.set_ylim(bottom=0)
        xs = [x for cell in cells if (x := x_of(self.layout, cell)) is not None and x > 0]
        if "x" in self.layout.log and xs:
            logarithmic_at(axes, xs)

    def _ends(self, quantity: str) -> list[float]:
        """Return what a logarithmic axis has to show: the positive ends of all bars, and the lines."""
        cells = [point.cell for point in self.found]
        ours = [cell.of(quantity, busy=True) for cell in cells]
        theirs = [self.paper.of(cell, quantity) for cell in cells]
        spans = [(number.mean, number.sd or 0.0) for number in ours if number]
        spans += [(number.value, number.sd or 0.0) for number in theirs if number]
        spans += [(line.at, 0.0) for line in self.layout.lines if line.of == quantity]
        return [end for value, spread in spans for end in (value - spread, value + spread) if end > 0]

    def handles(self) -> list[Any]:
        """Return the legend's entries: the curves, and what their points are."""
        found = []
        for series, style in self.style.items():
            if series in self.drawn:
                words = ", ".join(sorted(self.drawn[series]))
                label = f"{series.label} ({words})" if words else series.label
                found.append(Line2D([], [], label=label, **style))
        lines = {line.label: line for line in self.layout.lines if line.of in self.layout.y}
        return found + self.marks.handles(list(lines.values()))


def _title(point: Point, inches: float) -> str:
    """Return the title of a panel: on one line, or a line for each part, so that no formula is broken."""
    whole = wrapped(", ".join(point.title), inches)
    known = {part for part in formulas([point.cell]) if "\n" not in wrapped(part, inches, FORMULA_SIZE)}
    parts = [part if part in known else wrapped(part, inches) for part in point.title]
    lines = [whole] if "\n" not in whole else parts
    return "\n".join(lines + [f"(stand-in for {point.stand_in})"] * bool(point.stand_in))


def _x_title(layout: FigureLayout, cells: Sequence[Cell]) -> str:
    both = layout.x == "n_features" and d_equals_D(cells)
    return "dimension d = D" if both else cells[0].named(layout.x).heading
