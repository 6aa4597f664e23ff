"""`kfeat rows`: the rows of configs one by one, and rows of several folders put into one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options, selection
from kfeat.errors import StoreError
from kfeat.saying import plain

if TYPE_CHECKING:
    from kfeat.experiments.load import Experiment

Access = dict[str, Any]


class _Rows(options.Group):
    """Takes `kfeat rows CONFIG` for `kfeat rows show CONFIG`; a config named merge is written ./merge."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the usual command before arguments that begin with no other."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Rows)
def rows() -> None:
    """Show the rows of CONFIGS one by one, or merge folders of rows.

    `kfeat rows CONFIG` stands for `kfeat rows show CONFIG`.
    """


@rows.command()
@selection.selects_experiments
@options.out
@options.results
@click.option("--where", "wheres", multiple=True, metavar="KEY=VALUE",
              help="Only rows with this value, or one of a list: --where map=tensor_sketch, --where "
                   "'map.n_components=[200, 500]'; any column is a key; repeatable.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "csv", "parquet", "jsonl"]), default="table",
              show_default=True,
              help="The table leaves out what all rows share; the others have every column.")  # fmt: skip
def show(
    experiments: "list[Experiment]", access: Access, quiet: bool, out: Path, results: Path,
    wheres: tuple[str, ...], form: str,
) -> None:  # fmt: skip
    """Show the rows of CONFIGS, one line each: every parameter, every quantity, and how it was run.

    A config without rows of yours shows its published ones, and stderr says so. A row that several of CONFIGS
    share stands there once, the better of two. Rows of trials that a config as it stands does not plan are
    left out; --set and the other options that made them bring them in.
    """
    from kfeat.analysis.at_hand import rows_at_hand
    from kfeat.analysis.records import record
    from kfeat.experiments.selectors import chosen
    from kfeat.experiments.store import worth
    from kfeat.render.rows import render_rows
    from kfeat.render.terminal import terminal_width

    found: dict[str, Any] = {}
    for one in experiments:
        there, place = rows_at_hand(one, out, results)
        if there and place == results and not quiet:
            click.echo(f"kfeat: {one.name}: the published rows of {results}", err=True)
        for row in there:
            if row["id"] not in found or worth(row) > worth(found[row["id"]]):
                found[row["id"]] = row
    if not found:
        names = selection.listed(experiments)
        raise StoreError(f"no rows of {names} in {out} and {results}; `kfeat run` makes them")
    if form == "parquet" and sys.stdout.isatty():
        raise StoreError("Parquet is no text for a terminal; send it to a file with > rows.parquet")
    records = chosen([record(row) for row in found.values()], wheres)
    click.echo(render_rows(records, form, terminal_width()), nl=False)


@rows.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", required=True, type=click.Path(path_type=Path),
              help="The folder that takes the rows, such as runs; what it has stays.")  # fmt: skip
@options.verbosity
def merge(folders: tuple[Path, ...], into: Path, quiet: bool) -> None:
    """Put the rows of FOLDERS, such as the runs/ of several machines, into one folder.

    Rows of an experiment go to the folder of the same name. Of two rows of one trial, one that is done
    counts, then one that was stopped; of these one that was timed, then the longer limit, then what is there
    already. `kfeat report` draws the tables anew.
    """
    from kfeat.experiments.merging import merge as merge_rows

    for name, merged in merge_rows(folders, into).items():
        if not quiet:
            click.echo(plain(f"{into / name}: {merged}"))
