"""The `kfeat new` command: write a first config for your own data."""

import re
import sys
from pathlib import Path
from typing import Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError
from kfeat.saying import plain


@click.command()
@click.argument("data", required=False)
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
@click.option("--force", is_flag=True, help="Replace a config that exists.")
@options.access
@options.verbosity
def new(
    data: str | None, target: str | None, test: str | None, task: Any,
    settings: tuple[str, ...], out: Path | None, force: bool, mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Write a commented config for DATA: a file of yours, or the name of a dataset.

    The file is inspected (columns, target, task, classes, missing values, size) to choose scaling, map,
    D and solver, and a comment gives the reason for each choice. `kfeat run`, `kfeat tune` and `kfeat
    fit` accept the config unchanged. On a terminal the command asks for options that are not given.
    """
    from kfeat.cli.file_info import said_of_reading
    from kfeat.data.reading import Reading
    from kfeat.data.sources import validated
    from kfeat.own.new_config import new_config, table_of

    reading = validated(Reading, said_of_reading(settings), "--set")
    asking = sys.stdin.isatty() and sys.stdout.isatty()
    if data is None:
        if not asking:
            raise ConfigError("no DATA: give a file of yours, or the name of a dataset in `kfeat data list`")
        data = click.prompt("File of data")
    table = table_of(data, reading)
    if table and asking and target is None and reading.target is None:
        click.echo(plain(f"Columns: {', '.join(table.names)}"))
        target = click.prompt("Target column", default=table.names[-1])
    stem = re.sub(r"[^\w.-]", "_", Path(data).name.split(".")[0]).lstrip(".-") or "config"
    path = out or Path(f"{stem}.yaml")
    if path.exists() and not force:
        raise ConfigError(f"{path} exists; give another name with --out, or replace it with --force")
    text = new_config(
        data, path, table, target=target, test=test, task=task,
        reading=reading, mirror=mirror, offline=offline,
    )  # fmt: skip
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None
    if not quiet:
        for line in text.splitlines():
            if line.startswith("# Left out"):
                click.echo(plain(line.removeprefix("# ")))
        click.echo(
            plain(f"{path}: `kfeat run {path}` runs it, `kfeat tune {path}` searches for better choices")
        )
