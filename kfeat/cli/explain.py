"""`kfeat explain`: show everything about one trial."""

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
    """Show everything about the trial with this ID, or with an id that begins with it.

    This includes the configs that plan the trial (among CONFIGS, by default those in configs/); its cell in
    their tables; the printed numbers and claims that use this cell, with verdicts; its scores, seconds,
    parameters, learnt values, machine and commit; and the command that runs exactly this trial.
    """
    from kfeat.analysis.explanation import explain as explained
    from kfeat.experiments.load import load_experiment
    from kfeat.render.rows import render_explanation
    from kfeat.render.terminal import terminal_width

    if not identity.strip():
        raise ConfigError("expected the beginning of a trial's id; `kfeat plan` and `kfeat rows` show ids")
    paths = configs or tuple(path for path in (Path("configs"),) if path.is_dir())
    experiments = []
    for file in selection.config_files(paths):
        try:
            experiments.append(load_experiment(file))
        except ConfigError as error:  # a wrong config that was not named must not prevent the answer
            if configs:
                raise
            click.echo(plain_lines(f"kfeat: skipped: {error}"), err=True)
    found = explained(identity.strip(), experiments, out, results)
    click.echo(render_explanation(found, out, terminal_width()))
