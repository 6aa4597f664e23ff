"""The house style of the figures: readable in grey and by the colour-blind."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter

from kfeat.reports.cells import Cell

# Okabe and Ito's colours in an order whose lightness differs, so that grey prints keep them apart; black is
# the exact machine's.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = "os^Dv<>"
DASHES = ("-", "--", ":", "-.")
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


def logarithmic(axes: Any, direction: Literal["x", "y"], values: Sequence[float]) -> None:
    """Make an axis logarithmic between two round numbers, so that its ends are labelled.

    Round are the powers of ten; where these are few, twice and five times as much too.
    """
    low, high = min(values) / 1.1, max(values) * 1.1
    decades = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)  # one more: 1 - 1e-16 has the logarithm 0
    for factors in ((1, 2, 5), (1,)):
        round_numbers = [factor * 10.0**k for k in decades for factor in factors]
        start, end = max(x for x in round_numbers if x <= low), min(x for x in round_numbers if x >= high)
        ticks = [x for x in round_numbers if start <= x <= end]
        if len(ticks) <= 7:  # what half a figure has room for
            break
    axes.set(**{f"{direction}scale": "log", f"{direction}lim": (start, end)})
    axis = getattr(axes, f"{direction}axis")
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def say_why_empty(axes: Any, cells: Sequence[Cell]) -> None:
    """Write into a panel without a point why there is none: no rows, or none whose times count."""
    reason = "not timed yet" if any(cell.rows for cell in cells) else "no rows yet"
    axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", va="center")


def shared_legend(figure: Figure, handles: Sequence[Any], inches: float) -> None:
    """Put one legend for all axes below them, in as many columns as a figure of this width has room for."""
    if handles:
        longest = max(len(str(handle.get_label())) for handle in handles)
        columns = max(1, min(len(handles), int(inches / (0.075 * longest + 0.6))))
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
