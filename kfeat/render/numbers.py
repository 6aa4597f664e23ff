"""Numbers and values as text, and the signs beside them."""

from math import inf
from typing import TYPE_CHECKING, Any

from kfeat.text import in_yaml

if TYPE_CHECKING:
    from kfeat.experiments.quantities import Quantity

MISSING = "–"
BUSY = "~"  # before a time of a busy machine, and what is made from it
UNCONVERGED = "†"  # after what depends on a solver that did not converge
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def value_text(value: Any) -> str:
    """Return a value of a row: truth values as yes and no, lists and mappings as a config has them."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return in_yaml(value)
    return str(value)


def seconds_text(value: float | None, sd: float | None = None) -> str:
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


def factor_text(value: float | None) -> str:
    """Return a ratio to three digits, such as `49.2×` and `1612×`, and an infinite one as `∞`."""
    if value is None:
        return MISSING
    if value == inf:
        return "∞"
    return f"{value:.0f}×" if value >= 100 else f"{value:.3g}×"


def with_unit(quantity: "Quantity", mean: float, sd: float | None = None) -> str:
    """Return `mean ± sd`, or the mean alone, and the unit."""
    return f"{quantity.text(mean, sd)} {quantity.unit}".rstrip()
