"""The `kfeat data` commands: what datasets there are, what is here, and whether it is what it should be."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError, KfeatError

if TYPE_CHECKING:
    from kfeat.data import Status


@click.group()
def data() -> None:
    """List, download, verify and describe datasets.

    Files are kept in a cache folder (KFEAT_CACHE moves it). A mirror (--mirror or KFEAT_MIRROR), a folder
    or URL laid out as <dataset>/<file>, is tried before the upstream and verified the same way.
    """


_names = click.argument("names", metavar="[NAME]...", nargs=-1)
_all = click.option("--all", "every", is_flag=True, help="Every dataset.")


def _chosen(names: tuple[str, ...], every: bool) -> list[str]:
    from kfeat.data.registry import registry

    if every == bool(names):
        raise ConfigError("name the datasets, or say --all; `kfeat data list` shows them")
    return list(registry() if every else names)


def _each(ctx: click.Context, names: list[str], act: Callable[[str], str]) -> None:
    """Act on every dataset and print what came of it; exit with 2 at the end where any failed."""
    failed = False
    for name in names:
        try:
            click.echo(f"{name}: {act(name)}")
        except KfeatError as error:
            failed = True
            click.echo(f"kfeat: {error}", err=True)
    ctx.exit(2 if failed else 0)


@data.command("list")
def list_() -> None:
    """Show every dataset: its size, and what of it is cached and verified."""
    from tabulate import tabulate

    from kfeat.data import list_datasets

    lines = [_line(status) for status in list_datasets()]
    headers = ["name", "task", "train", "test", "cached", "verified", "title"]
    click.echo(tabulate(lines, headers, disable_numparse=True))


def _line(status: "Status") -> list[str]:
    shape = {part: f"{n} x {d}" for part, (n, d) in status.entry.shape.items()}
    cached = _size(status.n_bytes) if status.fetched and status.n_bytes else "yes" if status.fetched else "–"
    verified = {True: "yes", False: "no", None: "–"}[status.verified]
    sizes = [shape.get("train", "–"), shape.get("test", "–")]
    return [status.name, status.entry.task, *sizes, cached, verified, status.entry.title.split(",")[0]]


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB"


@data.command()
@_names
@_all
@options.access
@options.verbosity
@click.pass_context
def fetch(
    ctx: click.Context, names: tuple[str, ...], every: bool, mirror: str | None, offline: bool, quiet: bool
) -> None:
    """Download, verify and parse datasets; a failed one does not stop the others."""
    from kfeat.data import fetch as fetch_one

    with ExitStack() as showing:
        progress = showing.enter_context(_progress()) if sys.stderr.isatty() and not quiet else None

        def act(name: str) -> str:
            status = fetch_one(name, mirror=mirror, offline=offline, progress=progress)
            return f"{'verified' if status.verified else 'unverified'}, {_size(status.n_bytes)}"

        _each(ctx, _chosen(names, every), act)


def _progress() -> Any:
    from kfeat.cli.progress import downloads

    return downloads()


@data.command()
@_names
@_all
@options.verbosity
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...], every: bool, quiet: bool) -> None:
    """Hash the cached files and arrays, whatever is recorded; with --all, those of every cached dataset."""
    from kfeat.data import describe
    from kfeat.data import verify as verify_one

    def act(name: str) -> str:
        return "verified" if verify_one(name).verified else "unverified: no hash is known for it"

    chosen = _chosen(names, every)
    _each(ctx, [name for name in chosen if not every or describe(name).fetched], act)


@data.command()
@click.argument("name")
def info(name: str) -> None:
    """Show what is known of one dataset: shape, labels, source, licence, citation, files, fingerprint."""
    from kfeat.data import describe

    status = describe(name)
    entry = status.entry
    click.echo(f"{status.name}: {entry.title}")
    if entry.stand_in_for:
        click.echo(f"  a stand-in for {entry.stand_in_for}, not the same data")
    click.echo(f"  task         {entry.task}")
    for part, (n, d) in entry.shape.items():
        counts = ", ".join(f"{label}: {count}" for label, count in entry.labels.get(part, {}).items())
        click.echo(f"  {part:<12} {n} x {d}{f' (labels {counts})' if counts else ''}")
    click.echo(f"  fingerprint  {status.fingerprint or 'not known before the data are fetched'}")
    for file, path, present in status.files:
        click.echo(f"  file         {file.path} {'cached at ' + str(path) if present else 'not cached'}")
        click.echo(f"               SHA-256 of the content: {file.sha256 or 'nobody has published one'}")
        for url in file.urls:
            click.echo(f"               {url}")
    click.echo(f"  licence      {entry.licence}")
    click.echo(f"  citation     {entry.citation}")


@data.command()
@click.argument("name")
def path(name: str) -> None:
    """Print the folder in which a dataset's files are, or will be."""
    from kfeat.data import path as path_of

    click.echo(path_of(name))


@data.command()
@_names
@_all
def clean(names: tuple[str, ...], every: bool) -> None:
    """Remove cached files and arrays; --all also removes the arrays of your own files."""
    from kfeat.data import clean as clean_one

    chosen = _chosen(names, every)
    freed = clean_one() if every else sum(map(clean_one, chosen))
    click.echo(f"{_size(freed)} freed")
