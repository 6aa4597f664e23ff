"""What a config can name, and what is known of its choices: `configs`, `maps`, `protocol` and others."""

import json
from collections.abc import Callable
from pathlib import Path

import click

from kfeat.cli.options import config_files, known_configs
from kfeat.errors import ConfigError
from kfeat.files import writing
from kfeat.text import in_yaml

_name = click.argument("name", required=False)


@click.group(invoke_without_command=True)
@click.pass_context
def configs(ctx: click.Context) -> None:
    """List the experiments that come with kfeat; `kfeat run NAME` runs one in any folder."""
    if ctx.invoked_subcommand is None:
        from kfeat.experiments.config import load_experiment

        experiments = [load_experiment(file) for file in config_files((known_configs(),))]
        width = max((len(experiment.name) for experiment in experiments), default=0)
        for experiment in experiments:
            click.echo(f"{experiment.name:{width}}  {experiment.title}")


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
    from kfeat.maps import MAPS, kernels_of

    def facts(name: str) -> list[str]:
        lines = [f"{key}: {value}" for key, value in MAPS[name].facts._asdict().items()]
        return [f"kernels: {', '.join(kernels_of(MAPS[name]))}", *lines]

    _show("map", name, facts, "maps:\n    - {}")


@click.command()
@_name
def kernels(name: str | None) -> None:
    """List the kernels, and the maps that approximate each.

    With a NAME, show that kernel in full with its parameters.
    """
    from kfeat.kernels import KERNELS
    from kfeat.maps import maps_for

    _show("kernel", name, lambda name: [f"maps: {', '.join(maps_for(KERNELS[name]()))}"], "kernel: {}")


@click.command()
@_name
def solvers(name: str | None) -> None:
    """List the solvers: linear ones for mapped features, and exact ones for kernels.

    With a NAME, show that solver in full with its parameters.
    """
    from kfeat.solvers import SOLVERS

    def role(name: str) -> str:
        return "exact" if SOLVERS[name].needs_kernel else "mapped"

    def facts(name: str) -> list[str]:
        return [f"key in a config: solvers.{role(name)}", f"out of core: {SOLVERS[name].out_of_core}"]

    _show("solver", name, facts, f"solvers:\n    {role(name) if name in SOLVERS else ''}: {{}}")


def _show(part: str, name: str | None, facts: Callable[[str], list[str]], place: str) -> None:
    """Print a few lines about each kernel, map or solver, or everything about the one with this name.

    `facts` returns the lines about one, and `place` is where a config has it.
    """
    from kfeat.experiments.config import component_help, component_helps
    from kfeat.render.table import paragraph, terminal_width

    if name is None:
        known = component_helps(part)
        for shown in sorted(known) if part == "map" else known:  # the maps are many
            click.echo("\n  ".join([shown, known[shown].summary, *facts(shown)]))
        return
    component, width = component_help(part, name), terminal_width()
    click.echo(component.name)
    for block in component.text.split("\n\n"):
        click.echo(paragraph(block, width=width) + "\n")
    for line in facts(name):
        click.echo(paragraph(line, width=width))
    click.echo("\nParameters:" if component.parameters else "\nIt has no parameters.")
    for parameter in component.parameters:
        click.echo(f"  {', '.join(parameter.names)}: {parameter.kind}")
        for text in parameter.meaning.split("\n"):
            click.echo(paragraph(text, "      ", width))
    click.echo(f"\nIn a config, with its defaults:\n  {place.format(in_yaml(component.entry))}")
