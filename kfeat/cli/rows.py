"""`kfeat rows` and `kfeat explain`: show rows one by one, merge folders of rows, and explain one trial."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kfeat.cli import options
from kfeat.errors import ConfigError, StoreError
from kfeat.text import plain, plain_lines

if TYPE_CHECKING:
    from kfeat.experiments.config import Experiment


class _Rows(options.Group):
    """Reads `kfeat rows CONFIG` as `kfeat rows show CONFIG`; a config named merge is given as ./merge."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `show` unless the arguments begin with a command."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Rows)
def rows() -> None:
    """Show the rows of CONFIGS one by one, or merge folders of rows.

    `kfeat rows CONFIG` is short for `kfeat rows show CONFIG`.
    """


@rows.command()
@options.takes_experiments()
@options.out
@options.results
@click.option("--where", "conditions", multiple=True, metavar="KEY=VALUE",
              help="Show only rows with this value, or one of a list: --where map=tensor_sketch, --where "
                   "'map.n_components=[200, 500]'; any column is a key; repeatable.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "csv", "jsonl"]), default="table",
              show_default=True,
              help="The table omits what all rows share; the others have every column.")  # fmt: skip
def show(
    experiments: "list[Experiment]", quiet: bool, out: Path, results: Path, conditions: tuple[str, ...],
    form: str,
) -> None:  # fmt: skip
    """Show the rows of CONFIGS, one line each: every parameter, every quantity, and how it was run.

    A config without rows of yours shows its published ones, and stderr says so. A row that several of CONFIGS
    share is shown once. Rows of trials that a config does not plan are left out; give --set and the other
    options with which they were run to include them.
    """
    from kfeat.analysis.judgement import own_or_published
    from kfeat.experiments.row import precedence
    from kfeat.experiments.selectors import chosen
    from kfeat.render.rows import record, render_rows
    from kfeat.render.table import terminal_width

    found: dict[str, Any] = {}
    for one in experiments:
        trials, rows, place = own_or_published(one, out, results)
        its_rows = [rows[trial.id] for trial in trials if trial.id in rows]
        if its_rows and place == results and not quiet:
            click.echo(f"kfeat: {one.name}: the published rows of {results}", err=True)
        for row in its_rows:
            if row["id"] not in found or precedence(row) > precedence(found[row["id"]]):
                found[row["id"]] = row
    if not found:
        names = options.listed(experiments)
        raise StoreError(f"no rows of {names} in {out} and {results}; `kfeat run` makes them")
    records = chosen([record(row) for row in found.values()], conditions)
    click.echo(render_rows(records, form, terminal_width()), nl=False)


@rows.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--into", required=True, type=click.Path(path_type=Path),
              help="The folder for the rows, such as runs; it keeps the rows it has.")  # fmt: skip
@options.verbosity
def merge(folders: tuple[Path, ...], into: Path, quiet: bool) -> None:
    """Put the rows of FOLDERS, such as the runs/ of several machines, into one folder.

    Rows of an experiment go to the folder of the same name. If a trial has two rows, a finished one is kept,
    otherwise a stopped one; of two such rows, a timed one is kept, then the one with the longer limit, then
    the one that is already in the folder. `kfeat report` updates the tables.
    """
    from kfeat.experiments.row import merge as merge_rows

    for name, merged in merge_rows(folders, into).items():
        if not quiet:
            click.echo(plain(f"{into / name}: {merged}"))


@click.command()
@click.argument("identity", metavar="ID")
@click.argument("configs", nargs=-1, type=click.Path(path_type=Path))
@options.out
@options.results
@options.verbosity
def explain(identity: str, configs: tuple[Path, ...], out: Path, results: Path, quiet: bool) -> None:
    """Show everything about the trial with this ID, or with an id that begins with it.

    This includes the configs that plan the trial (among CONFIGS, by default those in configs/); its cell in
    their tables; the printed numbers and claims that use this cell, with verdicts; its scores, seconds,
    parameters, learnt values, machine and commit; and the command that runs exactly this trial.
    """
    from kfeat.experiments.config import load_experiment
    from kfeat.render.rows import explain_trial as explained
    from kfeat.render.rows import render_explanation
    from kfeat.render.table import terminal_width

    if not identity.strip():
        raise ConfigError("expected the beginning of a trial's id; `kfeat plan` and `kfeat rows` show ids")
    paths = configs or tuple(path for path in (Path("configs"),) if path.is_dir())
    experiments = []
    for file in options.config_files(paths):
        try:
            experiments.append(load_experiment(file))
        except ConfigError as error:  # a wrong config that was not named must not prevent the answer
            if configs:
                raise
            click.echo(plain_lines(f"kfeat: skipped: {error}"), err=True)
    found = explained(identity.strip(), experiments, out, results)
    click.echo(render_explanation(found, out, terminal_width()))
