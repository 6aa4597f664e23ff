"""The figure of the front page: what maps gain in time beside the exact kernel SVM, and lose in accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from statistics import median

from kfeat.analysis.cells import Cell, by_setting, exact_of
from kfeat.analysis.names import cell_names
from kfeat.analysis.standing import Standing
from kfeat.experiments.quantities import SCORE
from kfeat.render import text
from kfeat.render.ratios import ratio

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 48, 26, 24, 40  # the margins around the field of the figure
LEAST, MOST = -20.0, 5.0  # points of accuracy; what lies beyond stands at the edge
NEAR = 1.0  # points of accuracy that count as no loss


@dataclass(frozen=True)
class Dot:
    """A cell of the figure: where it stands, in pixels, whether it loses no accuracy, and what it is."""

    x: float
    y: float
    near: bool
    name: str


@dataclass(frozen=True)
class Figure:
    """The dots, the ticks of both axes as (pixel, label), and the figure in a sentence."""

    dots: Sequence[Dot]
    across: Sequence[tuple[float, str]]
    upward: Sequence[tuple[float, str]]
    said: str


def speed_ups(standings: Sequence[Standing]) -> Figure | None:
    """Return the figure over all cells of maps beside a timed exact kernel SVM; None where there is none.

    A cell that several configs have stands there once.
    """
    found: dict[str, tuple[float, float, str]] = {}
    for one in standings:
        names = cell_names(one.cells)
        for peers in by_setting(one.cells):
            exact = exact_of(peers[0], peers)
            for cell in peers:
                point = _point(cell, exact)
                if point:
                    said = f"{names[id(cell)]}: {text.factor(point[0])} as quick, {point[1]:+.2f} points"
                    found.setdefault(cell.trial.cell, (*point, said))
    return _figure(list(found.values())) if found else None


def _point(cell: Cell, exact: Cell | None) -> tuple[float, float] | None:
    """Return how many times as quick a map's cell is, and its accuracy less the exact one's."""
    if cell.trial.map is None or exact is None or not (cell.score and exact.score):
        return None
    number = ratio(exact, cell, "fit").number
    if cell.named(SCORE).name != "accuracy" or not number.value or number.sign or number.busy:
        return None
    return number.value, cell.score.mean - exact.score.mean


def _figure(points: Sequence[tuple[float, float, str]]) -> Figure:
    low = floor(min(log10(x) for x, _, _ in points))
    high = max(low + 1, ceil(max(log10(x) for x, _, _ in points)))

    def across(x: float) -> float:
        return round(LEFT + (log10(x) - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    def upward(y: float) -> float:
        share = (min(MOST, max(LEAST, y)) - LEAST) / (MOST - LEAST)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    dots = [Dot(across(x), upward(y), y >= -NEAR, name) for x, y, name in points]
    ticks = [(across(10.0**power), f"{10.0**power:g}×") for power in range(low, high + 1)]
    levels = (LEAST, -15.0, -10.0, -5.0, 0.0, MOST)
    heights = [(upward(y), f"{'≤ ' if y == LEAST else ''}{y:+g}" if y else "0") for y in levels]
    near = [x for x, y, _ in points if y >= -NEAR]
    said = f"{len(points)} methods beside exact LIBSVM on the same data: {_count(points)} are quicker"
    if near:
        said += (
            f". Of the {len(near)} within {NEAR:g} point of its accuracy or above, half are more than "
            f"{text.factor(median(near))} as quick, and the quickest {text.factor(max(near))}"
        )
    return Figure(dots, ticks, heights, f"{said}.")


def _count(points: Sequence[tuple[float, float, str]]) -> int:
    return sum(x > 1 for x, _, _ in points)
