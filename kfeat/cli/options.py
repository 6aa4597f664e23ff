"""Options that several commands share."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kfeat.cli import values

Command = Callable[..., Any]


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator for several options, shown by --help in the order given."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta["kfeat.debug"] = value


def _quiet(ctx: click.Context, parameter: click.Parameter, value: bool) -> bool:
    if value:
        logging.getLogger("kfeat").setLevel(logging.ERROR)
    return value


access = options(
    click.option("--mirror", envvar="KFEAT_MIRROR", metavar="PATH|URL",
                 help="A folder or URL laid out as <dataset>/<file>, tried before the upstream."),
    click.option("--offline", is_flag=True, help="Use only the cache or a mirror folder, no network."),
)  # fmt: skip

verbosity = options(
    click.option("-q", "--quiet", is_flag=True, callback=_quiet,
                 help="Print only errors and the result."),
    click.option("--debug", is_flag=True, expose_value=False, is_eager=True, callback=_debug,
                 help="Show the traceback of an error."),
)  # fmt: skip


form = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text",
                    show_default=True, help="Text for a terminal, or one JSON document.")  # fmt: skip

time_limit = click.option(
    "--time-limit",
    metavar="TIME",
    callback=values.seconds,
    help="Stop a trial that takes more CPU time than this (90s, 30m, 2h); a later run with a longer limit, "
    "or none, repeats it.",
)


memory = click.option(
    "--memory",
    metavar="SIZE",
    callback=values.n_bytes,
    help="The memory that all running trials may take together (800M, 12G); by default nine tenths of the "
    "free memory.",
)


engine = options(
    click.option("--jobs", metavar="N|auto", callback=values.number_of_jobs, default="1", show_default=True,
                 help="The number of trials at a time; auto is one per physical core. With more than one, "
                 "times do not count."),
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
