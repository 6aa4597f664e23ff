"""`kfeat configs`: list and copy the experiments that come with kfeat."""

from pathlib import Path

import click

from kfeat.cli.selection import config_files, known_configs
from kfeat.errors import ConfigError


@click.group(invoke_without_command=True)
@click.pass_context
def configs(ctx: click.Context) -> None:
    """List the experiments that come with kfeat; `kfeat run NAME` runs one in any folder."""
    if ctx.invoked_subcommand is None:
        from kfeat.experiments.load import load_experiment

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
    try:
        copytree(known_configs(), folder, dirs_exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written ({error.strerror})") from None
    click.echo(f"copied to {folder}: edit a file and run it, as in `kfeat run {folder / 'quickstart.yaml'}`")
