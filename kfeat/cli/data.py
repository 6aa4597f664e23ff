"""The `kfeat data` commands: list, fetch, verify, describe, export and remove datasets."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import completion, options, output, values
from kfeat.errors import ConfigError, KfeatError
from kfeat.files import replacing, writing
from kfeat.text import as_yaml, counted, plain, plain_lines

if TYPE_CHECKING:
    from kfeat.data import Status

MOST_COLUMNS = 40  # of a file that are shown; --format json shows all
NOT_SHOWN = ("file", "format", "n_bytes", "columns", "problem")  # below the table
WIDEST = 36  # characters of a cell of the table


@click.group(cls=output.Group)
def data() -> None:
    """List, download, verify, describe and export datasets.

    Files are kept in a cache folder (KFEAT_CACHE moves it). A mirror (--mirror or KFEAT_MIRROR), a folder
    or URL laid out as <dataset>/<file>, is tried before the upstream and verified the same way.
    """


_complete = completion.completes(completion.dataset_names)
_names = click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=_complete)
_all = click.option("--all", "every", is_flag=True, help="Every dataset.")


def _chosen(names: tuple[str, ...], every: bool) -> list[str]:
    from kfeat.data.registry import registry

    if every == bool(names):
        raise ConfigError("name the datasets, or give --all; `kfeat data list` shows the names")
    return list(registry() if every else names)


def _act_on(ctx: click.Context, names: list[str], act: Callable[[str], str]) -> None:
    """Act on each dataset and print the result; exit with 2 at the end if one failed."""
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
    """Show every dataset: its size, and whether it is cached and verified; then the loaders of packages."""
    from kfeat.data import list_datasets
    from kfeat.data.sources import SHORT_NAMES
    from kfeat.place import entry_points
    from kfeat.render.table import Table, terminal_width

    headers = ("name", "task", "train", "test", "cached", "verified", "title")
    rows = [_line(status) for status in list_datasets()]
    rows += [[name, *"–" * 5, loader] for name, loader in sorted(entry_points(SHORT_NAMES).items())]
    click.echo(Table(headers, rows, words=(6,)).terminal(terminal_width()))


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
    from kfeat.data import fetch as fetch_dataset

    display: Any = nullcontext()
    if sys.stderr.isatty() and not quiet:
        from kfeat.cli.bars import downloads

        display = downloads()
    with display as progress:

        def act(name: str) -> str:
            status = fetch_dataset(name, mirror=mirror, offline=offline, progress=progress)
            return f"{'verified' if status.verified else 'unverified'}, {_size(status.n_bytes)}"

        _act_on(ctx, _chosen(names, every), act)


@data.command()
@_names
@_all
@options.verbosity
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...], every: bool, quiet: bool) -> None:
    """Hash cached files and arrays again and compare the hashes; with --all, of every cached dataset."""
    from kfeat.data import describe
    from kfeat.data import verify as verify_dataset

    def act(name: str) -> str:
        return "verified" if verify_dataset(name).verified else "unverified: no hash is known for it"

    chosen = _chosen(names, every)
    _act_on(ctx, [name for name in chosen if not every or describe(name).fetched], act)


@data.command()
@click.argument("name", metavar="NAME|FILE", shell_complete=_complete)
@click.option("--target", metavar="COLUMN", help="For a FILE: the labels, by name or number (-1: the last).")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="For a FILE: an option of `dataset` in a config, such as --set missing=mean; repeatable.",
)
@options.form
@click.pass_context
def info(ctx: click.Context, name: str, target: str | None, settings: tuple[str, ...], form: str) -> None:
    """Show facts about a registered dataset, or the contents of a file of your own.

    For a registered NAME: shape, labels, source, licence, citation, files and fingerprint. For a FILE: rows,
    columns, what they hold and become, missing cells, and with --target the classes. The exit status is 2
    if the file cannot be read as it is.
    """
    from kfeat.data import describe
    from kfeat.data.registry import registry

    if name not in registry() and (os.path.exists(name) or "." in name or os.sep in name):
        _show_file(ctx, name, target, settings, form)
        return
    status = describe(name)
    if target is not None or settings:
        raise ConfigError(f"--target and --set are for files of your own; {name} is a registered dataset")
    if form == "json":
        click.echo(json.dumps(_described(status), indent=1))
        return
    _show_dataset(status)


def _show_file(
    ctx: click.Context, path: str, target: str | None, settings: tuple[str, ...], form: str
) -> None:
    from kfeat.data.base import validated
    from kfeat.data.inspection import inspect
    from kfeat.data.sources import FileSource

    source = {"path": path, **values.key_values(settings)}
    if target is not None:
        source["target"] = target
    report = inspect(validated(FileSource, source, "dataset"))
    click.echo(json.dumps(report, indent=1) if form == "json" else _report_text(report))
    if "problem" in report:
        click.echo(f"kfeat: {report['problem']}", err=True)
        ctx.exit(2)


def _report_text(report: Mapping[str, Any]) -> str:
    """Return the text that shows a report: a table of the columns, and what reading made of them."""
    from kfeat.render.table import Table, terminal_width

    columns = report["columns"]
    lines = [f"{report['file']}: {report['format']}, {counted(report['n_bytes'], 'bytes')}"]
    if columns:
        keys = ("name", "holds", "n_missing", "values", "becomes")
        rows = [[_cell(column[key]) for key in keys] for column in columns[:MOST_COLUMNS]]
        table = Table(("column", "holds", "missing", "values", "becomes"), rows, words=range(5))
        lines.append(table.terminal(terminal_width()))
    if len(columns) > MOST_COLUMNS:
        lines.append(f"and {len(columns) - MOST_COLUMNS:,} more columns; --format json shows all")
    shown = {
        key: value for key, value in report.items() if key not in NOT_SHOWN and value not in (None, {}, [])
    }
    lines.append(as_yaml(shown, default_flow_style=None).rstrip())
    if "task" not in report and "problem" not in report:
        lines.append("--target COLUMN names the column of labels, and shows what reading makes of the file")
    return plain_lines("\n".join(lines))


def _cell(value: Any) -> str:
    """Return a cell of the table, cut where it would make the table too wide."""
    text = plain(str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def _described(status: "Status") -> dict[str, Any]:
    """Return the facts about a registered dataset for JSON."""
    shown = {"title", "task", "shape", "labels", "stand_in_for", "licence", "citation"}
    entry = status.entry.model_dump(mode="json", include=shown)
    files = [
        {"path": str(path), "cached": present, "sha256": file.sha256, "urls": list(file.urls)}
        for file, path, present in status.files
    ]
    known = {"fetched": status.fetched, "verified": status.verified, "fingerprint": status.fingerprint}
    return {"name": status.name, **entry, **known, "files": files}


def _show_dataset(status: "Status") -> None:
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
        click.echo(f"               SHA-256 of the content: {file.sha256 or 'none is published'}")
        for url in file.urls:
            click.echo(f"               {url}")
    click.echo(f"  licence      {entry.licence}")
    click.echo(f"  citation     {entry.citation}")


@data.command()
@click.argument("name", shell_complete=_complete)
@click.argument("file", metavar="CSV", type=click.Path(path_type=Path))
@click.option("--test", "test_file", metavar="FILE", type=click.Path(path_type=Path),
              help="Write the test rows to FILE; where there are none, a fifth of each class.")  # fmt: skip
@options.access
@options.verbosity
def export(
    name: str, file: Path, test_file: Path | None, mirror: str | None, offline: bool, quiet: bool
) -> None:
    """Write a registered dataset as a CSV file with a header, whose last column is the target.

    Features are numbers, as kfeat reads them, and classes have their names. The dataset is downloaded if it
    is not cached. A file that would take more than 200 MB is refused.
    """
    from kfeat.data import Protocol, load_raw
    from kfeat.data.export import check_csv_size, column_names, write_csv
    from kfeat.data.registry import entry
    from kfeat.own.new_config import first_split

    entry(name)  # raises for an unknown name
    places = [file] if test_file is None else [file, test_file]
    for place in places:
        if place.exists() or places.count(place) > 1:
            raise ConfigError(f"{place} exists; give another name, or remove it")
    raw = load_raw(name, mirror=mirror, offline=offline)
    check_csv_size(raw)
    split: Any = {"kind": "all"} if test_file is None else first_split(raw)
    sides = Protocol.model_validate({"split": split}).split.rows(raw, 0)
    for place, rows in zip(places, sides, strict=False):
        with writing(place, ConfigError), replacing(place) as new, new.open("w", encoding="utf-8") as out:
            write_csv(raw, rows, out)
        if not quiet:
            features, target = counted(raw.n_features, "features"), column_names(raw)[1]
            click.echo(f"{place}: {counted(len(rows), 'rows')}, {features}; the target is {target}")


@data.command()
@click.argument("name", shell_complete=_complete)
def path(name: str) -> None:
    """Print the folder for a dataset's files, whether or not they are fetched."""
    from kfeat.data import path as path_of

    click.echo(path_of(name))


@data.command()
@_names
@_all
def clean(names: tuple[str, ...], every: bool) -> None:
    """Remove cached files and arrays; --all also removes the arrays of your own files."""
    from kfeat.data import clean as remove

    chosen = _chosen(names, every)
    freed = remove() if every else sum(map(remove, chosen))
    click.echo(f"{_size(freed)} freed")
