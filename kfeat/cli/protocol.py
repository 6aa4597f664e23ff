"""The `kfeat protocol` command: every switch of an experiment, and a search over those that are open."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kfeat.cli import options, selection
from kfeat.errors import ConfigError
from kfeat.saying import plain

if TYPE_CHECKING:
    from kfeat.experiments.search import Search
    from kfeat.experiments.worker import WorkerOptions


SEARCHING = ("repeats", "jobs", "dry_run", "publish")  # options of a search


@click.command()
@selection.configs
@click.option("--search", is_flag=True, help="Try the alternatives of the switches, and rank the settings.")
@click.option("--repeats", type=click.IntRange(min=1), default=2, show_default=True,
              help="In a search, repeat each map this often.")  # fmt: skip
@options.jobs
@click.option("--dry-run", is_flag=True, help="Show what the search would try, and run nothing.")
@click.option("--publish", is_flag=True, help="Copy the search's ranking and rows to results/.")
@options.out
@options.results
@options.access
@options.verbosity
@click.pass_context
def protocol(
    ctx: click.Context, configs: tuple[Path, ...], overrides: tuple[str, ...], search: bool,
    repeats: int, jobs: int, dry_run: bool, publish: bool, out: Path, results: Path,
    mirror: str | None, offline: bool, quiet: bool,
) -> None:  # fmt: skip
    """Print every switch of CONFIGS: its value, whether it is known, inferred or open, and the evidence.

    A switch is a choice that the numbers depend on. The list `switches` of a config states what is known of
    each, by its key: protocol.scale, kernel.gamma, map.degree_law, solver.C; or solver.libsvm.C for one
    component of several. What it does not state is shown as "not stated".

    --search runs the experiment with every combination of the `alternatives` there, without exact methods
    and only where the paper prints a number. It ranks the combinations by the mean over these numbers of
    absolute difference / max(slack, 2 sd), where slack is 1 point unless the config gives another.
    """
    by_hand = click.core.ParameterSource.COMMANDLINE
    given = [name for name in SEARCHING if ctx.get_parameter_source(name) is by_hand]
    if given and not search:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"{named}: only a search uses this; add --search")
    from kfeat.experiments.load import load_experiment
    from kfeat.experiments.run import fingerprints
    from kfeat.experiments.search import search_rows, search_space
    from kfeat.experiments.worker import WorkerOptions
    from kfeat.render.protocol import render_plan, render_switches
    from kfeat.render.terminal import terminal_width

    files, width = selection.config_files(configs), terminal_width()
    experiments = [load_experiment(file, overrides) for file in files]
    if not search:
        click.echo("\n\n".join(render_switches(experiment, width) for experiment in experiments))
        return
    # All of them before the first trial, so that no error appears only after hours.
    searched = [load_experiment(file, overrides, repeats=repeats, exact=False) for file in files]
    spaces = [search_space(one, fingerprints(one, mirror=mirror, offline=offline)) for one in searched]
    if dry_run:
        for space in spaces:
            click.echo(render_plan(space, search_rows(space.experiment, out), width))
        return
    how = WorkerOptions(debug=bool(ctx.meta.get("kfeat.debug")), mirror=mirror, offline=offline)
    where = results if publish else None
    options.keeps("finished trials are kept, and the same command continues")
    failed = [_search(space, out, where, how, jobs, quiet) for space in spaces]
    ctx.exit(int(any(failed)))


def _search(
    search: "Search", out: Path, results: Path | None, how: "WorkerOptions", jobs: int, quiet: bool
) -> bool:
    """Run what is missing, write the ranking and show it; return whether a trial failed."""
    from kfeat.analysis.ranking import ranked
    from kfeat.cli.progress import observer
    from kfeat.experiments.engine import Local
    from kfeat.experiments.search import FOLDER, run_search
    from kfeat.render.protocol import publish_search, render_ranking, write_ranking
    from kfeat.render.terminal import terminal_width

    with Local(how, jobs) as engine, observer(quiet) as observing:
        rows = run_search(search, out, engine, observing)
    found = ranked(search, rows)
    folder = out / search.experiment.name / FOLDER
    write_ranking(search, found, folder)
    click.echo(render_ranking(search, found, "terminal", terminal_width()))
    click.echo(f"ranking: {folder}/")
    failures = {row["id"]: row for cell in found["cell"] for row in cell.failed}
    for key, row in failures.items():
        if key not in observing.reported:
            click.echo(plain(f"kfeat: trial {key} failed: {row['reason']}"), err=True)
    if results is not None:
        number = publish_search(search, found, rows, results)
        click.echo(f"{number} rows -> {results / search.experiment.name / FOLDER}/")
    return bool(failures)
