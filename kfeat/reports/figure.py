"""The figure of an experiment, in one house style: readable in grey and by the colour-blind.

`methods`: a line per method with accuracy beside the paper's, and seconds by phase. `curves`: accuracy and
training time against the number of random features, with the exact machine as a line.
"""

from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from kfeat.experiments.config import Experiment
from kfeat.reports.cells import PHASES, Cell, setting
from kfeat.reports.labels import method

# Okabe and Ito's colours in an order whose lightness differs, so that grey prints keep them apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
MARKERS = "os^Dv<>"
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "kfeat",
}


def draw(experiment: Experiment, cells: Sequence[Cell], paths: Sequence[Path]) -> None:
    """Draw the cells that have rows, and save the figure at each path by its suffix."""
    there = [cell for cell in cells if cell.rows]
    sizes = {cell.trial.map.parameters.get("n_components") for cell in there if cell.trial.map}
    kind = experiment.figure or ("curves" if len(sizes) > 1 and None not in sizes else "methods")
    with matplotlib.rc_context(_STYLE):
        figure = _curves(there) if kind == "curves" else _methods(there)
        figure.suptitle(experiment.title)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            figure.savefig(path, dpi=150, metadata=metadata)


def _methods(cells: Sequence[Cell]) -> Figure:
    """One line per method: score with its spread on the left, seconds by phase on the right."""
    timed = any(cell.seconds("train") for cell in cells)
    figure = Figure(figsize=(9 if timed else 6, 1.7 + 0.42 * len(cells)), layout="constrained")
    left, *right = figure.subplots(1, 1 + timed, sharey=True, squeeze=False)[0]
    _scores(left, cells)
    labels = [method(cell, [c for c in cells if setting(c) == setting(cell)]) for cell in cells]
    if len({setting(cell) for cell in cells}) > 1:
        labels = [_where(cell) + label for cell, label in zip(cells, labels, strict=True)]
    left.set_yticks(range(len(cells)), labels)
    left.set_ylim(len(cells) - 0.4, -0.6)
    for axes in right:
        _seconds(axes, cells)
    for axes in (left, *right):
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return figure


def _scores(axes: Any, cells: Sequence[Cell]) -> None:
    lines = list(enumerate(cells))
    ours = [(line, cell.score) for line, cell in lines if cell.score]
    printed = [(line, cell.reported) for line, cell in lines if cell.reported]
    spread = {"linestyle": "none", "capsize": 3}
    axes.errorbar(
        [score.mean for _, score in ours],
        [line for line, _ in ours],
        xerr=[score.sd or 0 for _, score in ours],
        marker="o", color=COLOURS[0], label="kfeat, mean ± sd", **spread,
    )  # fmt: skip
    if printed:
        axes.errorbar(
            [number.mean for _, number in printed],
            [line + 0.22 for line, _ in printed],
            xerr=[number.sd or 0 for _, number in printed],
            marker="D", mfc="white", color=COLOURS[5], label="paper", **spread,
        )  # fmt: skip
    axes.set_xlabel(cells[0].metric.title)


def _seconds(axes: Any, cells: Sequence[Cell]) -> None:
    """Draw the phases as points: on a logarithmic scale the length of a bar would mean nothing."""
    shown = []
    for phase, colour, marker in zip(PHASES, (COLOURS[2], COLOURS[1], COLOURS[3]), "os^", strict=True):
        points = [(cell.seconds(phase), line) for line, cell in enumerate(cells)]
        drawn = [(seconds, line) for seconds, line in points if seconds]
        axes.plot(*zip(*drawn, strict=True), linestyle="none", marker=marker, color=colour, label=phase)
        shown += [seconds for seconds, _ in drawn]
    axes.set_xlabel("CPU seconds")
    axes.set_xscale("log")
    axes.set_xlim(_decades(shown))
    axes.xaxis.set_major_formatter("{x:g}")


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Return the powers of ten around the values, so that a logarithmic axis has labelled ends."""
    return 10.0 ** floor(log10(min(values) / 1.1)), 10.0 ** ceil(log10(max(values) * 1.1))


def _where(cell: Cell) -> str:
    return f"{cell.trial.describe()['dataset']}, {cell.trial.kernel.build().formula}: "


def _curves(cells: Sequence[Cell]) -> Figure:
    """One row of axes per setting: score and training time against the number of random features D."""
    settings = list(dict.fromkeys(setting(cell) for cell in cells))
    figure = Figure(figsize=(9, 0.7 + 3 * len(settings)), layout="constrained")
    grid = figure.subplots(len(settings), 2, squeeze=False)
    for (left, right), here in zip(grid, settings, strict=True):
        members = [cell for cell in cells if setting(cell) == here]
        _curve_pair(left, right, members)
        left.set_title(_where(members[0]).removesuffix(": "), loc="left", fontsize=9)
    return figure


def _curve_pair(left: Any, right: Any, cells: Sequence[Cell]) -> None:
    names = [method(cell, cells, hidden="n_components") for cell in cells]
    for i, name in enumerate(dict.fromkeys(n for n, c in zip(names, cells, strict=True) if c.trial.map)):
        points = {
            cell.trial.map.parameters["n_components"]: cell
            for other, cell in zip(names, cells, strict=True)
            if other == name and cell.trial.map
        }
        style = {"color": COLOURS[i % 7], "marker": MARKERS[i % 7], "ms": 4, "capsize": 3, "label": name}
        scores = [(D, c.score) for D, c in sorted(points.items()) if c.score]
        left.errorbar([D for D, _ in scores], [s.mean for _, s in scores],
                      yerr=[s.sd or 0 for _, s in scores], **style)  # fmt: skip
        times = [(D, c.fit_seconds()) for D, c in sorted(points.items()) if c.fit_seconds()]
        right.errorbar([D for D, _ in times], [t for _, t in times], **style)
    for cell in (cell for cell in cells if cell.trial.map is None and cell.score):
        assert cell.score is not None
        left.axhline(cell.score.mean, color="black", ls="--", lw=1, label=method(cell, cells))
        if seconds := cell.fit_seconds():
            right.axhline(seconds, color="black", ls="--", lw=1)
    left.set(xlabel="number of random features D", ylabel=cells[0].metric.title)
    right.set(xlabel="number of random features D", ylabel="map + train, CPU seconds", yscale="log")
    left.legend(frameon=False, fontsize=8)
    if shown := [seconds for cell in cells if (seconds := cell.fit_seconds())]:
        right.set_ylim(_decades(shown))
        right.yaxis.set_major_formatter("{x:g}")
