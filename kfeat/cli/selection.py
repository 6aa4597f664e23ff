"""The arguments and options that choose configs, or parts of them, and change them."""

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from kfeat.cli.options import Command, access, options, verbosity
from kfeat.errors import ConfigError


def _configs(required: bool) -> Callable[[Command], Command]:
    return click.argument("configs", nargs=-1, required=required, type=click.Path(path_type=Path))


overrides = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the config in every setting that has it: maps.0.n_components=500 changes the first "
    "map, maps.n_components=500 all maps; repeatable.",
)
configs = options(_configs(required=True), overrides)

_maps = click.option(
    "--maps",
    metavar="A,B",
    help="Use only these maps; `exact` stands for the exact kernel method.",
)
_no_exact = click.option("--no-exact", is_flag=True, help="Leave the exact kernel method out.")
_changes = options(
    overrides,
    click.option("--repeats", type=click.IntRange(min=1),
                 help="Repeat each map this often, and the exact kernel method at most this often."),
    _maps,
    _no_exact,
)  # fmt: skip
_all = click.option(
    "--all", "every", is_flag=True, help="Show the scoreboard of CONFIGS, by default configs/."
)
chooses_method = options(overrides, _maps, _no_exact)


def takes_experiments(
    *, changes: bool = True, data: bool = False, or_all: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command CONFIGS, and with them the list `experiments`.

    A folder stands for all configs below it. With `changes` there are options that change the experiments.
    With `data` there are those of data, and the command gets `access`: the mirror, and whether the network is
    forbidden. With `or_all` there is --all, which the command gets as `every`, and CONFIGS are configs/ by
    default.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_experiments(
            configs: tuple[Path, ...], overrides: tuple[str, ...] = (), repeats: int | None = None,
            maps: str | None = None, no_exact: bool = False, **others: Any,
        ) -> Any:  # fmt: skip
            from kfeat.experiments.load import load_experiment

            if not configs and not others["every"]:
                raise click.UsageError("Missing argument 'CONFIGS...'; --all takes those in configs/")
            if data:
                others["access"] = {name: others.pop(name) for name in ("mirror", "offline")}
            experiments = [
                load_experiment(file, overrides, repeats=repeats, maps=map_names(maps), exact=not no_exact)
                for file in config_files(configs or (Path("configs"),))
            ]
            return command(experiments, **others)

        given = [_configs(required=not or_all)]
        given += [_all] if or_all else []
        given += [_changes] if changes else []
        return options(*given, verbosity, *([access] if data else []))(with_experiments)

    return decorate


def map_names(maps: str | None) -> list[str] | None:
    """Return the names in the value of --maps."""
    return None if maps is None else [name.strip() for name in maps.split(",")]


def listed(experiments: Iterable[Any]) -> str:
    """Return the files of experiments on a line, at most three of them."""
    paths = [str(one.path) for one in experiments]
    return ", ".join(paths[:3]) + ", ..." * (len(paths) > 3)


def _below(folder: Path) -> list[Path]:
    """Return the configs below a folder, except hidden files and files in hidden folders."""
    from kfeat.experiments.yaml_file import SUFFIXES

    found = [path for suffix in SUFFIXES for path in folder.rglob(f"[!_]*{suffix}")]
    return sorted(
        path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def known_configs() -> Path:
    """Return the folder of the configs that come with kfeat: beside its modules, or in a clone above them."""
    package = Path(__file__).parents[1]
    return next((one for one in (package / "configs", package.parent / "configs") if one.is_dir()), package)


def _found(path: Path) -> Path:
    """Return a path that exists, or else the config or folder of this name that comes with kfeat.

    The name may begin with `configs/` and leave out `.yaml`.
    """
    if path.exists():
        return path
    name = Path(*path.parts[1:]) if path.parts[:1] == ("configs",) else path
    for known in (known_configs() / name, known_configs() / f"{name}.yaml"):
        if known.exists() and not path.is_absolute():
            return known
    return path


def config_files(configs: tuple[Path, ...]) -> list[Path]:
    """Return the experiment files named, and those below the folders named."""
    files: list[Path] = []
    for path in configs:
        # A file whose name begins with _ is only included by others.
        try:
            path = _found(path)
            below = _below(path) if path.is_dir() else [path]
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
        if not below:
            raise ConfigError(f"{path}: no .yaml or .yml file below this folder")
        files += below
    return files
