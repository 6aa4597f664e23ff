"""The `kfeat data` commands."""

import click


@click.group()
def data() -> None:
    """Download, verify and describe datasets."""
