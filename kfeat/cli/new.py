"""The `kfeat new` command: a first config for data of one's own."""

import re
import sys
from pathlib import Path
from typing import Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError
from kfeat.saying import plain

KERNELS = ("gaussian", "polynomial", "laplacian", "linear")


@click.command()
@click.argument("data", required=False)
@click.option(
    "--target", metavar="COLUMN", help="The column with the labels or targets, by name, or by number from 0."
)
@click.option("--test", metavar="FILE", help="A file with the test rows; else a fifth of the rows test.")
@click.option("--task", type=click.Choice(["classification", "regression"]),
              help="What to predict; words and up to 20 whole numbers are classes if left out.")  # fmt: skip
@click.option("--kernel", type=click.Choice(KERNELS), help="The kernel.  [default: gaussian]")
@click.option("--set", "said", multiple=True, metavar="KEY=VALUE",
              help="How the file is read, as in a config's dataset: --set missing=drop, --set 'drop=[id]', "
              "--set header=false, --set delimiter=whitespace; repeatable.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="CONFIG",
              help="The config to write; by default the name of DATA with .yaml, here.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a config that exists.")
@options.access
@options.verbosity
def new(
    data: str | None, target: str | None, test: str | None, task: Any, kernel: str | None,
    said: tuple[str, ...], out: Path | None, force: bool, mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Write a commented config for DATA: a file of yours, or the name of a dataset.

    Looks at the file (columns, target, task, classes, missing values, size), chooses scaling, kernel, map, D
    and solver, and says why in a line each. `kfeat run`, `kfeat tune` and `kfeat fit` take the config as it
    is. On a terminal it asks for what is not given.
    """
    from kfeat.cli.file_info import said_of_reading
    from kfeat.data.reading import Reading
    from kfeat.data.sources import validated
    from kfeat.own.new_config import new_config, table_of

    reading = validated(Reading, said_of_reading(said), "--set")
    asking = sys.stdin.isatty() and sys.stdout.isatty()
    if data is None:
        if not asking:
            raise ConfigError("no DATA: name a file of yours, or a dataset of `kfeat data list`")
        data = click.prompt("File of data")
    table = table_of(data, reading)
    if table and asking and target is None and reading.target is None:
        click.echo(plain(f"Columns: {', '.join(table.names)}"))
        target = click.prompt("Target column", default=table.likely_target or table.names[-1])
    if asking and kernel is None:
        kernel = click.prompt("Kernel", type=click.Choice(KERNELS), default=KERNELS[0])
    stem = re.sub(r"[^\w.-]", "_", Path(data).name.split(".")[0]).lstrip(".-") or "config"
    path = out or Path(f"{stem}.yaml")
    if path.exists() and not force:
        raise ConfigError(f"{path} exists; give another name with --out, or replace it with --force")
    text = new_config(
        data, path, table, target=target, test=test, task=task, kernel=kernel or KERNELS[0],
        reading=reading, mirror=mirror, offline=offline,
    )  # fmt: skip
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None
    if not quiet:
        for line in text.splitlines():
            if line.startswith(("# Left out", "# Look at")):
                click.echo(plain(line.removeprefix("# ")))
        click.echo(
            plain(f"{path}: `kfeat run {path}` computes it, `kfeat tune {path}` looks for better choices")
        )
