"""How tables print numbers, and ratios of two cells' numbers with their intervals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kfeat.analysis.cells import Cell, Shown
from kfeat.analysis.certainty import error_of
from kfeat.analysis.statistics import Interval, ratio_interval
from kfeat.experiments.quantities import Quantity
from kfeat.text import in_yaml

MISSING = "–"
BUSY = "~"  # before a time of a busy machine, and what is made from it
UNCONVERGED = "†"  # after what depends on a solver that did not converge
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def shown(number: Shown, form: Callable[[float | None], str]) -> str:
    """Return a number in this form with what a reader must know: `> 60.0`, `~8.1 secs`, `< ~12×`, `4.2×†`."""
    if number.value is None:
        return MISSING
    return f"{number.sign}{BUSY * number.busy}{form(number.value)}{UNCONVERGED * number.unconverged}"


def marked(number: Shown, form: Callable[[float | None], str]) -> str:
    """Return a number in this form, followed by how many runs it rests on where they are few: `6.7 mins¹`."""
    found = shown(number, form)
    return found if number.runs is None else found + str(number.runs).translate(RAISED)


def value_text(value: Any) -> str:
    """Return a value of a row: truth values as yes and no, lists and mappings as a config has them."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return in_yaml(value)
    return str(value)


def seconds(value: float | None, sd: float | None = None) -> str:
    """Return seconds and their deviation without their unit, as a column that names it has them."""
    if value is None:
        return MISSING
    decimals = 3 if value < 1 else 1
    return f"{value:.{decimals}f}" + ("" if sd is None else f" ± {sd:.{decimals}f}")


def time(value: float | None) -> str:
    """Return seconds as Pham & Pagh print times: `8.1 secs`, `6.7 mins`, `1.5 hours`."""
    if value is None:
        return MISSING
    if value < 0.995:
        return f"{value:.2g} secs"
    for size, unit in ((1, "secs"), (60, "mins")):
        if value / size < 59.95:
            return f"{value / size:.1f} {unit}"
    return f"{value / 3600:.1f} hours"


def factor(value: float | None) -> str:
    """Return a ratio to three digits, such as `49.2×` and `1612×`."""
    if value is None:
        return MISSING
    return f"{value:.0f}×" if value >= 100 else f"{value:.3g}×"


def alone(cell: Cell, name: str) -> str:
    """Return a cell's quantity with its unit, for a table whose columns do not name it."""
    quantity = cell.named(name)
    if quantity.timed:
        return marked(cell.shown(name), time)
    found = cell.of(name)
    if found is None:
        return MISSING
    text = with_unit(quantity, found.mean, found.sd if quantity.score else None)
    return text + UNCONVERGED * cell.shown(name).unconverged


def with_unit(quantity: Quantity, mean: float, sd: float | None = None) -> str:
    """Return `mean ± sd`, or the mean alone, and the unit."""
    return f"{quantity.text(mean, sd)} {quantity.unit}".rstrip()


@dataclass(frozen=True)
class Ratio:
    """A ratio and its 95 % interval, None where a side is a bound or of a busy machine."""

    number: Shown
    interval: Interval | None = None

    @property
    def text(self) -> str:
        """Return the ratio with its mark and its interval: `49.2× [47, 51.5]`, `20.9×¹`."""
        found = marked(self.number, factor)
        if self.interval is None:
            return found
        low, high = (factor(end).removesuffix("×") for end in self.interval)
        return f"{found} [{low}, {high}]"


def ratio(over: Cell | None, under: Cell | None, name: str) -> Ratio:
    """Return a quantity of the one cell over that of the other; that of a cell over itself has no spread."""
    if over is None or under is None:
        return Ratio(Shown(None))
    number = over.shown(name).over(under.shown(name))
    if over is under:
        return Ratio(replace(number, runs=None))
    a, b = over.of(name), under.of(name)
    errors = error_of(over, name), error_of(under, name)
    if a is None or b is None or errors[0] is None or errors[1] is None or number.value is None:
        return Ratio(number)
    return Ratio(number, ratio_interval(a.mean, errors[0], b.mean, errors[1]))
