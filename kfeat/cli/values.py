"""What the texts of options mean: times, sizes, numbers of jobs, KEY=VALUE."""

import re
from collections.abc import Iterable
from math import inf
from typing import Any

import click

from kfeat.errors import ConfigError

MAX_SECONDS = 365 * 86400.0  # longer times overflow the system's timers
_UNITS = {
    **dict.fromkeys(("", "s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}


def seconds_of(text: str) -> float:
    """Return the seconds in a duration such as 90, 90s, 5 min or 1.5h; raises ConfigError for other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    duration = float(match[1]) * _UNITS.get(match[2], inf) if match else inf
    if not duration <= MAX_SECONDS:  # 0 of an unknown unit is NaN
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ConfigError(
            f"'{shown}' is not a duration; expected a number of seconds, or 90s, 5min, 1.5h, 2 days, up to "
            "365 days"
        )
    return duration


def seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the seconds in a duration such as 90s, 30m or 2h."""
    duration = None if value is None else seconds_of(value)
    if duration == 0:
        raise click.BadParameter("expected more than 0 seconds", ctx, parameter)
    return duration


_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def n_bytes(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Return the bytes in a size such as 800M or 12G, whose units are powers of 1024."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE)
    if match is None or not (size := int(float(match[1]) * _SIZES[match[2].upper()])):
        message = f"expected a size above 0 such as 800M or 12G (got {value[:20]!r})"
        raise click.BadParameter(message, ctx, parameter)
    return size


_MOST_JOBS = 10_000  # each is a process


def number_of_jobs(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return the number; `auto` is the number of physical cores that this process may use."""
    if value == "auto":
        from kfeat.experiments.engine import physical_cores

        return physical_cores()
    if not value.isdecimal() or not 1 <= int(value[:9]) <= _MOST_JOBS:
        message = f"expected a number from 1 to {_MOST_JOBS}, or auto (got {value[:20]!r})"
        raise click.BadParameter(message, ctx, parameter)
    return int(value)


def key_values(settings: Iterable[str]) -> dict[str, Any]:
    """Return the KEY=VALUE settings for reading a file as a mapping, with values in YAML."""
    from kfeat.experiments.yaml import parse

    values = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {setting}: expected KEY=VALUE, such as --set missing=mean")
        values[key] = value if key == "delimiter" else parse(value, f"--set {setting}")  # YAML needs quotes
    return values


def map_names(maps: str | None) -> list[str] | None:
    """Return the names in the value of --maps."""
    return None if maps is None else [name.strip() for name in maps.split(",")]
