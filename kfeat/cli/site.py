"""`kfeat site`: the published results as pages for a browser."""

from pathlib import Path

import click

from kfeat.cli import options, selection


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
