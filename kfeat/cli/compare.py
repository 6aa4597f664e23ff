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
    from kfeat.analysis.two_runs import two_runs
    from kfeat.render.comparison import render_two_runs
    from kfeat.render.terminal import terminal_width

    if all(map(_has_many, (run_a, run_b))):
        ctx.exit(_compare_many(run_a, run_b) and int(fail_on_difference))
    found = two_runs(*(_rows(path, out, results) for path in (run_a, run_b)))
    click.echo(render_two_runs(found, terminal_width()))
    ctx.exit(int(fail_on_difference and found.differ))


def _has_many(path: Path) -> bool:
    """Return whether a folder has no rows of its own, but holds folders that do."""
    from kfeat.experiments.store import ROWS, folders_with_rows

    return path.is_dir() and not (path / ROWS).exists() and bool(folders_with_rows(path))


def _compare_many(a: Path, b: Path) -> bool:
    """Compare the same trials of two folders; return whether a score differs or only one folder has it."""
    import kfeat.experiments.measures  # noqa: F401 (they declare quantities)
    from kfeat.analysis.same_trials import same_trials
    from kfeat.render.comparison import render_same_trials
    from kfeat.render.terminal import terminal_width

    found = same_trials(a, b)
    click.echo(render_same_trials(found, terminal_width()))
    return any(one.equal < one.both or one.only_a or one.only_b for one in found)


def _rows(path: Path, out: Path, results: Path) -> "list[Row]":
    """Return the rows of a folder or of a config; raises StoreError where there are none."""
    import kfeat.experiments.measures  # noqa: F401 (they declare quantities)
    from kfeat.analysis.judgement import own_or_published_rows
    from kfeat.experiments.load import load_experiment
    from kfeat.experiments.store import ROWS, read_rows

    if path.is_dir():
        rows, place = list(read_rows(path).values()), path / ROWS
    elif not path.exists():
        raise StoreError(f"{path}: no such folder of rows, and no such config")
    else:
        experiment = load_experiment(path)
        rows, place = own_or_published_rows(experiment, out, results)
        place = place / experiment.name
    if not any(row["status"] == "done" for row in rows):
        raise StoreError(f"{place}: no rows; name a folder with a {ROWS}, or a config that has been run")
    return rows
