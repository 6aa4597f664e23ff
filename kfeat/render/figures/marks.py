"""How figures draw a number: a mean with its spread, a run, the number of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, Literal

from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D

from kfeat.analysis.cells import Cell
from kfeat.analysis.statistics import Summary
from kfeat.experiments.layout import ReferenceLine
from kfeat.experiments.paper import PRINTED_TIMES
from kfeat.render.figures.style import GREY
from kfeat.render.paper_table import Printed

# What lies behind a point that was timed on a busy machine.
BUSY: dict[str, Any] = {"ls": "none", "marker": "x", "ms": 9, "mew": 0.9, "color": GREY, "zorder": 1.6}
PAPER: dict[str, Any] = {
    "ls": "none", "marker": "D", "ms": 6.5, "mfc": "#E4E4E4", "mew": 1.1, "lw": 1.1, "zorder": 1.8,
}  # fmt: skip
BOUNDS = {"x": "<", "y": "v"}  # the marker of a printed upper bound points to where the number lies
FURTHER = {"x": ">", "y": "^"}
STOPPED: dict[str, Any] = {"ls": "none", "ms": 7, "mfc": "#E4E4E4", "color": "black"}
LINE: dict[str, Any] = {"color": GREY, "lw": 1, "ls": (0, (1, 1.5)), "zorder": 1.4}


@dataclass(frozen=True)
class Mark:
    """A number at its place; `single` says why one without a spread has none."""

    at: float
    number: Summary
    single: str
    busy: bool


@dataclass
class Marks:
    """Draws numbers along x or y, and keeps what the legend has to say of them; `what` each of them is."""

    direction: Literal["x", "y"]
    what: str = "mean"
    paper_note: str = ""  # beside the paper's numbers
    runs: set[int] = field(default_factory=set)
    single: set[str] = field(default_factory=set)
    printed_times: set[str] = field(default_factory=set)
    drawn: set[str] = field(default_factory=set)  # of "busy", "paper", "paper's deviation" and "stopped"

    def means(self, axes: Any, quantity: str, points: Sequence[tuple[float, Cell]], **style: Any) -> None:
        """Draw the means of a quantity over the runs of cells at these places; bounds where some stopped."""
        marks = []
        for at, cell in points:
            shown = cell.shown(quantity)
            if cell.rows and shown.sign and shown.value:
                self.bound(axes, at, shown.value)
            elif number := cell.of(quantity, busy=True):
                marks.append(Mark(at, number, why_single(cell, quantity), cell.is_busy(quantity)))
        self.draw(axes, marks, **style)

    def draw(self, axes: Any, marks: Sequence[Mark], **style: Any) -> None:
        """Draw numbers with their standard deviations.

        Single runs are hollow; where only a busy machine's times are known, a cross lies behind them.
        """
        if not marks:
            return
        spreads = [nan if mark.number.sd is None else mark.number.sd for mark in marks]
        with_bars = any(mark.number.sd is not None for mark in marks)
        self._bars(axes, [(mark.at, mark.number.mean) for mark in marks], spreads if with_bars else [], style)
        single = [(mark.at, mark.number.mean) for mark in marks if mark.number.n == 1]
        busy = [(mark.at, mark.number.mean) for mark in marks if mark.busy]
        self._dots(axes, single, {**style, "ls": "none", "mfc": "white", "zorder": 2.5})
        self._dots(axes, busy, BUSY)
        self.runs |= {mark.number.n for mark in marks if mark.number.sd is not None}
        self.single |= {mark.single for mark in marks if mark.number.n == 1}
        self.drawn |= {"busy"} if busy else set()

    def paper(self, axes: Any, quantity: str, at: float, number: Printed, **style: Any) -> None:
        """Mark a printed number with its standard deviation, or a printed bound by an arrow's head."""
        place, style = [(at, number.value)], {**PAPER, **style}
        if number.bound:
            self._dots(axes, place, {**style, "marker": BOUNDS[self.direction]})
        else:
            self._bars(axes, place, [number.sd] if number.sd else [], style)
        self.drawn |= {"paper", "paper's deviation"} if number.sd else {"paper"}
        self.printed_times |= {quantity} & PRINTED_TIMES.keys()

    def bound(self, axes: Any, at: float, seconds: float) -> None:
        """Draw the seconds after which trials were stopped: an arrow's head, towards what they would take."""
        self._dots(axes, [(at, seconds)], {**STOPPED, "marker": FURTHER[self.direction]})
        self.drawn.add("stopped")

    def across(self, axes: Any, lines: Sequence[ReferenceLine], quantity: str) -> None:
        """Draw the lines that a layout has at values of a quantity."""
        for line in lines:
            if line.of == quantity:
                (axes.axhline if self.direction == "y" else axes.axvline)(line.at, **LINE)

    def _bars(
        self,
        axes: Any,
        points: Sequence[tuple[float, float]],
        spreads: Sequence[float],
        style: dict[str, Any],
    ) -> None:
        bars = {f"{self.direction}err": spreads} if spreads else {}
        axes.errorbar(*self._placed(points), **bars, **style)

    def _dots(self, axes: Any, points: Sequence[tuple[float, float]], style: dict[str, Any]) -> None:
        if points:
            axes.plot(*self._placed(points), **style)

    def _placed(self, points: Sequence[tuple[float, float]]) -> tuple[Any, Any]:
        """Return the coordinates x and y of points, which are places and numbers."""
        places, numbers = zip(*points, strict=True)
        return (places, numbers) if self.direction == "y" else (numbers, places)

    def handles(self, lines: Sequence[ReferenceLine] = (), colour: str = GREY) -> list[Any]:
        """Return what a legend says of the points, and of the lines across."""
        handles: list[Any] = []
        if self.runs:
            low, high = min(self.runs), max(self.runs)
            runs = f"{low}" if low == high else f"{low} to {high}"
            handles.append(_bar(f"{self.what} ± standard deviation, {runs} runs"))
        if self.single:
            words = f"hollow: {' or '.join(sorted(self.single, reverse=True))}"
            handles.append(Line2D([], [], ls="none", marker="o", mfc="white", color=GREY, label=words))
        if "paper" in self.drawn:
            words = "paper" + " ± standard deviation" * ("paper's deviation" in self.drawn)
            if times := [time.name for name, time in PRINTED_TIMES.items() if name in self.printed_times]:
                words += f" (time{'s' * (len(times) > 1)}: {'; '.join(times)})"
            handles.append(Line2D([], [], **PAPER, color=colour, label=words + self.paper_note))
        if "busy" in self.drawn:
            handles.append(Line2D([], [], **BUSY, label="timed on a busy machine"))
        if "stopped" in self.drawn:
            handles.append(Line2D([], [], **STOPPED, marker=">", label="stopped: it takes longer"))
        return handles + [Line2D([], [], **LINE, label=line.label) for line in lines]


def why_single(cell: Cell, quantity: str) -> str:
    """Return why a number has no spread: it is of one run, or nothing in it is drawn at random."""
    return "one run" if cell.drawn or cell.named(quantity).timed else "no random draw"


def _bar(label: str) -> ErrorbarContainer:
    """Return what stands in a legend for a mean with its bar."""
    dot = Line2D([], [], ls="none", marker="o", color=GREY)
    cap = Line2D([], [], ls="none", marker="_", color=GREY, ms=6)
    bar = LineCollection([[(0, 0)]], colors=[GREY])
    return ErrorbarContainer((dot, (cap,), (bar,)), has_yerr=True, label=label)
