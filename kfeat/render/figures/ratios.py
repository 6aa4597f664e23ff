"""The figure of ratios: how many times as much one method takes as another, as the paper's table says it."""

import re
from collections.abc import Sequence
from math import sqrt

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kfeat.analysis.cells import Cell
from kfeat.analysis.statistics import Summary
from kfeat.experiments.layout import Column, ReferenceLine, TableLayout
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import dataset_name
from kfeat.experiments.quantities import SCORE
from kfeat.render.figures.marks import Mark, Marks, across
from kfeat.render.figures.methods import PAPER_BELOW
from kfeat.render.figures.printed import Printed
from kfeat.render.figures.style import COLOURS, logarithmic, say_why_empty, shared_legend, wrapped
from kfeat.render.layout import Choice, choose

_PRINTED = re.compile(r"(\d+(?:\.\d+)?)×")
WIDTH = 8.5
EQUAL = ReferenceLine(at=1, label="both alike")


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
    marks, values = Marks("ratio of means"), [1.0]
    grid = figure.subplots(len(lines), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, chosen) in zip(grid, lines.items(), strict=True):
        across(axes, "x", [EQUAL], SCORE)
        axes.set_yticks(range(len(shown)), [wrapped(_label(column, of), 3) for _, column, of in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        data = next(dataset_name(choice.cell.trial.source) for choice in chosen if choice.cell)
        meant = experiment.stand_ins.get(data)
        axes.set_title(f"{name} (stand-in for {meant})" if meant else name)
        found = [mark for at, (i, _, of) in enumerate(shown) if (mark := _mark(at, chosen[i], of))]
        marks.draw(axes, "x", found, color=COLOURS[0], marker="o", ls="none")
        values += [mark.number.mean for mark in found]
        for at, (_, column, of) in enumerate(shown):
            if printed := _PRINTED.match(column.printed_ratio(name, of, layout.show) or ""):
                values.append(float(printed[1]))
                if meant:
                    marks.paper_note = f", beside a stand-in that of {meant}"
                marks.paper(axes, "x", "ratio", at + PAPER_BELOW, Printed(values[-1]), color=COLOURS[5], ms=5)
        if not found:
            say_why_empty(axes, cells)
    logarithmic(grid[-1], "x", values)
    grid[-1].set_xlabel("times as much (ratio of CPU seconds)")
    ours = Line2D([], [], ls="none", marker="o", color=COLOURS[0], label="kfeat")
    shared_legend(figure, [ours, *marks.handles([EQUAL], COLOURS[5])], WIDTH)
    return figure


def _label(column: Column, quantity: str) -> str:
    """Return what a ratio is called: by its column, and its quantity where the column has several."""
    several = column.show is not None and len(column.show) > 1
    return f"{column.title}, {quantity}" if several else column.title


def _mark(at: float, choice: Choice, name: str) -> Mark | None:
    """Return the ratio over / for of a quantity, whose relative variance is the sum of both."""
    if choice.cell is None or choice.over is None:
        return None
    top, bottom = choice.over.of(name, busy=True), choice.cell.of(name, busy=True)
    if top is None or bottom is None or not bottom.mean:
        return None
    ratio, sd = top.mean / bottom.mean, None
    if top.sd is not None and bottom.sd is not None and top.mean:
        sd = abs(ratio) * sqrt((top.sd / top.mean) ** 2 + (bottom.sd / bottom.mean) ** 2)
    busy = choice.over.is_busy(name) or choice.cell.is_busy(name)
    return Mark(at, Summary(ratio, sd, min(top.n, bottom.n)), "one run of one of the two", busy)
