"""The configs that a command is given, and the options that change them or choose of them."""

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli.options import Command, access, options, verbosity
from kfeat.errors import ConfigError

if TYPE_CHECKING:
    from kfeat.experiments.load import Experiment


def _configs(required: bool) -> Callable[[Command], Command]:
    return click.argument("configs", nargs=-1, required=required, type=click.Path(path_type=Path))


overrides = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change any key of the config in every setting that has it: --set maps.0.n_components=500 of the "
    "first map, maps.n_components=500 of all; repeatable.",
)
configs = options(_configs(required=True), overrides)

_maps = click.option(
    "--maps",
    metavar="A,B",
    help="These maps only; `exact` among them is the exact kernel machine.",
)
_no_exact = click.option("--no-exact", is_flag=True, help="Leave the exact kernel machine out.")
_changes = options(
    overrides,
    click.option("--repeats", type=click.IntRange(min=1),
                 help="Repeat each map this often, and the exact kernel machine at most so often."),
    _maps,
    _no_exact,
)  # fmt: skip
chooses_method = options(overrides, _maps, _no_exact)


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
            raise ConfigError(f"{path}: no .yaml or .yml file below this folder")
        files += below
    return files
