"""`kfeat compare`: compare two runs cell by cell, or two folders of many runs trial by trial."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kfeat.errors import StoreError

if TYPE_CHECKING:
    from kfeat.experiments.row import Row


@click.command()
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@click.option("--fail-on-difference", is_flag=True,
              help="Exit with 1 if a score differs or if only one of the runs has a cell.")  # fmt: skip
@click.pass_context
def compare(ctx: click.Context, run_a: Path, run_b: Path, fail_on_difference: bool) -> None:
    """Compare RUN_A with RUN_B cell by cell: scores, kernel errors and times, with intervals.

    Each is a folder of rows, such as runs/adult_poly4 or results/adult_poly4. Rows with the same seeds are
    compared in pairs.

    If both are folders of many experiments, such as results and runs, trials with the same id are compared,
    and the equal scores are counted by experiment and solver.
    """
    import kfeat.experiments.measures  # noqa: F401 (they declare quantities)
    from kfeat.analysis.compare import same_trials, two_runs
    from kfeat.experiments.store import ROWS, folders_with_rows
    from kfeat.render.comparison import render_same_trials, render_two_runs
    from kfeat.render.terminal import terminal_width

    runs = (run_a, run_b)
    if all(one.is_dir() and not (one / ROWS).exists() and folders_with_rows(one) for one in runs):
        trials = same_trials(run_a, run_b)
        click.echo(render_same_trials(trials, terminal_width()))
        differ = bool((trials["equal"] < trials["both"]).any() or trials[["only_a", "only_b"]].any(axis=None))
    else:
        cells = two_runs(*map(_rows, runs))
        click.echo(render_two_runs(cells, terminal_width()))
        differ = cells.differ
    ctx.exit(int(fail_on_difference and differ))


def _rows(folder: Path) -> "list[Row]":
    """Return the rows of a folder; raises StoreError where there are none."""
    from kfeat.experiments.store import ROWS, read_rows

    rows = list(read_rows(folder).values())
    if not any(row["status"] == "done" for row in rows):
        raise StoreError(f"{folder / ROWS}: no rows; name a folder with a {ROWS}")
    return rows
