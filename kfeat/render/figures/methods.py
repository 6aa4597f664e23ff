"""The figure of methods: for each setting a line per method, its score beside the paper's and its seconds."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from kfeat.analysis.cells import PHASES, Cell, by_setting
from kfeat.analysis.names import method, places
from kfeat.experiments.quantities import SCORE
from kfeat.render.figures.style import BUSY, COLOURS, logarithmic, say_why_empty, shared_legend, wrapped


def methods(cells: Sequence[Cell]) -> Figure:
    """Return one line per method: score with its spread on the left, seconds by phase on the right."""
    settings = by_setting(cells)
    seconds = [value for cell in cells for phase in PHASES if (value := cell.mean(phase, busy=True))]
    width, columns = (9, 2) if seconds else (6, 1)
    names = {id(cell): wrapped(method(cell, peers), 4) for peers in settings for cell in peers}
    lines = max((name.count("\n") + 1 for name in names.values()), default=1)
    height = 1.3 + 0.42 * len(settings) + 0.15 * max(2, lines) * len(cells)
    figure = Figure(figsize=(width, height), layout="constrained")
    if not cells:
        return figure
    heights = [len(peers) + 0.5 for peers in settings]
    grid = figure.subplots(
        len(settings), columns, sharex="col", sharey="row", squeeze=False, height_ratios=heights
    )
    titles = dict(zip(map(id, cells), places(cells, ("dataset", "kernel")), strict=True))
    handles: dict[str, Any] = {}
    for axes, peers in zip(grid, settings, strict=True):
        handles |= _scores(axes[0], peers)
        axes[0].set_yticks(range(len(peers)), [names[id(cell)] for cell in peers])
        axes[0].set_ylim(len(peers) - 0.4, -0.6)
        axes[0].set_title(wrapped(titles[id(peers[0])], width - 1))
        for right in axes[1:]:
            handles |= _seconds(right, peers)
    grid[-1][0].set_xlabel(cells[0].named(SCORE).heading)
    if seconds:
        logarithmic(grid[-1][1], "x", seconds)
        grid[-1][1].set_xlabel("CPU seconds")
    if crosses := handles.pop("~", None):
        handles["~"] = crosses  # behind the phases that it marks
    shared_legend(figure, list(handles.values()), width)
    return figure


def _scores(axes: Any, cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw our scores and the paper's, and return what stands for them in a legend."""
    lines = list(enumerate(cells))
    ours = [(line, cell.score) for line, cell in lines if cell.score]
    printed = [(line, cell.reported) for line, cell in lines if cell.reported]
    handles = {}
    handles["ours"] = axes.errorbar(
        [score.mean for _, score in ours],
        [line for line, _ in ours],
        xerr=[score.sd or 0 for _, score in ours],
        marker="o", color=COLOURS[0], label="kfeat, mean ± sd", linestyle="none",
    )  # fmt: skip
    if not ours:
        say_why_empty(axes, cells)
    if printed:
        handles["paper"] = axes.errorbar(
            [number.mean for _, number in printed],
            [line + 0.22 for line, _ in printed],
            xerr=[number.sd or 0 for _, number in printed],
            marker="D", mfc="white", color=COLOURS[5], label="paper", linestyle="none",
        )  # fmt: skip
    return handles


def _seconds(axes: Any, cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw the phases as points: on a logarithmic scale the length of a bar would mean nothing."""
    handles: dict[str, Any] = {}
    for phase, colour, marker in zip(PHASES, (COLOURS[2], COLOURS[1], COLOURS[3]), "os^", strict=True):
        points = [(cell.mean(phase, busy=True), line) for line, cell in enumerate(cells)]
        drawn = [(seconds, line) for seconds, line in points if seconds]
        busy = [(seconds, line) for seconds, line in drawn if cells[line].is_busy(phase)]
        if drawn:
            style = {"linestyle": "none", "marker": marker, "color": colour, "label": phase}
            (handles[phase],) = axes.plot(*zip(*drawn, strict=True), **style)
        if busy:
            (handles["~"],) = axes.plot(*zip(*busy, strict=True), **BUSY)
    if not handles:
        say_why_empty(axes, cells)
    return handles
