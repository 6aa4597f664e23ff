"""Options that several commands share, and those that choose and change configs."""

import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, FishComplete, add_completion_class

from kfeat.errors import ConfigError
from kfeat.experiments.shipped import config_files, published_folder
from kfeat.files import known_configs

if TYPE_CHECKING:
    from kfeat.cli.progress import Quiet
    from kfeat.experiments.config import Experiment

log = logging.getLogger(__name__)
Command = Callable[..., Any]

WHOLE = 1000  # characters, more than any sentence has
MAX_SECONDS = 365 * 86400.0  # longer times overflow the system's timers
_UNITS = {
    **dict.fromkeys(("", "s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
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
                formatter.write_dl(
                    [(str(command.name), command.get_short_help_str(WHOLE)) for command in commands]
                )


def show_json(document: Any, indent: int | None = 1) -> None:
    """Print a document as JSON, with null for numbers that are not finite, since JSON has none."""
    finite = json.loads(json.dumps(document), parse_constant=lambda number: None)
    click.echo(json.dumps(finite, indent=indent))


class Fish(FishComplete):
    """Completes words with a comma, such as `--maps orf,nystrom`, which click's script cuts at the comma."""

    source_template = FishComplete.source_template.replace('split ","', 'split --max 1 ","')


add_completion_class(Fish)
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completions(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return what a shell offers for an incomplete word: the names that begin with it, else files."""
    items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def completes(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a parameter's `shell_complete` that offers these names."""
    return lambda _, __, incomplete: completions(names(), incomplete)


def registered(part: str) -> list[str]:
    """Return the names of the kernels, maps or solvers (`part`: kernel, map, solver)."""
    from kfeat.cli.main import postpone

    postpone()
    from kfeat.experiments.component import registries
    from kfeat.place import entry_points

    return sorted({*registries()[part], *entry_points(f"kfeat.{part}s")})


def dataset_names() -> list[str]:
    """Return the names of the registered datasets, without importing what reads them."""
    text = (Path(__file__).parents[1] / "data/registry.yaml").read_text(encoding="utf-8")
    return re.findall(r"^(\w+):", text, re.MULTILINE)


def config_names() -> list[str]:
    """Return the names of the configs that come with kfeat, of their folders, and of configs here."""
    known = known_configs()
    paths = [path.relative_to(known).with_suffix("") for path in known.rglob("[!_]*.yaml")]
    names = {path.as_posix() for name in paths for path in (name, *name.parents[:-1])}
    return sorted(names | {path.name for path in Path().glob("[!_.]*.y*ml")})


def _complete_maps(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    before, comma, _ = incomplete.rpartition(",")
    names = (*registered("map"), "exact", "baseline")
    return completions((f"{before}{comma}{name}" for name in names), incomplete)


def say_on_interrupt(what: str) -> None:
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


form = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text",
                    show_default=True, help="Text for a terminal, or one JSON document.")  # fmt: skip

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
        from kfeat.experiments.schedule import physical_cores

        return physical_cores()
    if not value.isdecimal() or not 1 <= int(value[:9]) <= _MOST_JOBS:
        message = f"expected a number from 1 to {_MOST_JOBS}, or auto (got {value[:20]!r})"
        raise click.BadParameter(message, ctx, parameter)
    return int(value)


engine = options(
    click.option("--jobs", metavar="N|auto", callback=_number_of_jobs, default="1", show_default=True,
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


def configs_argument(required: bool) -> Callable[[Command], Command]:
    """Return the argument CONFIGS."""
    kind, complete = click.Path(path_type=Path), completes(config_names)
    return click.argument("configs", nargs=-1, required=required, type=kind, shell_complete=complete)


overrides = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the config in every setting that has it: maps.0.n_components=500 changes the first "
    "map, maps.n_components=500 all maps; repeatable.",
)
configs = options(configs_argument(required=True), overrides)

_maps = click.option(
    "--maps",
    metavar="A,B",
    help="Use only these maps; `exact` stands for the exact kernel method, `baseline` for the baselines.",
    shell_complete=_complete_maps,
)
_no_exact = click.option("--no-exact", is_flag=True, help="Leave the exact kernel method out.")
_changes = options(
    overrides,
    click.option("--repeats", type=click.IntRange(min=1),
                 help="Repeat each map this often, and the exact kernel method at most this often."),
    _maps,
    _no_exact,
)  # fmt: skip
no_code = click.option(
    "--no-code", is_flag=True, help="Refuse configs that name classes or data by the place of their code."
)
_all = click.option(
    "--all", "every", is_flag=True, help="Show the scoreboard of CONFIGS, by default configs/ or kfeat's own."
)
chooses_method = options(overrides, _maps, _no_exact)


def takes_experiments(
    *, changes: bool = True, data: bool = False, or_all: bool = False, code: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command CONFIGS, and with them the list `experiments`.

    A folder stands for all configs below it. With `changes` there are options that change the experiments.
    With `data` there are those of data, and the command gets `access`: the mirror, and whether the network is
    forbidden. With `code` the command imports the classes that unfinished configs name by their place, unless
    --no-code refuses them. With `or_all` there is --all, which the command gets as `every`, and CONFIGS are
    configs/ by default.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_experiments(
            configs: tuple[Path, ...], overrides: tuple[str, ...] = (), repeats: int | None = None,
            maps: str | None = None, no_exact: bool = False, no_code: bool = False, **others: Any,
        ) -> Any:  # fmt: skip
            from kfeat.data import Access
            from kfeat.experiments.config import load_experiment

            if not configs and not others["every"]:
                raise click.UsageError("CONFIGS...: missing; --all takes those in configs/")
            if data:
                others["access"] = Access(**{name: others.pop(name) for name in ("mirror", "offline")})
            chosen: Any = {"repeats": repeats, "maps": map_names(maps), "exact": not no_exact}

            def load(file: Path) -> "Experiment":
                load_as = partial(load_experiment, file, overrides, **chosen)
                if no_code or not code:
                    return load_as(code="refuse" if no_code else "name")
                from kfeat.experiments.run import needs_code

                try:
                    experiment = load_as(code="name")
                    if not needs_code(experiment, others["out"]):
                        return experiment
                except ConfigError:  # its problems are listed below, with those of its code
                    pass
                return load_as(code="run")

            experiments = [load(file) for file in config_files(configs or (Path("configs"),))]
            return command(experiments, **others)

        chosen = [configs_argument(required=not or_all)]
        chosen += [_all] if or_all else []
        chosen += [_changes] if changes else []
        chosen += [no_code] if code else []
        return options(*chosen, verbosity, *([access] if data else []))(with_experiments)

    return decorate


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


def listed(experiments: Iterable[Any]) -> str:
    """Return the files of experiments on a line, at most three of them."""
    paths = [str(experiment.path) for experiment in experiments]
    return ", ".join(paths[:3]) + ", ..." * (len(paths) > 3)


def published_rows(results: Path, experiments: Iterable[Any]) -> Path:
    """Return the folder of the published rows: that of --results, by default as `published_folder` says."""
    named = click.get_current_context().get_parameter_source("results")
    if named is not click.core.ParameterSource.DEFAULT:
        return results
    folder = published_folder(results, experiments)
    if folder != results:
        log.warning("no folder %s here: the published rows are those that come with kfeat", results)
    return folder


def observer(quiet: bool, several: bool = False) -> "Quiet":
    """Return the observer of a run: silent, with bars on a terminal, or with lines."""
    from kfeat.cli.progress import Lines, Quiet

    if quiet or not sys.stderr.isatty():
        return Quiet() if quiet else Lines(several)
    from kfeat.cli.bars import Bars  # here, since it imports rich, which only a terminal needs

    return Bars(several)
