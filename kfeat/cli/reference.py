"""What a config can name, and what is known of its choices: `configs`, `maps`, `protocol` and others."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kfeat.cli.options import config_files, known_configs
from kfeat.errors import ConfigError
from kfeat.files import writing
from kfeat.text import in_yaml

if TYPE_CHECKING:
    from kfeat.experiments.config import ComponentHelp

_name = click.argument("name", required=False)
_KEYS = {"map": "maps:\n    - {}", "kernel": "kernel: {}", "mapped": "solvers:\n    mapped: {}",
         "exact": "solvers:\n    exact: {}"}  # fmt: skip


@click.group(invoke_without_command=True)
@click.pass_context
def configs(ctx: click.Context) -> None:
    """List the experiments that come with kfeat; `kfeat run NAME` runs one in any folder."""
    if ctx.invoked_subcommand is None:
        from kfeat.experiments.config import load_experiment

        found = {one.name: one.title for one in map(load_experiment, config_files((known_configs(),)))}
        width = max(map(len, found), default=0)
        for name, title in found.items():
            click.echo(f"{name:{width}}  {title}")


@configs.command()
@click.argument("folder", type=click.Path(path_type=Path))
def copy(folder: Path) -> None:
    """Copy them to FOLDER for editing; FOLDER must be new or empty."""
    from shutil import copytree

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: expected a new or empty folder, got one that holds files")
    with writing(folder, ConfigError):
        copytree(known_configs(), folder, dirs_exist_ok=True)
    click.echo(f"copied to {folder}: edit a file and run it, as in `kfeat run {folder / 'quickstart.yaml'}`")


@click.command()
def schema() -> None:
    """Print the JSON Schema of a config, with which an editor completes keys and marks wrong ones."""
    from kfeat.experiments.config import experiment_schema

    click.echo(json.dumps(experiment_schema(), indent=1))


@click.command()
@_name
def maps(name: str | None) -> None:
    """List the feature maps, with the kernels, cost, variance and use of each.

    With a NAME, show that map in full with its parameters.
    """
    from inspect import getdoc

    from kfeat.experiments.config import component_help
    from kfeat.maps import MAPS, kernels_of

    one = component_help("map", name) if name else None
    for each, cls in sorted(MAPS.items()) if one is None else [(one.name, MAPS[one.name])]:
        summary = (getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
        facts = [f"{key}: {value}" for key, value in cls.facts._asdict().items()]
        lines = [f"kernels: {', '.join(kernels_of(cls))}", *facts]
        if one is None:
            click.echo("\n  ".join([each, summary, *lines]))
        else:
            _show(one, "map", lines)


@click.command()
@_name
def kernels(name: str | None) -> None:
    """List the kernels, and the maps that approximate each.

    With a NAME, show that kernel in full with its parameters.
    """
    from kfeat.experiments.config import component_help, component_helps
    from kfeat.kernels import KERNELS
    from kfeat.maps import maps_for

    for one in [component_help("kernel", name)] if name else component_helps("kernel").values():
        lines = [f"maps: {', '.join(maps_for(KERNELS[one.name]()))}"]
        if name:
            _show(one, "kernel", lines)
        else:
            click.echo("\n  ".join([one.name, one.summary, *lines]))


@click.command()
@_name
def solvers(name: str | None) -> None:
    """List the solvers: linear ones for mapped features, and exact ones for kernels.

    With a NAME, show that solver in full with its parameters.
    """
    from kfeat.experiments.config import component_help, component_helps
    from kfeat.solvers import SOLVERS

    for one in [component_help("solver", name)] if name else component_helps("solver").values():
        cls = SOLVERS[one.name]
        role = "exact" if cls.needs_kernel else "mapped"
        lines = [f"key in a config: solvers.{role}", f"out of core: {cls.out_of_core}"]
        if name:
            _show(one, role, lines)
        else:
            click.echo("\n  ".join([one.name, one.summary, *lines]))


def _show(one: "ComponentHelp", key: str, lines: list[str]) -> None:
    """Print everything about one kernel, map or solver."""
    from kfeat.render.table import paragraph, terminal_width

    width = terminal_width()
    click.echo(one.name)
    for block in one.text.split("\n\n"):
        click.echo(paragraph(block, width=width) + "\n")
    for line in lines:
        click.echo(paragraph(line, width=width))
    click.echo("\nParameters:" if one.parameters else "\nIt has no parameters.")
    for parameter in one.parameters:
        click.echo(f"  {', '.join(parameter.names)}: {parameter.kind}")
        for text in parameter.meaning.split("\n"):
            click.echo(paragraph(text, "      ", width))
    click.echo(f"\nIn a config, with its defaults:\n  {_KEYS[key].format(in_yaml(one.entry))}")
