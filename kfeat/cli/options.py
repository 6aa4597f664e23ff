"""Options that several commands share; slow imports happen only when a command runs."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any

import click

from kfeat.errors import ConfigError

Command = Callable[..., Any]

WHOLE = 1000  # characters, more than any sentence has
MAX_SECONDS = 365 * 86400.0  # longer times overflow the system's timers
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
KEPT = "kfeat.kept"  # the key in a context's `meta` of the text that a signal prints


class Group(click.Group):
    """A group whose help shows the whole first sentence of each command at any terminal width."""

    def sections(self) -> Mapping[str, Iterable[click.Command]]:
        """Return the commands under the titles of the help."""
        return {"Commands": self.commands.values()}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their titles."""
        for title, commands in self.sections().items():
            with formatter.section(title):
                formatter.write_dl([(str(one.name), one.get_short_help_str(WHOLE)) for one in commands])


def keeps(what: str) -> None:
    """Set what Ctrl-C and SIGTERM print: what the command keeps, and how to continue."""
    click.get_current_context().meta[KEPT] = what


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator for several options, shown by --help in the order given."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta["kfeat.debug"] = value


def _verbosity(ctx: click.Context, parameter: click.Parameter, value: bool) -> bool:
    if value:
        logging.getLogger("kfeat").setLevel(logging.INFO if parameter.name == "verbose" else logging.ERROR)
    return value


access = options(
    click.option("--mirror", envvar="KFEAT_MIRROR", metavar="PATH|URL",
                 help="A folder or URL laid out as <dataset>/<file>, tried before the upstream."),
    click.option("--offline", is_flag=True, help="Use only the cache or a mirror folder, no network."),
)  # fmt: skip

verbosity = options(
    click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=_verbosity,
                 help="Print more messages."),
    click.option("-q", "--quiet", is_flag=True, callback=_verbosity,
                 help="Print only errors and the result."),
    click.option("--debug", is_flag=True, expose_value=False, is_eager=True, callback=_debug,
                 help="Show the traceback of an error."),
)  # fmt: skip


def seconds_of(text: str) -> float:
    """Return the seconds in a duration such as 90, 90s, 5m or 1.5h; raises ConfigError for other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    found = float(match[1]) * _UNITS[match[2]] if match else inf
    if found > MAX_SECONDS:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ConfigError(
            f"'{shown}' is not a duration; expected a number of seconds, or 90s, 5m, 1.5h, up to 365 days"
        )
    return found


def seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the seconds in a duration such as 90s, 30m or 2h."""
    found = None if value is None else seconds_of(value)
    if found == 0:
        raise click.BadParameter("expected more than 0 seconds", ctx, parameter)
    return found


time_limit = click.option(
    "--time-limit",
    metavar="TIME",
    callback=seconds,
    help="Stop a trial that takes more CPU time than this (90s, 30m, 2h); a later run with a longer limit, "
    "or none, repeats it.",
)

_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _bytes(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Return the bytes in a size such as 800M or 12G, whose units are powers of 1024."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE)
    if match is None or not (size := int(float(match[1]) * _SIZES[match[2].upper()])):
        message = f"expected a size above 0 such as 800M or 12G (got {value[:20]!r})"
        raise click.BadParameter(message, ctx, parameter)
    return size


memory = click.option(
    "--memory",
    metavar="SIZE",
    callback=_bytes,
    help="The memory that all running trials may take together (800M, 12G); by default nine tenths of the "
    "free memory.",
)

_MOST_JOBS = 10_000  # each is a process


def _number_of_jobs(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return the number; `auto` is the number of physical cores that this process may use."""
    if value == "auto":
        from kfeat.experiments.engine import physical_cores

        return physical_cores()
    if not value.isdecimal() or not 1 <= int(value[:9]) <= _MOST_JOBS:
        message = f"expected a number from 1 to {_MOST_JOBS}, or auto (got {value[:20]!r})"
        raise click.BadParameter(message, ctx, parameter)
    return int(value)


jobs = click.option(
    "--jobs",
    metavar="N|auto",
    callback=_number_of_jobs,
    default="1",
    show_default=True,
    help="The number of trials at a time; auto is one per physical core. With more than one, times do not "
    "count.",
)

engine = options(
    jobs,
    click.option("--engine", "name", type=click.Choice(["local", "dask"]), default="local",
                 show_default=True, help="Where trials run: in processes here, or on Dask workers."),
    click.option("--scheduler", metavar="ADDRESS",
                 help="The Dask scheduler, such as tcp://host:8786; by default --jobs workers start here."),
    click.option("--exclusive", is_flag=True,
                 help="Run one trial at a time on each machine with Dask workers, so that times count."),
)  # fmt: skip
_FOLDER: Any = {"type": click.Path(path_type=Path), "show_default": True}
out = click.option(
    "--out", default=Path("runs"), help="The folder of your rows, with a folder for each config.", **_FOLDER
)
results = click.option(
    "--results", default=Path("results"), help="The folder of the published rows.", **_FOLDER
)
