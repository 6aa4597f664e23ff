"""`kfeat schema`: print the JSON Schema of a config. Also prints resolved configs for `kfeat run`."""

from typing import TYPE_CHECKING

import click

from kfeat.saying import as_yaml

if TYPE_CHECKING:
    from kfeat.experiments.load import Experiment


@click.command()
def schema() -> None:
    """Print the JSON Schema of a config, with which an editor completes keys and marks wrong ones."""
    import json

    from kfeat.experiments.json_schema import experiment_schema

    click.echo(json.dumps(experiment_schema(), indent=1))


def show_configs(experiments: "list[Experiment]") -> None:
    """Print each experiment as one YAML document, resolved."""
    documents = [f"# {one.path}\n" + as_yaml(one.resolved(), width=100) for one in experiments]
    click.echo("---\n".join(documents), nl=False)
