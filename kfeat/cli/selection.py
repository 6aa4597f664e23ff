"""The arguments and options that choose configs, or parts of them, and change them."""

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
chooses_method = options(overrides, _maps, _no_exact)


def selects_experiments(command: Command) -> Command:
    """Give a command CONFIGS, options that change them and those of data; it gets `experiments` and `access`.

    A folder stands for all configs below it. `access` has the mirror and whether the network is forbidden.
    """
    return shows_experiments(_with_access(command))


def shows_experiments(command: Command) -> Command:
    """Give a command that reads no data CONFIGS and the options that change them, as `experiments`."""
    return _configs(required=True)(_with_experiments(command))


def selects_whole_experiments(command: Command) -> Command:
    """Give a command CONFIGS, without options that change them; it receives the list `experiments`."""

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
    """Like `selects_experiments`, and --all as `every`; with it CONFIGS are configs/ by default."""
    inner = _with_experiments(_with_access(command))

    @_configs(required=False)
    @click.option("--all", "every", is_flag=True, help="Show the scoreboard of CONFIGS, by default configs/.")
    @wraps(inner)
    def with_all(configs: tuple[Path, ...], every: bool, **others: Any) -> Any:
        if not configs and not every:
            raise click.UsageError("Missing argument 'CONFIGS...'; --all takes those in configs/")
        return inner(configs=configs or (Path("configs"),), every=every, **others)

    return with_all


def _with_access(command: Command) -> Command:
    @access
    @wraps(command)
    def with_access(*given: Any, mirror: str | None, offline: bool, **others: Any) -> Any:
        return command(*given, access={"mirror": mirror, "offline": offline}, **others)

    return with_access


def _with_experiments(command: Command) -> Command:
    @_changes
    @verbosity
    @wraps(command)
    def with_experiments(
        configs: tuple[Path, ...],
        overrides: tuple[str, ...],
        repeats: int | None,
        maps: str | None,
        no_exact: bool,
        **others: Any,
    ) -> Any:
        from kfeat.experiments.load import load_experiment

        names = map_names(maps)
        experiments = [
            load_experiment(file, overrides, repeats=repeats, maps=names, exact=not no_exact)
            for file in config_files(configs)
        ]
        return command(experiments, **others)

    return with_experiments


def _refuse_namesakes(experiments: "Iterable[Experiment]") -> None:
    """Raise ConfigError for two files of one name, whose rows and reports would lie in one folder."""
    paths: dict[str, Path] = {}
    for one in experiments:
        other = paths.setdefault(one.name, one.path)
        if other.resolve() != one.path.resolve():
            raise ConfigError(
                f"{one.path} and {other} have the same name, {one.name}, and would share a folder of rows; "
                "rename one"
            )


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
