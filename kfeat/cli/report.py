"""`kfeat report`, `publish` and `site`: draw tables and figures from rows, and publish them."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kfeat.cli import options, selection
from kfeat.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from kfeat.experiments.load import Experiment


@click.command()
@selection.takes_experiments()
@options.out
def report(experiments: "list[Experiment]", quiet: bool, out: Path) -> None:
    """Draw the tables and figures of CONFIGS again from existing rows; run nothing.

    They show the whole config. With --maps, --set, --repeats or --no-exact the terminal shows only that part.
    """
    from kfeat.render.files import cells_below, update_report
    from kfeat.render.table import render
    from kfeat.render.terminal import terminal_width

    for experiment in experiments:
        cells = cells_below(experiment, out)
        if not any(cell.all_rows for cell in cells):
            raise StoreError(
                f"{out / experiment.name}: no rows yet; `kfeat run {experiment.path}` makes them"
            )
        update_report(experiment, out, anew=True)
        if not quiet:
            click.echo(render(experiment, cells, "terminal", terminal_width()))


@click.command()
@selection.takes_experiments(changes=False)
@options.out
@options.results
@click.option("--partial", is_flag=True, help="Publish what is done, even if trials are missing.")
def publish(experiments: "list[Experiment]", quiet: bool, out: Path, results: Path, partial: bool) -> None:
    """Copy the rows of CONFIGS to results/, with their tables and figures; every trial must be done.

    Either all of CONFIGS are published or none of them.
    """
    from kfeat.experiments.run import plan_from_rows, rows_of
    from kfeat.render.files import publish as copy

    paths: dict[str, Path] = {}
    for one in experiments:
        other = paths.setdefault(one.name, one.path)
        if other.resolve() != one.path.resolve():
            raise ConfigError(
                f"{one.path} and {other} have the same name, {one.name}, and would share a folder of rows; "
                "rename one"
            )
    plans = [(one, plan_from_rows(one, rows_of(one, out).values())) for one in experiments]
    for experiment, number in zip(experiments, copy(plans, out, results, partial), strict=True):
        click.echo(f"{number} rows -> {results / experiment.name}/")
        rows = rows_of(experiment, results).values()
        if changed := sum(str(row["environment"]["commit"]).endswith("+") for row in rows):
            click.echo(
                f"kfeat: {changed} of the rows of {experiment.name} come from a changed source tree (their "
                "commit ends with +), so the same program cannot be run again; commit, and run them again",
                err=True,
            )


@click.command()
@click.argument("configs", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", default=Path("site"), show_default=True, type=click.Path(path_type=Path),
              help="The folder for the pages.")  # fmt: skip
@options.results
@options.verbosity
def site(configs: tuple[Path, ...], out: Path, results: Path, quiet: bool) -> None:
    """Write the published results of CONFIGS, by default of configs/, as pages for a browser.

    The pages need no server and no network: open OUT/index.html. They show what was reproduced of each paper,
    and every map, dataset and trial.
    """
    from kfeat.experiments.load import load_experiment
    from kfeat.site import build as pages

    experiments = [load_experiment(file) for file in selection.config_files(configs or (Path("configs"),))]
    written = pages.build(experiments, results, out)
    if not quiet:
        size = sum(path.stat().st_size for path in written) / 1e6
        click.echo(f"{len(written)} files, {size:.1f} MB: open {out / 'index.html'}")
