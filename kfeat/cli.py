"""The `kfeat` command."""

import click

from kfeat import __version__


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Reproduce the papers on explicit random feature maps for kernel machines."""
