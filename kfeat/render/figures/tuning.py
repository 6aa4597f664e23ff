"""The figure of a search: score against seconds, of all that was scored on the most rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kfeat.own.search import Scored, SearchResult
from kfeat.render.figures.marks import COLOURS, MARKERS, RC, logarithmic, save, shared_legend, wrapped
from kfeat.text import plain

WIDTH, HEIGHT = 6.4, 3.9


def draw_search(found: SearchResult, title: str, paths: Sequence[Path]) -> None:
    """Draw score against seconds, a mark per candidate by kernel and map; save it by each suffix."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        factor = 1.0 if found.facts.task == "regression" else 100.0
        handles = _marks(axes, found, factor)
        logarithmic(axes, "x", [one.seconds for one in _shown(found)])
        axes.set_xlabel(f"seconds of cross-validation on {found.best.n:,} training rows, one value of C")
        axes.set_ylabel("cross-validated R²" if factor == 1.0 else "cross-validated accuracy (%)")
        figure.suptitle(wrapped(plain(title), WIDTH - 0.1, 1.05))
        shared_legend(figure, handles, WIDTH)
        save(figure, paths)


def _marks(axes: Any, found: SearchResult, factor: float) -> list[Any]:
    """Draw the candidates, with rings around the best and the quickest; return what the legend names."""
    good = _shown(found)
    methods = list(dict.fromkeys(one.candidate.name for one in good))
    styles = {name: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(methods)}
    for one in good:
        colour, marker = styles[one.candidate.name]
        axes.plot([one.seconds], [factor * one.score], color=colour, marker=marker, alpha=0.7)
    handles = [
        Line2D([], [], linestyle="", color=c, marker=m, label=name.replace("_", " "))
        for name, (c, m) in styles.items()
    ]
    quick = found.quickest or found.best
    for one, size, label in ((found.best, 9, "the most accurate"), (quick, 13, "the quickest to predict")):
        ring: dict[str, Any] = {
            "marker": "o",
            "color": "black",
            "markersize": size,
            "fillstyle": "none",
            "linestyle": "",
        }
        axes.plot([one.seconds], [factor * one.score], zorder=4, **ring)
        handles.append(Line2D([], [], label=label, **ring))
    return handles


def _shown(found: SearchResult) -> list[Scored]:
    return [one for one in found.scored if not one.reason and one.n == found.best.n]
