"""Times as papers print them: `3.6 secs`, `0.5 hours`, `< 1 sec`."""

import re
from typing import Annotated

from pydantic import AfterValidator

_TIME = re.compile(r"(?P<bound><\s*)?(?P<number>\d+(?:\.(?P<decimals>\d+))?)\s*(?P<unit>[a-z]+)")
_UNITS = {"ms": 0.001} | {
    unit: size
    for size, units in (
        (1.0, ("s", "sec", "secs", "second", "seconds")),
        (60.0, ("min", "mins", "minute", "minutes")),
        (3600.0, ("h", "hour", "hours")),
    )
    for unit in units
}


def seconds_printed(text: str) -> tuple[float, float]:
    """Return the least and the most seconds that a printed time may stand for.

    The last digit is taken as rounded: `1.6 mins` is 93 to 99 seconds; `< 1 sec` is 0 to 1. Raises ValueError
    for what is not a time.
    """
    found = _TIME.fullmatch(text.strip())
    if found is None or found["unit"] not in _UNITS or not float(found["number"]):
        raise ValueError(f"expected a time as printed, such as 3.6 secs, 2 hours or < 1 sec (got {text!r})")
    value, unit = float(found["number"]), _UNITS[found["unit"]]
    if found["bound"]:
        return 0.0, value * unit
    half = 0.5 * 10.0 ** -len(found["decimals"] or "")
    return (value - half) * unit, (value + half) * unit


def _checked(text: str) -> str:
    seconds_printed(text)
    return text


TimeText = Annotated[str, AfterValidator(_checked)]
