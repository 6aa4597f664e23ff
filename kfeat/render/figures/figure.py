"""The figure of an experiment in the house style: a line per method, ratios of methods, or curves."""

import re
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from kfeat.analysis.cells import PHASES, Cell, by_setting
from kfeat.analysis.names import Names, formulas
from kfeat.analysis.statistics import Summary
from kfeat.experiments.config import Experiment
from kfeat.experiments.layout import Column, FigureLayout, ReferenceLine, TableLayout
from kfeat.experiments.paper import PRINTED_TIMES
from kfeat.experiments.quantities import SCORE
from kfeat.render.figures.curves import curves
from kfeat.render.figures.marks import Mark, Marks
from kfeat.render.figures.style import (
    COLOURS,
    RC,
    by_score,
    heading,
    logarithmic,
    say_why_empty,
    shared_legend,
    wrapped,
)
from kfeat.render.figures.svg import in_any_script, save
from kfeat.render.markup import mathtext
from kfeat.render.paper_table import ChosenCells, PaperNumbers, Printed, choose
from kfeat.text import plain

DIGITS = 6  # of the places of axes, as shares of the figure
LABEL_SIZE = 0.88  # of the signs in a label of an axis, for `wrapped`, which takes wider ones for granted
MOST_PIXELS = 2**15  # of a side: what a figure of thousands of methods must not exceed
PAPER_BELOW = 0.24  # of a line, so that ours and the paper's do not hide each other
SECONDS = [(COLOURS[2], "o"), (COLOURS[1], "s"), (COLOURS[3], "^"), (COLOURS[4], "v")]  # of seconds
_PRINTED = re.compile(r"(\d+(?:\.\d+)?)×")
WIDTH = 8.5  # of a figure of ratios, in inches
EQUAL = ReferenceLine(at=1, label="both alike")


def draw(experiment: Experiment, cells: Sequence[Cell], paths: Sequence[Path]) -> Figure:
    """Draw the cells, save the figure at each path by its suffix, and return it.

    Raises ConfigError where curves against the number of features are asked for of maps that have none.
    """
    with matplotlib.rc_context(RC), np.errstate(over="ignore"):  # errors of a regression have no upper end
        figure = figure_of(experiment, cells)
        dpi = min(150, MOST_PIXELS / max(figure.get_size_inches()))
        _settle(figure, dpi)
        save(figure, paths, dpi)
    return figure


def _settle(figure: Figure, dpi: float) -> None:
    """Lay the figure out once, with round numbers.

    The solver of the layout leaves rounding errors that differ from draw to draw, and the names of an SVG's
    clip paths are made of all digits.
    """
    figure.set_dpi(dpi)
    in_any_script(figure, figure.draw_without_rendering)
    if _break_labels(figure):
        in_any_script(figure, figure.draw_without_rendering)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(end, DIGITS) for end in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


def _break_labels(figure: Figure) -> bool:
    """Break the labels of y axes that reach into another text, such as the title; tell whether any does."""
    labels = [label for axes in figure.axes for label in (axes.xaxis.label, axes.yaxis.label)]
    extents = [(text, text.get_window_extent()) for text in (*figure.texts, *labels) if text.get_text()]
    broken = False
    for axes in figure.axes:
        label = axes.yaxis.label
        own = label.get_window_extent()
        if label.get_text() and any(other is not label and own.overlaps(box) for other, box in extents):
            inches = axes.get_window_extent().height / figure.dpi
            text = wrapped(label.get_text().replace("\n", " "), inches, LABEL_SIZE)
            broken |= text != label.get_text()
            label.set_text(text)
    return broken


def figure_of(experiment: Experiment, cells: Sequence[Cell]) -> Figure:
    """Return the figure of the experiment with its title.

    The kernels' formulas are set as mathematics in all of its texts.
    """
    figure, kernels = _figure(experiment, cells), formulas(cells)
    title = plain(experiment.title + _stand_in(experiment))
    figure.suptitle(wrapped(title, figure.get_figwidth() - 0.1, 1.05))
    for text in figure.findobj(Text):
        words = text.get_text()
        if any(formula in words for formula in kernels):
            text.set_text(mathtext(words, kernels))
            text.set_parse_math(True)
    return figure


def _stand_in(experiment: Experiment) -> str:
    """Return what a title leaves open where all data stand in for others, so that no panel names them."""
    names = [source.name for source in experiment.datasets]
    meant = experiment.stand_ins.get(names[0])
    if meant is None or len(set(names)) > 1 or "stand-in" in experiment.title:
        return ""
    return f" ({names[0]}, a stand-in for {meant})"


def _figure(experiment: Experiment, cells: Sequence[Cell]) -> Figure:
    """Return the figure of a layout; without one, curves if the number of features varies, else methods."""
    layout, shown = experiment.figure, [cell for cell in cells if cell.rows or cell.bound]
    if layout is not None and layout.kind == "curves":
        return curves(experiment, layout, cells)
    if layout is not None and layout.kind == "ratios" and experiment.table is not None:
        return ratios(experiment, experiment.table, cells)
    sizes = {cell.D for cell in shown if cell.trial.map}
    if layout is None and len(sizes) > 1 and None not in sizes:
        return curves(experiment, FigureLayout(kind="curves", log=["fit"]), shown)
    return methods(experiment, layout or FigureLayout(kind="methods"), _without_gaps(cells))


def _without_gaps(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that have something to show, and all of a setting where none has: it says so."""
    shown: list[Cell] = []
    for peers in by_setting(cells):
        shown += [cell for cell in peers if cell.rows or cell.bound] or peers
    return shown if any(cell.rows or cell.bound for cell in shown) else []


def methods(experiment: Experiment, layout: FigureLayout, cells: Sequence[Cell]) -> Figure:
    """Return one line per method: its score, or each quantity of `layout.y`, and its seconds on the right."""
    if not cells:
        return Figure(figsize=(6, 1.3), layout="constrained")
    drawing = _MethodPanels(cells, layout, PaperNumbers(experiment))
    settings, columns = by_setting(cells), drawing.columns
    width = {1: 6, 2: 9}.get(len(columns), 3 + 3 * len(columns))
    names = Names(cells, stand_ins=experiment.stand_ins)
    labels = {cell: wrapped(names.in_setting(cell), 4) for cell in cells}
    lines = max(label.count("\n") + 1 for label in labels.values())
    height = 1.3 + 0.42 * len(settings) + 0.17 * max(2, lines) * len(cells)
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(
        len(settings), len(columns), sharex="col", sharey="row", squeeze=False,
        height_ratios=[len(peers) + 0.5 for peers in settings],
    )  # fmt: skip
    for row, peers in zip(grid, settings, strict=True):
        row[0].set_yticks(range(len(peers)), [labels[cell] for cell in peers])
        row[0].set_ylim(len(peers) - 0.4, -0.6)
        row[0].set_title(wrapped(names.place(peers[0]), width - 1))
        for axes, quantities in zip(row, columns, strict=True):
            drawing.panel(axes, peers, quantities)
    for axes, quantities in zip(grid[-1], columns, strict=True):
        drawing.scale(axes, quantities)
    shared_legend(figure, drawing.handles(), width)
    return figure


class _MethodPanels:
    """Draws the panels: a column for each quantity, and one for all seconds."""

    def __init__(self, cells: Sequence[Cell], layout: FigureLayout, paper: PaperNumbers) -> None:
        self.cells, self.layout, self.paper = cells, layout, paper
        names = by_score(layout.y if "y" in layout.model_fields_set else [SCORE, *PHASES], cells)
        others = [name for name in names if not cells[0].named(name).timed]
        timed = [name for name in names if name not in others]
        seconds = [name for name in timed if self._ends(name)]
        if not others or any(cell.bound for cell in cells):
            seconds = seconds or timed
        self.columns = [*([name] for name in others), *([seconds] if seconds else [])]
        self.style = dict.fromkeys(others, (COLOURS[0], "o"))
        # A phase looks alike in all figures, whether the others are there or not.
        self.style |= {name: SECONDS[i % len(SECONDS)] for i, name in enumerate(timed)}
        self.marks = Marks("x")
        # The paper's times share a panel: map + train has the colour of its scores, test that of our test.
        self.paper_times = {"fit": (self.marks, COLOURS[5])}
        self.paper_times |= {
            name: (Marks("x"), self.style[name][0])
            for name in PRINTED_TIMES
            if name in seconds and name != "fit"
        }

    def _ends(self, quantity: str) -> list[float]:
        """Return what an axis has to show: the ends of all bars, but for those that reach down to nothing."""
        numbers = (cell.of(quantity, busy=True) for cell in self.cells)
        spans = [(number.mean, number.sd or 0.0) for number in numbers if number]
        return [end for mean, sd in spans for end in (max(mean - sd, mean / 3), mean + sd)]

    def panel(self, axes: Any, peers: Sequence[Cell], quantities: Sequence[str]) -> None:
        """Draw quantities of one setting as points: on a logarithmic scale a bar's length means nothing."""
        timed = peers[0].named(quantities[0]).timed
        for i, quantity in enumerate(quantities):
            self.marks.across(axes, self.layout.lines, quantity)
            beside = 0.2 * (i - (len(quantities) - 1) / 2)
            points = [(line + beside, cell) for line, cell in enumerate(peers)]
            colour, marker = self.style[quantity]
            self.marks.means(axes, quantity, points, color=colour, marker=marker, ls="none")
        for line, cell in enumerate(peers):
            theirs = self.paper_times if timed else {quantities[0]: (self.marks, COLOURS[5])}
            for name, (marks, colour) in theirs.items():
                if number := self.paper.of(cell, name):
                    marks.paper(axes, name, line + PAPER_BELOW, number, color=colour, ms=5)
            if timed and cell.bound and cell.bound.value:
                self.marks.bound(axes, line, cell.bound.value)
        drawn = any(cell.of(name, busy=True) for name in quantities for cell in peers)
        if not drawn and not (timed and any(cell.bound for cell in peers)):
            say_why_empty(axes, peers, quantities[0])

    def scale(self, axes: Any, quantities: Sequence[str]) -> None:
        """Scale the axis that the panels of a column share, and give it its title."""
        timed = self.cells[0].named(quantities[0]).timed
        values = [value for name in quantities for value in self._ends(name)]
        if timed:
            theirs = (self.paper.of(cell, name) for cell in self.cells for name in self.paper_times)
            values += [number.value for number in theirs if number]
            values += [cell.bound.value for cell in self.cells if cell.bound and cell.bound.value]
        values = [value for value in values if value > 0]
        if values and (timed or self.layout.in_decades(quantities[0])):
            logarithmic(axes, "x", values)
        wall = all(name.endswith("_wall") for name in quantities)
        seconds = "wall seconds" if wall else "CPU seconds"
        axes.set_xlabel(seconds if timed else wrapped(heading(quantities[0], self.cells), 3))

    def handles(self) -> list[Any]:
        """Return the legend's entries: the quantities that are drawn, and what their points are."""
        handles = [
            Line2D([], [], ls="none", color=colour, marker=marker, label=self._label(name))
            for name, (colour, marker) in self.style.items()
            if self._ends(name)
        ]
        lines = [line for line in self.layout.lines if line.of in self.style]
        handles += self.marks.handles(lines, COLOURS[5])
        for marks, colour in self.paper_times.values():
            if marks is not self.marks:
                handles += marks.handles(colour=colour)
        return handles

    def _label(self, name: str) -> str:
        """Return what a quantity is called in the legend: a phase as tables call it."""
        if name in (*PHASES, *PRINTED_TIMES):
            return PRINTED_TIMES[name].name if name in PRINTED_TIMES else name
        cell = next((cell for cell in self.cells if cell.rows), self.cells[0])
        return cell.named(name).title


def ratios(experiment: Experiment, layout: TableLayout, cells: Sequence[Cell]) -> Figure:
    """Return a panel for each line of the table, and in it a point for each column that has `over`.

    Beside it stands the paper's ratio, where its words begin with one, such as `9× (Gisette)`.
    """
    columns = [(i, column) for i, column in enumerate(layout.columns) if column.over]
    shown = [(i, column, name) for i, column in columns for name in column.quantities(layout.show[:1])]
    lines = {
        name: chosen
        for name, chosen in choose(layout, cells).items()
        if any(chosen[i].cell and chosen[i].over for i, _ in columns)
    }
    height = 1.6 + len(lines) * (0.42 + 0.24 * len(shown))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    if not lines:
        return figure
    marks, values = Marks("x", "ratio of means"), [1.0]
    grid = figure.subplots(len(lines), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, chosen) in zip(grid, lines.items(), strict=True):
        marks.across(axes, [EQUAL], SCORE)
        axes.set_yticks(range(len(shown)), [wrapped(_ratio_label(column, of), 3) for _, column, of in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        data = next(choice.cell.trial.source.name for choice in chosen if choice.cell)
        meant = experiment.stand_ins.get(data)
        axes.set_title(f"{name} (stand-in for {meant})" if meant else name)
        own = [mark for at, (i, _, of) in enumerate(shown) if (mark := _mark(at, chosen[i], of))]
        marks.draw(axes, own, color=COLOURS[0], marker="o", ls="none")
        values += [mark.number.mean for mark in own]
        for at, (_, column, of) in enumerate(shown):
            if printed := _PRINTED.match(column.printed_ratio(name, of, layout.show) or ""):
                values.append(float(printed[1]))
                if meant:
                    marks.paper_note = f", beside a stand-in that of {meant}"
                marks.paper(axes, "ratio", at + PAPER_BELOW, Printed(values[-1]), color=COLOURS[5], ms=5)
        if not own:
            say_why_empty(axes, cells)
    logarithmic(grid[-1], "x", values)
    grid[-1].set_xlabel("times as much (ratio of CPU seconds)")
    ours = Line2D([], [], ls="none", marker="o", color=COLOURS[0], label="kfeat")
    shared_legend(figure, [ours, *marks.handles([EQUAL], COLOURS[5])], WIDTH)
    return figure


def _ratio_label(column: Column, quantity: str) -> str:
    several = column.show is not None and len(column.show) > 1
    return f"{column.title}, {quantity}" if several else column.title


def _mark(at: float, choice: ChosenCells, name: str) -> Mark | None:
    """Return the ratio over / for of a quantity, whose relative variance is the sum of both."""
    if choice.cell is None or choice.over is None:
        return None
    top, bottom = (cell.of(name, busy=True, logs=True) for cell in (choice.over, choice.cell))
    if top is None or bottom is None or not bottom.mean:
        return None
    ratio, sd = top.mean / bottom.mean, None
    if top.sd is not None and bottom.sd is not None and top.mean:
        sd = abs(ratio) * sqrt((top.sd / top.mean) ** 2 + (bottom.sd / bottom.mean) ** 2)
    busy = choice.over.is_busy(name) or choice.cell.is_busy(name)
    return Mark(at, Summary(ratio, sd, min(top.n, bottom.n)), "one run of one of the two", busy)
