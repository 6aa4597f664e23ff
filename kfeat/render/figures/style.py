"""The house style of figures: colours and markers, axes, titles and the legend."""

from collections.abc import Sequence
from math import ceil, floor, log10
from textwrap import wrap
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter

from kfeat.analysis.cells import Cell
from kfeat.experiments.quantities import SCORE
from kfeat.render.notes import scores

# Okabe and Ito's colours in an order whose lightness differs, so that grey prints keep them apart; black is
# the exact kernel SVM's.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = "os^vP<>X*p"  # the diamond is the paper's
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.")
MORE_DASHES: tuple[Any, ...] = ((0, (6, 1, 1, 1, 1, 1)), (0, (8, 3)))  # where there are many lines
GREY = "#6E6E6E"  # of what is not data of a method
MOST_TICKS = {"x": 7, "y": 10}  # what half a figure has room for
ROOM = 4  # lines of a legend for which a figure has room
RC: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.markersize": 4.5,
    "errorbar.capsize": 3,
    "legend.frameon": False,
    "text.parse_math": False,  # a label may hold any text, dollars too
    "svg.fonttype": "none",
    "svg.hashsalt": "kfeat",
}


def wrapped(text: str, inches: float, size: float = 1.0) -> str:
    """Return a title or a label in lines that fit into so many inches; `size` is relative to the font's.

    No line ends at a space that does not break.
    """
    lines = wrap(text, max(10, int(inches / (0.075 * size))))
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def logarithmic(axes: Any, direction: Literal["x", "y"], values: Sequence[float]) -> None:
    """Make an axis logarithmic between two round numbers, so that its ends are labelled.

    Round are the powers of ten; where these are few, twice and five times as much too.
    """
    ends = [min(max(value, 1e-300), 1e300) for value in (min(values), max(values))]
    low, high = ends[0] / 1.1, ends[1] * 1.1
    decades = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)  # one more: 1 - 1e-16 has the logarithm 0
    for factors in ((1, 2, 5), (1,)):
        round_numbers = [factor * 10.0**k for k in decades for factor in factors]
        start, end = max(x for x in round_numbers if x <= low), min(x for x in round_numbers if x >= high)
        ticks = [x for x in round_numbers if start <= x <= end]
        if len(ticks) <= MOST_TICKS[direction]:
            break
    step = ceil(len(ticks) / MOST_TICKS[direction])
    missing = -(len(ticks) - 1) % step  # so that every so manieth label ends at both ends
    ticks = [*(start * 10.0**-k for k in range(missing, 0, -1)), *ticks][::step]
    _scale(axes, direction, (ticks[0], end), ticks)


def logarithmic_at(axes: Any, places: Sequence[float]) -> None:
    """Make the x axis logarithmic around places, with labels at round numbers and at the ends, if apart."""
    first, last = min(places), max(places)
    margin = 1.1 * (last / first) ** 0.02
    decades = range(floor(log10(first)), ceil(log10(last)) + 1)
    for factors in ((1, 2, 5), (1,)):
        ticks = [x for k in decades for factor in factors if first <= (x := factor * 10.0**k) <= last]
        if len(ticks) <= MOST_TICKS["x"]:
            break
    for end in (first, last):
        short = float(f"{end:.4g}") == end  # which measured seconds are not
        if short and all(max(end / x, x / end) > (last / first) ** 0.2 for x in ticks):
            ticks.append(end)
    _scale(axes, "x", (first / margin, last * margin), sorted(ticks))


def _scale(
    axes: Any, direction: Literal["x", "y"], limits: tuple[float, float], ticks: Sequence[float]
) -> None:
    axes.set(**{f"{direction}scale": "log", f"{direction}lim": limits})
    axis = getattr(axes, f"{direction}axis")
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def say_why_empty(axes: Any, cells: Sequence[Cell], quantity: str = "fit") -> None:
    """Write into a panel without a point why there is none: no rows, or none with this number."""
    if any(cell.rows for cell in cells):
        reason = "not timed" if cells[0].named(quantity).timed else "none of these data"
    else:
        reason = "stopped at the time limit" if any(cell.stopped for cell in cells) else "no rows yet"
    axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", va="center")


def shared_legend(figure: Figure, handles: Sequence[Any], inches: float) -> None:
    """Put one legend for all axes below them, in as many columns as a figure of this width has room for.

    From so many lines on, the figure grows by them, so that the axes keep their size.
    """
    if not handles:
        return
    for handle in handles:
        handle.set_label(wrapped(str(handle.get_label()), inches - 0.6))
    texts = [str(handle.get_label()).split("\n") for handle in handles]
    for count in range(len(handles), 0, -1):
        parts = np.array_split(np.arange(len(texts)), count)  # as matplotlib fills columns
        columns = [[line for i in part for line in texts[i]] for part in parts]
        if sum(0.075 * max(map(len, lines)) + 0.6 for lines in columns) <= inches:
            break
    lines = max(map(len, columns))
    figure.set_figheight(figure.get_figheight() + 0.2 * max(0, lines - ROOM))
    figure.legend(handles=handles, loc="outside lower center", ncols=count)


def by_score(names: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    """Return the quantities, with the cells' scores by name in place of `score` where they have several.

    Accuracies and relative errors have no axis in common.
    """
    own = [quantity.name for quantity in scores(cells)]
    if len(own) > 1:
        names = [new for name in names for new in (own if name == SCORE else [name])]
    return list(dict.fromkeys(names))


def heading(quantity: str, cells: Sequence[Cell]) -> str:
    """Return the title of an axis: the quantity with its unit, and over how many rows a measure took it."""
    first = next((cell for cell in cells if cell.rows), cells[0])
    title = first.named(quantity).heading
    if first.trial.measure is None or not first.named(quantity).score:
        return title
    given = {cell.trial.measure.parameters.get("n_rows") for cell in cells if cell.trial.measure}
    rows = {min(n, row["n_train"]) for n in given if n for cell in cells for row in cell.rows} or given
    known = len(rows) == 1 and rows != {None}
    return f"{title}, on\N{NO-BREAK SPACE}{rows.pop():,}\N{NO-BREAK SPACE}rows" if known else title
