"""How a figure draws a number: a mean with its spread, a single run, a busy machine's time, the paper's."""

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
from kfeat.render.figures.printed import Printed
from kfeat.render.figures.style import GREY

Direction = Literal["x", "y"]  # along which the numbers lie

# What lies behind a point that was timed on a busy machine.
BUSY: dict[str, Any] = {"ls": "none", "marker": "x", "ms": 9, "mew": 0.9, "color": GREY, "zorder": 1.6}
PAPER: dict[str, Any] = {
    "ls": "none",
    "marker": "D",
    "ms": 6.5,
    "mfc": "#E4E4E4",
    "mew": 1.1,
    "lw": 1.1,
    "zorder": 1.8,
}
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
    """Draws numbers, and keeps what the legend has to say of them; `what` each of them is."""

    what: str = "mean"
    paper_note: str = ""  # beside the paper's numbers
    runs: set[int] = field(default_factory=set)
    single: set[str] = field(default_factory=set)
    printed_times: set[str] = field(default_factory=set)
    drawn: set[str] = field(default_factory=set)  # of "busy", "paper", "paper's deviation" and "stopped"

    def means(
        self, axes: Any, direction: Direction, quantity: str, points: Sequence[tuple[float, Cell]],
        **style: Any,
    ) -> None:  # fmt: skip
        """Draw the means of a quantity over the runs of cells at these places; bounds where some stopped."""
        marks = []
        for at, cell in points:
            shown = cell.shown(quantity)
            if cell.rows and shown.sign and shown.value:
                self.bound(axes, direction, at, shown.value)
            elif number := cell.of(quantity, busy=True):
                marks.append(Mark(at, number, why_single(cell, quantity), cell.is_busy(quantity)))
        self.draw(axes, direction, marks, **style)

    def draw(self, axes: Any, direction: Direction, marks: Sequence[Mark], **style: Any) -> None:
        """Draw numbers with their standard deviations.

        Single runs are hollow; where only a busy machine's times are known, a cross lies behind them.
        """
        if not marks:
            return
        spreads = [nan if mark.number.sd is None else mark.number.sd for mark in marks]
        bars = {f"{direction}err": spreads} if any(mark.number.sd is not None for mark in marks) else {}
        places = [(mark.at, mark.number.mean) for mark in marks]
        axes.errorbar(*_placed(direction, places), **bars, **style)
        alone = [place for place, mark in zip(places, marks, strict=True) if mark.number.n == 1]
        busy = [place for place, mark in zip(places, marks, strict=True) if mark.busy]
        _dots(axes, direction, alone, {**style, "ls": "none", "mfc": "white", "zorder": 2.5})
        _dots(axes, direction, busy, BUSY)
        self.runs |= {mark.number.n for mark in marks if mark.number.sd is not None}
        self.single |= {mark.single for mark in marks if mark.number.n == 1}
        self.drawn |= {"busy"} if busy else set()

    def paper(
        self, axes: Any, direction: Direction, quantity: str, at: float, number: Printed, **style: Any
    ) -> None:
        """Mark a printed number with its standard deviation, or a printed bound by an arrow's head."""
        style = {**PAPER, **style}
        if number.bound:
            _dots(axes, direction, [(at, number.value)], {**style, "marker": BOUNDS[direction]})
        else:
            bars = {f"{direction}err": [number.sd]} if number.sd else {}
            axes.errorbar(*_placed(direction, [(at, number.value)]), **bars, **style)
        self.drawn |= {"paper", "paper's deviation"} if number.sd else {"paper"}
        self.printed_times |= {quantity} & PRINTED_TIMES.keys()

    def bound(self, axes: Any, direction: Direction, at: float, seconds: float) -> None:
        """Draw the seconds after which trials were stopped: an arrow's head, towards what they would take."""
        _dots(axes, direction, [(at, seconds)], {**STOPPED, "marker": FURTHER[direction]})
        self.drawn.add("stopped")

    def handles(self, lines: Sequence[ReferenceLine] = (), colour: str = GREY) -> list[Any]:
        """Return what a legend says of the points, and of the lines across."""
        found: list[Any] = []
        if self.runs:
            low, high = min(self.runs), max(self.runs)
            runs = f"{low}" if low == high else f"{low} to {high}"
            found.append(_bar(f"{self.what} ± standard deviation, {runs} runs"))
        if self.single:
            words = f"hollow: {' or '.join(sorted(self.single, reverse=True))}"
            found.append(Line2D([], [], ls="none", marker="o", mfc="white", color=GREY, label=words))
        if "paper" in self.drawn:
            words = "paper" + " ± standard deviation" * ("paper's deviation" in self.drawn)
            if times := [one.name for name, one in PRINTED_TIMES.items() if name in self.printed_times]:
                words += f" (time{'s' * (len(times) > 1)}: {'; '.join(times)})"
            found.append(Line2D([], [], **PAPER, color=colour, label=words + self.paper_note))
        if "busy" in self.drawn:
            found.append(Line2D([], [], **BUSY, label="timed on a busy machine"))
        if "stopped" in self.drawn:
            found.append(Line2D([], [], **STOPPED, marker=">", label="stopped: it takes longer"))
        return found + [Line2D([], [], **LINE, label=line.label) for line in lines]


def why_single(cell: Cell, quantity: str) -> str:
    """Return why a number has no spread: it is of one run, or nothing in it is drawn at random."""
    drawn = cell.trial.map is not None or cell.trial.protocol.random or cell.named(quantity).timed
    return "one run" if drawn else "no random draw"


def across(axes: Any, direction: Direction, lines: Sequence[ReferenceLine], quantity: str) -> None:
    """Draw the lines that a layout has at values of a quantity."""
    for line in lines:
        if line.of == quantity:
            (axes.axhline if direction == "y" else axes.axvline)(line.at, **LINE)


def _placed(direction: Direction, points: Sequence[tuple[float, float]]) -> tuple[Any, Any]:
    """Return the coordinates x and y of points, given as a place and a number."""
    places, numbers = zip(*points, strict=True)
    return (places, numbers) if direction == "y" else (numbers, places)


def _dots(
    axes: Any, direction: Direction, points: Sequence[tuple[float, float]], style: dict[str, Any]
) -> None:
    if points:
        axes.plot(*_placed(direction, points), **style)


def _bar(label: str) -> ErrorbarContainer:
    """Return what stands in a legend for a mean with its bar."""
    dot = Line2D([], [], ls="none", marker="o", color=GREY)
    cap = Line2D([], [], ls="none", marker="_", color=GREY, ms=6)
    bar = LineCollection([[(0, 0)]], colors=[GREY])
    return ErrorbarContainer((dot, (cap,), (bar,)), has_yerr=True, label=label)
