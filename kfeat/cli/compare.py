"""`kfeat compare`: compare two runs cell by cell, or two folders of many runs trial by trial."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kfeat.cli import options
from kfeat.errors import StoreError

if TYPE_CHECKING:
    from kfeat.experiments.row import Row


@click.command()
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@options.out
@options.results
@click.option("--fail-on-difference", is_flag=True,
              help="Exit with 1 if a score differs or if only one of the runs has a cell.")  # fmt: skip
@click.pass_context
def compare(
    ctx: click.Context, run_a: Path, run_b: Path, out: Path, results: Path, fail_on_difference: bool
) -> None:
    """Compare RUN_A with RUN_B cell by cell: scores, kernel errors and times, with intervals.

    Each is a folder of rows, such as runs/adult_poly4 or results/adult_poly4, or a config. A config stands
    for its rows in --out, or in --results if --out has none. Rows with the same seeds are compared in pairs.

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
        cells = two_runs(*(_rows(path, out, results) for path in runs))
        click.echo(render_two_runs(cells, terminal_width()))
        differ = cells.differ
    ctx.exit(int(fail_on_difference and differ))


def _rows(path: Path, out: Path, results: Path) -> "list[Row]":
    """Return the rows of a folder or of a config; raises StoreError where there are none."""
    from kfeat.analysis.judgement import rows_at_hand
    from kfeat.experiments.load import load_experiment
    from kfeat.experiments.store import ROWS, read_rows

    if path.is_dir():
        rows, place = list(read_rows(path).values()), path / ROWS
    elif not path.exists():
        raise StoreError(f"{path}: no such folder of rows, and no such config")
    else:
        experiment = load_experiment(path)
        trials, found, place = rows_at_hand(experiment, out, results)
        rows, place = [found[trial.id] for trial in trials if trial.id in found], place / experiment.name
    if not any(row["status"] == "done" for row in rows):
        raise StoreError(f"{place}: no rows; name a folder with a {ROWS}, or a config that has been run")
    return rows
