"""`kfeat check-map`: which of kfeat's promises a map keeps."""

from pathlib import Path
from typing import Any

import click

from kfeat.cli.options import key_values
from kfeat.errors import ConfigError
from kfeat.text import plain_lines


@click.command("check-map")
@click.argument("place")
@click.option("--kernel", required=True, metavar="YAML", help="The kernel, as a config has it.")
@click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="A parameter of the map; may be repeated."
)
@click.option("--biased", is_flag=True, help="Leave out the tests of bias and of the variance.")
@click.pass_context
def check_map(ctx: click.Context, place: str, kernel: str, settings: tuple[str, ...], biased: bool) -> None:
    """Check whether a map, of kfeat or of your own, keeps what all maps of kfeat promise.

    PLACE is my_map.py:Mine, package.module:Class or a name of `kfeat maps`. The exit status is 1 if a promise
    does not hold.
    """
    from kfeat import testing
    from kfeat.experiments.foreign import OtherMap
    from kfeat.experiments.yaml import parse

    exact = _component("kernel", parse(kernel, "--kernel")).build()
    feature_map = _component("map", {"name": place, **key_values(settings)}).build(kernel=exact)
    if isinstance(feature_map, OtherMap):
        feature_map = feature_map.transformer
    report = testing.check_map(feature_map, exact, unbiased=not biased)
    click.echo(plain_lines(str(report)))
    ctx.exit(0 if report.passed else 1)


def _component(part: str, entry: Any) -> Any:
    from pydantic import ValidationError

    from kfeat.experiments.component import Origin, read_component

    try:
        return read_component(entry, part, origin=Origin(Path("check-map")))
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, (part, *e['loc'])))}: {e['msg']}" for e in error.errors()]
        raise ConfigError("; ".join(problems)) from None
