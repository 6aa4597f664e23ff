"""Options that several commands share; the heavy imports wait until a command runs."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.errors import ConfigError

if TYPE_CHECKING:
    from kfeat.experiments.load import Experiment

Command = Callable[..., Any]

WHOLE = 1000  # characters, which no sentence has
KEPT = "kfeat.kept"  # where in a context's `meta` stands what is said when a signal ends the command


class Group(click.Group):
    """A group of commands, whose help has the first sentence of each, whatever the terminal's width."""

    def sections(self) -> Mapping[str, Iterable[click.Command]]:
        """Return the commands under the titles of the help."""
        return {"Commands": self.commands.values()}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their titles."""
        for title, commands in self.sections().items():
            with formatter.section(title):
                formatter.write_dl([(str(one.name), one.get_short_help_str(WHOLE)) for one in commands])


def keeps(what: str) -> None:
    """Have Ctrl-C and SIGTERM say what the command that runs keeps, and how to go on."""
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
    click.option("--offline", is_flag=True, help="Use what is cached or in a mirror folder; no network."),
)  # fmt: skip

verbosity = options(
    click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=_verbosity,
                 help="Say more on the way."),
    click.option("-q", "--quiet", is_flag=True, callback=_verbosity,
                 help="Say nothing but errors and the result."),
    click.option("--debug", is_flag=True, expose_value=False, is_eager=True, callback=_debug,
                 help="Show the traceback of an error."),
)  # fmt: skip


def seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the seconds in a duration such as 90s, 30m or 2h."""
    from kfeat.experiments.rerun import seconds_of

    found = None if value is None else seconds_of(value)
    if found == 0:
        raise click.BadParameter("expected more than 0 seconds", ctx, parameter)
    return found


time_limit = click.option(
    "--time-limit",
    metavar="TIME",
    callback=seconds,
    help="Stop a trial whose own work takes more CPU time (90s, 30m, 2h); a longer limit, or none, runs it "
    "again.",
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
    help="The memory that all trials at once may take (800M, 12G); nine tenths of what is free if left out.",
)

log = click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append what happens to a file, a JSON object per line.",
)

_MOST_JOBS = 10_000  # each is a process


def _number_of_jobs(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return the number; `auto` is the physical cores that this process may use."""
    if value == "auto":
        from kfeat.experiments.engines.local import physical_cores

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
    help="Trials at a time, auto for one per physical core; with more than one, their times do not count.",
)

_engine = options(
    jobs,
    click.option("--engine", "name", type=click.Choice(["local", "dask"]), default="local",
                 show_default=True, help="What trials run on: processes here, or the workers of Dask."),
    click.option("--scheduler", metavar="ADDRESS",
                 help="The Dask scheduler, such as tcp://host:8786; without it, --jobs workers start here."),
    click.option("--exclusive", is_flag=True,
                 help="One trial at a time on each machine that has Dask workers, so that times count."),
)  # fmt: skip


def chooses_engine(command: Command) -> Command:
    """Give a command the options of engines; it receives `engine`, which opens the one that was chosen."""

    @_engine
    @wraps(command)
    def with_engine(
        *given: Any, name: str, jobs: int, scheduler: str | None, exclusive: bool, **others: Any
    ) -> Any:
        from kfeat.experiments.engines import opened_engine

        if name == "local" and (scheduler or exclusive):
            raise click.UsageError("--scheduler and --exclusive belong to --engine dask; add it")
        if scheduler and others.get("memory") is not None:
            raise click.UsageError("--memory is of this machine; workers of --scheduler take what is free")
        source = click.get_current_context().get_parameter_source("jobs")
        if scheduler and source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError("the workers of --scheduler decide how many trials run; leave --jobs out")
        return command(*given, engine=partial(opened_engine, name, jobs, scheduler, exclusive), **others)

    return with_engine


_FOLDER: Any = {"type": click.Path(path_type=Path), "show_default": True}
out = click.option(
    "--out", default=Path("runs"), help="The folder of your rows, one below it per config.", **_FOLDER
)
results = click.option(
    "--results", default=Path("results"), help="The folder of the published rows.", **_FOLDER
)


def _configs(required: bool) -> Callable[[Command], Command]:
    return click.argument("configs", nargs=-1, required=required, type=click.Path(path_type=Path))


_set = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change any key of the config in every setting that has it: --set maps.0.n_components=500 of the "
    "first map, maps.n_components=500 of all; repeatable.",
)
overrides = _set
configs = options(_configs(required=True), _set)

_maps = click.option(
    "--maps",
    metavar="A,B",
    help="These maps only; `exact` among them is the exact kernel machine.",
)
_no_exact = click.option("--no-exact", is_flag=True, help="Leave the exact kernel machine out.")
_changes = options(
    _set,
    click.option("--repeats", type=click.IntRange(min=1),
                 help="Repeat each map this often, and the exact kernel machine at most so often."),
    _maps,
    _no_exact,
)  # fmt: skip
chooses_method = options(_set, _maps, _no_exact)


def selects_experiments(command: Command) -> Command:
    """Give a command CONFIGS and the options that change them; it receives the list `experiments`.

    A folder stands for all configs below it. The command receives `access` too: mirror and offline.
    """
    return _configs(required=True)(_with_experiments(command))


def selects_whole_experiments(command: Command) -> Command:
    """Give a command CONFIGS as their files have them; it receives the list `experiments`."""

    @_configs(required=True)
    @verbosity
    @wraps(command)
    def with_experiments(configs: tuple[Path, ...], **others: Any) -> Any:
        from kfeat.experiments.load import load_experiment

        experiments = [load_experiment(file) for file in config_files(configs)]
        _refuse_namesakes(experiments)
        return command(experiments, **others)

    return with_experiments


def selects_experiments_or_all(command: Command) -> Command:
    """Do the same with --all, which the command receives as `every`: CONFIGS are then configs/ by default."""
    inner = _with_experiments(command)

    @_configs(required=False)
    @click.option("--all", "every", is_flag=True, help="The scoreboard of CONFIGS, by default configs/.")
    @wraps(inner)
    def with_all(configs: tuple[Path, ...], every: bool, **others: Any) -> Any:
        if not configs and not every:
            raise click.UsageError("Missing argument 'CONFIGS...'; --all takes those in configs/")
        return inner(configs=configs or (Path("configs"),), every=every, **others)

    return with_all


def _with_experiments(command: Command) -> Command:
    @_changes
    @access
    @verbosity
    @wraps(command)
    def with_experiments(
        configs: tuple[Path, ...],
        overrides: tuple[str, ...],
        repeats: int | None,
        maps: str | None,
        no_exact: bool,
        mirror: str | None,
        offline: bool,
        **others: Any,
    ) -> Any:
        from kfeat.experiments.load import load_experiment

        names = map_names(maps)
        experiments = [
            load_experiment(file, overrides, repeats=repeats, maps=names, exact=not no_exact)
            for file in config_files(configs)
        ]
        return command(experiments, access={"mirror": mirror, "offline": offline}, **others)

    return with_experiments


def _refuse_namesakes(experiments: "Iterable[Experiment]") -> None:
    """Raise ConfigError for two files of one name, whose rows and reports would lie in one folder."""
    paths: dict[str, Path] = {}
    for one in experiments:
        other = paths.setdefault(one.name, one.path)
        if other.resolve() != one.path.resolve():
            raise ConfigError(
                f"{one.path} has the name of {other}, {one.name}, and so would its folder of rows; rename it"
            )


def map_names(maps: str | None) -> list[str] | None:
    """Return the names in the value of --maps."""
    return None if maps is None else [name.strip() for name in maps.split(",")]


def listed(experiments: Iterable[Any]) -> str:
    """Return the files of experiments on a line, no more than three of them."""
    paths = [str(one.path) for one in experiments]
    return ", ".join(paths[:3]) + ", ..." * (len(paths) > 3)


def _below(folder: Path) -> list[Path]:
    """Return the configs below a folder, but for those whose name, or that of their folder, is hidden."""
    from kfeat.experiments.yaml_file import SUFFIXES

    found = [path for suffix in SUFFIXES for path in folder.rglob(f"[!_]*{suffix}")]
    return sorted(
        path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def config_files(configs: tuple[Path, ...]) -> list[Path]:
    """Return the experiment files named, and those below the folders named."""
    files: list[Path] = []
    for path in configs:
        # A file whose name begins with _ is there for others to include.
        try:
            below = _below(path) if path.is_dir() else [path]
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
        if not below:
            raise ConfigError(f"{path}: no .yaml file below this folder")
        files += below
    return files
