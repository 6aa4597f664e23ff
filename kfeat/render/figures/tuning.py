"""The figure of a search: what each candidate scored on each rung of training rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kfeat.render.figures.palette import COLOURS, MARKERS
from kfeat.render.figures.style import GREY, RC, logarithmic_at, shared_legend, wrapped
from kfeat.saying import plain
from kfeat.tuning.search import Found, Scored

WIDTH, HEIGHT = 6.4, 3.9


def draw_search(found: Found, title: str, paths: Sequence[Path]) -> None:
    """Draw score against training rows, a line per candidate by kernel and map; save it by each suffix."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        factor = 1.0 if found.facts.task == "regression" else 100.0
        handles = _lines(axes, found, factor)
        sizes = sorted({one.n for one in found.scored})
        if len(sizes) > 1:
            logarithmic_at(axes, sizes)
        else:
            axes.set_xticks(sizes)
        axes.set_xlabel("training rows")
        axes.set_ylabel("cross-validated R²" if factor == 1.0 else "cross-validated accuracy (%)")
        figure.suptitle(wrapped(plain(title), WIDTH - 0.1, 1.05))
        shared_legend(figure, handles, WIDTH)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            figure.savefig(path, dpi=150, metadata=metadata)


def _lines(axes: Any, found: Found, factor: float) -> list[Any]:
    """Draw the candidates and the exact machine; return what the legend names."""
    good = [one for one in found.scored if not one.reason]
    methods = list(dict.fromkeys(_method(one) for one in good))
    styles = {name: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(methods)}
    for key in dict.fromkeys(one.candidate.key for one in good):
        line = sorted((one for one in good if one.candidate.key == key), key=lambda one: one.n)
        colour, marker = styles[_method(line[0])]
        first = key == found.best.candidate.key
        axes.plot(
            [one.n for one in line], [factor * one.score for one in line], color=colour, marker=marker,
            linewidth=2 if first else 0.8, alpha=1 if first else 0.55, zorder=3 if first else 2,
        )  # fmt: skip
    handles = [Line2D([], [], color=c, marker=m, label=name) for name, (c, m) in styles.items()]
    best = found.best
    axes.plot([best.n], [factor * best.score], "o", color="black", markersize=9, fillstyle="none", zorder=4)
    handles.append(
        Line2D([], [], linestyle="", marker="o", color="black", fillstyle="none", label="the best")
    )
    if found.exact is not None:
        axes.axhline(factor * found.exact.score, color=GREY, linestyle="--")
        label = f"exact, {found.exact.n:,} rows"
        handles.append(Line2D([], [], color=GREY, linestyle="--", label=label))
    return handles


def _method(one: Scored) -> str:
    feature_map = "exact" if one.candidate.map is None else one.candidate.map["name"]
    return f"{one.candidate.kernel['name']}, {feature_map}".replace("_", " ")
