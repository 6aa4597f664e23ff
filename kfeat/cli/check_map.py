"""`kfeat check-map`: which of kfeat's promises a map in anybody's file keeps."""

from inspect import signature
from typing import Any

import click

from kfeat.cli.options import key_values
from kfeat.errors import ConfigError
from kfeat.text import plain_lines, printable


@click.command("check-map")
@click.argument("place")
@click.option("--kernel", required=True, metavar="YAML", help="The kernel, as a config has it.")
@click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="A parameter of the map; may be repeated."
)
@click.option("--biased", is_flag=True, help="Leave out the tests of bias and of the variance.")
def check_map(place: str, kernel: str, settings: tuple[str, ...], biased: bool) -> None:
    """Check whether a map, of kfeat or of your own, keeps what all maps of kfeat promise.

    PLACE is my_map.py:Mine, package.module:Class or a name of `kfeat maps`. The exit status is 1 if a promise
    does not hold.
    """
    from pydantic import ValidationError

    from kfeat import testing
    from kfeat.experiments.component import read_component
    from kfeat.experiments.yaml import parse, problems_of

    entry = parse(kernel, "--kernel")
    try:
        exact = read_component(entry, "kernel").build()
    except ValidationError as error:
        raise ConfigError("; ".join(f"--kernel: {text}" for _, text in problems_of(error, entry))) from None
    report = testing.check_map(_map_at(place, key_values(settings)), exact, unbiased=not biased)
    click.echo(plain_lines(str(report)))
    click.get_current_context().exit(0 if report.passed else 1)


def _map_at(place: str, parameters: dict[str, Any]) -> Any:
    from kfeat.maps import MAPS
    from kfeat.parameters import did_you_mean
    from kfeat.place import Place

    cls = MAPS.get(place) or Place.of(place).load()
    known = list(signature(cls).parameters)
    if unknown := [name for name in parameters if name not in known]:
        raise ConfigError(f"{place} has no parameter '{unknown[0]}'{did_you_mean(unknown[0], known)}")
    try:
        return cls(**parameters)
    except Exception as error:
        raise ConfigError(f"{place}: {type(error).__name__}: {printable(error)}") from error
