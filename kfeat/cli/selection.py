"""The experiments that a command works on: arguments and options that choose and change them."""

import logging
from collections.abc import Callable, Iterable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kfeat.cli.completion import completes, completions, config_names, registered
from kfeat.cli.options import Command, access, options, verbosity
from kfeat.cli.values import map_names
from kfeat.errors import ConfigError
from kfeat.experiments.shipped import config_files, published_folder

if TYPE_CHECKING:
    from kfeat.experiments.config import Experiment


log = logging.getLogger(__name__)


def completes_maps(*others: str) -> Callable[..., list[CompletionItem]]:
    """Return the completion of a list of maps, or of these other names, with commas between them."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, _ = incomplete.rpartition(",")
        return completions((f"{before}{comma}{name}" for name in (*registered("map"), *others)), incomplete)

    return complete


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
    shell_complete=completes_maps("exact", "baseline"),
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
