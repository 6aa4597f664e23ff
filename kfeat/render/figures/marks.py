"""The house style of figures, and how they draw a number: a mean with its spread, a run, the paper's."""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from io import StringIO
from math import ceil, floor, log10, nan
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, TypeVar
from xml.etree import ElementTree

import numpy as np
from matplotlib import font_manager, rcParams
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, NullFormatter

from kfeat.analysis.cells import Cell
from kfeat.analysis.statistics import Summary
from kfeat.experiments.layout import ReferenceLine
from kfeat.experiments.paper import PRINTED_TIMES
from kfeat.experiments.quantities import SCORE
from kfeat.render.notes import scores
from kfeat.render.paper_table import Printed

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
# What lies behind a point that was timed on a busy machine.
BUSY: dict[str, Any] = {"ls": "none", "marker": "x", "ms": 9, "mew": 0.9, "color": GREY, "zorder": 1.6}
PAPER: dict[str, Any] = {
    "ls": "none", "marker": "D", "ms": 6.5, "mfc": "#E4E4E4", "mew": 1.1, "lw": 1.1, "zorder": 1.8,
}  # fmt: skip
BOUNDS = {"x": "<", "y": "v"}  # the marker of a printed upper bound points to where the number lies
FURTHER = {"x": ">", "y": "^"}
STOPPED: dict[str, Any] = {"ls": "none", "ms": 7, "mfc": "#E4E4E4", "color": "black"}
LINE: dict[str, Any] = {"color": GREY, "lw": 1, "ls": (0, (1, 1.5)), "zorder": 1.4}
T = TypeVar("T")
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"  # of an SVG: Matplotlib's own, then none that is wider
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


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


def save(figure: Figure, paths: Sequence[Path], dpi: float = 150) -> None:
    """Save the figure at each path, as an SVG or PNG that names neither the time nor a version."""
    for path in paths:
        if path.suffix == ".svg":
            path.write_text(as_svg(figure, dpi), encoding="utf-8")
        else:
            in_any_script(figure, partial(figure.savefig, path, dpi=dpi, metadata={"Software": None}))


def as_svg(figure: Figure, dpi: float = 150) -> str:
    """Return the figure as the text of an SVG that names neither the time nor a version."""

    def drawn() -> str:
        svg, nothing = StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(svg, format="svg", dpi=dpi, metadata=nothing)
        return svg.getvalue()

    return _slim(in_any_script(figure, drawn))


def in_any_script(figure: Figure, draw: Callable[[], T]) -> T:
    """Return what `draw` returns, again with further fonts if Matplotlib's own lacks signs of the figure.

    A sign that no font of the machine has is a box, about which nothing is said. The context of RC ends the
    use of these fonts.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawn = draw()
    signs = [re.match(r"Glyph (\d+) |Matplotlib currently does not", str(one.message)) for one in caught]
    for one, sign in zip(caught, signs, strict=True):
        if sign is None:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    families = fonts_with(frozenset(int(sign[1]) for sign in signs if sign and sign[1]))
    if not families:
        return drawn
    rcParams["font.family"] = [*rcParams["font.family"], *families]
    for text in figure.findobj(Text):
        text.set_fontfamily(rcParams["font.family"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph |Matplotlib currently does not")
        return draw()


@cache
def fonts_with(signs: frozenset[int]) -> tuple[str, ...]:
    """Return as few installed fonts as have these signs, given by their code points, if any font has them."""
    found: dict[str, frozenset[int]] = {}
    for font in font_manager.fontManager.ttflist if signs else ():
        if font.style == "normal" and not font.name.startswith("Last Resort"):  # whose signs are boxes
            has = signs.intersection(font_manager.get_font(font.fname).get_charmap())
            found[font.name] = found.get(font.name, signs) & has  # in all its weights
    families, missing = list[str](), signs
    while missing := missing & frozenset().union(*found.values()):
        families.append(max(found, key=lambda name: len(found[name] & missing)))
        missing -= found[families[-1]]
    return tuple(families)


def _slim(svg: str) -> str:
    """Return Matplotlib's SVG at less than half its size, with the same picture in other fonts too.

    A style stands in the file once, as a class; places have two digits; groups without a meaning go.
    """
    root, referred = ElementTree.fromstring(svg), set(re.findall(r"#(\w+)", svg))
    classes: dict[str, str] = {}
    for element in reversed(list(root.iter())):  # children before their parents
        attributes = element.attrib
        if attributes.get("id") not in referred:
            attributes.pop("id", None)
        if attributes.get("transform", "").startswith("rotate(-0 "):
            del attributes["transform"]
        if "style" in attributes:
            style = re.sub("; font-family: 'DejaVu Sans'[^;]*", "", attributes.pop("style"))
            attributes["class"] = classes.setdefault(style, f"c{len(classes)}")
        for name, value in attributes.items():
            attributes[name] = " ".join(re.sub(r"\d+\.\d{3,}", _two_digits, value).split())
        if element.tag == f"{{{SVG}}}text":
            element[:] = _words(element)
        else:
            element[:] = [part for child in element for part in (child if _is_bare(child) else [child])]
    rules = [f"text{{font-family: {FONTS}}}", *(f".{name}{{{style}}}" for style, name in classes.items())]
    sheet = next(root.iter(f"{{{SVG}}}style"))
    sheet.text = "\n".join([sheet.text or "", *rules, ""])
    ElementTree.indent(root, "")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _is_bare(element: ElementTree.Element) -> bool:
    return not element.attrib and element.tag == f"{{{SVG}}}g"


def _two_digits(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _words(signs: Iterable[ElementTree.Element]) -> list[ElementTree.Element]:
    """Return the signs of a formula from left to right, and those of a word as one, for narrower fonts."""
    words: list[ElementTree.Element] = []
    for sign in sorted(signs, key=lambda sign: float(sign.attrib["x"])):
        last = words[-1] if words else sign
        word = f"{last.text}{sign.text}"
        alike = all(sign.get(name) == last.get(name) for name in ("class", "y"))
        if last is not sign and alike and re.fullmatch(r"\w+[.,:;]?", word):
            last.text = word
        else:
            words.append(sign)
    return words


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
