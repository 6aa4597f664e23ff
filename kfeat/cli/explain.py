"""`kfeat explain`: all about one row."""

from pathlib import Path

import click

from kfeat.cli import options, selection
from kfeat.errors import ConfigError
from kfeat.saying import plain_lines


@click.command()
@click.argument("identity", metavar="ID")
@click.argument("configs", nargs=-1, type=click.Path(path_type=Path))
@options.out
@options.results
@options.verbosity
def explain(identity: str, configs: tuple[Path, ...], out: Path, results: Path, quiet: bool) -> None:
    """Show all about the trial with this ID, of which the beginning is enough.

    The configs that plan it (of CONFIGS, by default those in configs/), the cell of their tables that holds
    it, the printed numbers and claims that rest on this cell with their verdicts; its numbers and seconds,
    its parameters, what was learnt, its machine and commit; and the command that runs exactly this trial.
    """
    from kfeat.analysis.explanation import explain as explained
    from kfeat.experiments.load import load_experiment
    from kfeat.render.rows import render_explanation
    from kfeat.render.terminal import terminal_width

    if not identity.strip():
        raise ConfigError("expected the beginning of a trial's id; `kfeat plan` and `kfeat rows` show ids")
    there = configs or tuple(path for path in (Path("configs"),) if path.is_dir())
    experiments = []
    for file in selection.config_files(there):
        try:
            experiments.append(load_experiment(file))
        except ConfigError as error:  # a config that nobody asked for is no reason to say nothing
            if configs:
                raise
            click.echo(plain_lines(f"kfeat: passed over: {error}"), err=True)
    found = explained(identity.strip(), experiments, out, results)
    click.echo(render_explanation(found, out, terminal_width()))
