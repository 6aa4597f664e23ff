"""`kfeat schema`: the JSON Schema of a config, for editors; and a config as it is run."""

from typing import TYPE_CHECKING

import click

from kfeat.saying import as_yaml

if TYPE_CHECKING:
    from kfeat.experiments.load import Experiment


@click.command()
def schema() -> None:
    """Print the JSON Schema of a config: an editor completes keys by it, and marks wrong ones."""
    import json

    from kfeat.experiments.json_schema import experiment_schema

    click.echo(json.dumps(experiment_schema(), indent=1))


def show_configs(experiments: "list[Experiment]") -> None:
    """Print each experiment as one YAML document, resolved."""
    documents = [f"# {one.path}\n" + as_yaml(one.resolved(), width=100) for one in experiments]
    click.echo("---\n".join(documents), nl=False)
