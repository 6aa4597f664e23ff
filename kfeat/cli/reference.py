"""What a config can name, and what is known of its choices: `configs`, `maps`, `protocol` and others."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import completion, options, output
from kfeat.errors import ConfigError
from kfeat.experiments.shipped import config_files
from kfeat.files import known_configs, writing
from kfeat.text import in_yaml

if TYPE_CHECKING:
    from kfeat.experiments.reference import ComponentHelp

ComponentFacts = dict[str, str | list[str]]


def _name(part: str) -> Callable[[options.Command], options.Command]:
    complete = completion.completes(lambda: completion.registered(part))
    return click.argument("name", required=False, shell_complete=complete)


@click.group(invoke_without_command=True)
@options.form
@click.pass_context
def configs(ctx: click.Context, form: str) -> None:
    """List the experiments that come with kfeat; `kfeat run NAME` runs one in any folder."""
    if ctx.invoked_subcommand is None:
        from kfeat.experiments.config import load_experiment

        experiments = [load_experiment(file) for file in config_files((known_configs(),))]
        if form == "json":
            output.show_json(
                [
                    {"name": experiment.name, "title": experiment.title, "path": str(experiment.path)}
                    for experiment in experiments
                ]
            )
            return
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
    from kfeat.experiments.reference import experiment_schema

    click.echo(json.dumps(experiment_schema(), indent=1))


@click.command()
@_name("map")
@options.form
def maps(name: str | None, form: str) -> None:
    """List the feature maps, with the kernels, cost, variance and use of each.

    With a NAME, show that map in full with its parameters.
    """
    from kfeat.maps import MAPS, kernels_of

    def facts(name: str) -> ComponentFacts:
        return {"kernels": list(kernels_of(MAPS[name])), **MAPS[name].facts._asdict()}

    _show("map", name, form, facts, "maps:\n    - {}")


@click.command()
@_name("kernel")
@options.form
def kernels(name: str | None, form: str) -> None:
    """List the kernels, and the maps that approximate each.

    With a NAME, show that kernel in full with its parameters.
    """
    from kfeat.kernels import KERNELS
    from kfeat.maps import maps_for

    _show("kernel", name, form, lambda name: {"maps": list(maps_for(KERNELS[name]()))}, "kernel: {}")


@click.command()
@_name("solver")
@options.form
def solvers(name: str | None, form: str) -> None:
    """List the solvers: linear ones for mapped features, and exact ones for kernels.

    With a NAME, show that solver in full with its parameters.
    """
    from kfeat.experiments.component import registries

    known = registries()["solver"]

    def role(name: str) -> str:
        return "exact" if known[name].needs_kernel else "mapped"

    def facts(name: str) -> ComponentFacts:
        return {"key in a config": f"solvers.{role(name)}", "out of core": known[name].out_of_core}

    _show("solver", name, form, facts, f"solvers:\n    {role(name) if name and name in known else ''}: {{}}")


def _show(part: str, name: str | None, form: str, facts: Callable[[str], ComponentFacts], place: str) -> None:
    """Print a few lines about each kernel, map or solver, or everything about the one with this name.

    `facts` returns what is known of one besides its docstring, and `place` is where a config has it. JSON has
    everything about each. Those of installed packages are listed with their places, and not imported.
    """
    from kfeat.experiments.reference import component_help, component_helps
    from kfeat.place import Place, entry_points
    from kfeat.render.table import paragraph, terminal_width

    def lines(name: str) -> list[str]:
        texts = {key: [text] if isinstance(text, str) else text for key, text in facts(name).items()}
        return [f"{key}: {', '.join(text)}" for key, text in texts.items()]

    helps = component_helps(part)
    names = [name] if name else sorted(helps) if part == "map" else list(helps)  # the maps are many
    components = [component_help(part, shown) for shown in names]
    points = [
        {"name": short, "place": place, "package": Place.of(place, needed=False).version or None}
        for short, place in sorted(entry_points(f"kfeat.{part}s").items())
    ]
    if form == "json":
        documents = [_document(component, facts(component.name)) for component in components]
        output.show_json(documents[0] if name else documents + points)
        return
    if name is None:
        for component in components:
            click.echo("\n  ".join([component.name, component.summary, *lines(component.name)]))
        for point in points:
            package = f", of {point['package']}" if point["package"] else ""
            click.echo(f"{point['name']}\n  {point['place']}{package}")
        return
    component, width = components[0], terminal_width()
    click.echo(component.name)
    for block in component.text.split("\n\n"):
        click.echo(paragraph(block, width=width) + "\n")
    for line in lines(name):
        click.echo(paragraph(line, width=width))
    click.echo("\nParameters:" if component.parameters else "\nIt has no parameters.")
    for parameter in component.parameters:
        click.echo(f"  {', '.join(parameter.names)}: {parameter.kind}")
        for text in parameter.meaning.split("\n"):
            click.echo(paragraph(text, "      ", width))
    click.echo(f"\nIn a config, with its defaults:\n  {place.format(in_yaml(component.entry))}")


def _document(component: "ComponentHelp", facts: ComponentFacts) -> dict[str, Any]:
    """Return what is known of a kernel, map or solver, with an entry for each of its parameters."""
    parameters = [
        {
            "name": name,
            "type": parameter.kind.partition(", default")[0],
            "default": component.entry.get(name),
            "meaning": parameter.meaning,
        }
        for parameter in component.parameters
        for name in parameter.names
    ]
    known = {key.replace(" ", "_"): value for key, value in facts.items()}
    return {**asdict(component), **known, "parameters": parameters}
