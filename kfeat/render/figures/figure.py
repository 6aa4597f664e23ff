"""The figure of an experiment in the house style: a line per method, or curves against D or d."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

from kfeat.analysis.cells import Cell, by_setting
from kfeat.analysis.names import formulas
from kfeat.data.sources import dataset_name
from kfeat.experiments.config import Experiment
from kfeat.experiments.layout import FigureLayout
from kfeat.render.figures.curves import curves
from kfeat.render.figures.marks import RC, save, wrapped
from kfeat.render.figures.methods import methods, ratios
from kfeat.render.table import mathtext
from kfeat.text import plain

DIGITS = 6  # of the places of axes, as shares of the figure
LABEL_SIZE = 0.88  # of the signs in a label of an axis, for `wrapped`, which takes wider ones for granted
MOST_PIXELS = 2**15  # of a side: what a figure of thousands of methods must not exceed


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
    figure.draw_without_rendering()
    if _break_labels(figure):
        figure.draw_without_rendering()
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
        said = text.get_text()
        if any(formula in said for formula in kernels):
            text.set_text(mathtext(said, kernels))
            text.set_parse_math(True)
    return figure


def _stand_in(experiment: Experiment) -> str:
    """Return what a title leaves open where all data stand in for others, so that no panel names them."""
    names = [dataset_name(source) for source in experiment.datasets]
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
    sizes = {cell.size for cell in shown if cell.trial.map}
    if layout is None and len(sizes) > 1 and None not in sizes:
        return curves(experiment, FigureLayout(kind="curves", log=["fit"]), shown)
    return methods(experiment, layout or FigureLayout(kind="methods"), _without_gaps(cells))


def _without_gaps(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that have something to show, and all of a setting where none has: it says so."""
    shown: list[Cell] = []
    for peers in by_setting(cells):
        shown += [cell for cell in peers if cell.rows or cell.bound] or peers
    return shown if any(cell.rows or cell.bound for cell in shown) else []
