"""The `kfeat new` command: write a first config for your own data."""

import re
from pathlib import Path
from typing import Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError
from kfeat.saying import plain


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--target", metavar="COLUMN", help="The column with the labels or targets, by name, or by number from 0."
)
@click.option("--test", metavar="FILE", help="A file with the test rows; by default a fifth of the rows.")
@click.option("--task", type=click.Choice(["classification", "regression"]),
              help="What to predict; by default words, or up to 20 whole numbers, are classes.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="How the file is read, as in a config's dataset: --set missing=drop, --set 'drop=[id]', "
              "--set header=false, --set delimiter=whitespace; repeatable.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="CONFIG",
              help="The config to write; by default, in this folder, DATA's name with .yaml.")  # fmt: skip
@options.verbosity
def new(
    data: Path, target: str | None, test: str | None, task: Any, settings: tuple[str, ...], out: Path | None,
    quiet: bool,
) -> None:  # fmt: skip
    """Write a commented config for DATA, a file of yours.

    The file is inspected (columns, target, task, classes, missing values, size) to choose scaling, map,
    D and solver, and a comment gives the reason for each choice. `kfeat run`, `kfeat tune` and `kfeat
    fit` accept the config unchanged.
    """
    from kfeat.cli.file_info import said_of_reading
    from kfeat.data.reading import Reading
    from kfeat.data.sources import validated
    from kfeat.own.new_config import new_config

    reading = validated(Reading, said_of_reading(settings), "--set")
    stem = re.sub(r"[^\w.-]", "_", data.name.split(".")[0]).lstrip(".-") or "config"
    path = out or Path(f"{stem}.yaml")
    if path.exists():
        raise ConfigError(f"{path} exists; give another name with --out, or remove it")
    text = new_config(data, path, target=target, test=test, task=task, reading=reading)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None
    if not quiet:
        for line in text.splitlines():
            if line.startswith("# Left out"):
                click.echo(line.removeprefix("# "))
        click.echo(
            plain(f"{path}: `kfeat run {path}` runs it, `kfeat tune {path}` searches for better choices")
        )
