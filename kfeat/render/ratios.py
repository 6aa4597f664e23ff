"""Ratios of two cells' numbers as tables show them: with their interval, and on how many runs they rest."""

from dataclasses import dataclass, replace

from kfeat.analysis.cells import Cell, Shown
from kfeat.analysis.certainty import error_of
from kfeat.analysis.statistics import Interval, ratio_interval
from kfeat.render import text


@dataclass(frozen=True)
class Ratio:
    """A ratio and its 95 % interval, None where a side is a bound or of a busy machine."""

    number: Shown
    interval: Interval | None = None

    @property
    def text(self) -> str:
        """Return the ratio with its mark and its interval: `49.2× [47, 51.5]`, `20.9×¹`."""
        found = text.marked(self.number, text.factor)
        if self.interval is None:
            return found
        low, high = (text.factor(end).removesuffix("×") for end in self.interval)
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
