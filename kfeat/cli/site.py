"""`kfeat site`: the published results as pages for a browser."""

from pathlib import Path

import click

from kfeat.cli import options, selection


@click.command()
@click.argument("configs", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", default=Path("site"), show_default=True, type=click.Path(path_type=Path),
              help="The folder for the pages.")  # fmt: skip
@options.results
@click.option("--serve", is_flag=True, help="Then serve them on this machine until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="The port for --serve; 0 takes any free port.")  # fmt: skip
@options.verbosity
def site(configs: tuple[Path, ...], out: Path, results: Path, serve: bool, port: int, quiet: bool) -> None:
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
    if serve:
        pages.serve(out, port, lambda address: click.echo(f"{address} (Ctrl-C ends it)"))
