"""The `kfeat` command: thin commands over experiments and reports.

Everything heavy is imported inside the commands, so that `kfeat --help` answers at once.
"""

import logging
import signal
from math import inf
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from kfeat import __version__
from kfeat import cli_options as options
from kfeat.cli_check import check
from kfeat.cli_data import data
from kfeat.cli_protocol import protocol
from kfeat.errors import KfeatError, StoreError

if TYPE_CHECKING:
    from kfeat.experiments.config import Experiment
    from kfeat.experiments.plan import Trial
    from kfeat.experiments.run import Again
    from kfeat.experiments.worker import WorkerOptions
    from kfeat.reports.cells import Cell

Access = dict[str, Any]


class _Group(click.Group):
    """Turns what a user can mend into one sentence on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C exits with 130, SIGTERM with 143, a KfeatError with 2."""
        logging.basicConfig(format="kfeat: %(message)s", level=logging.WARNING)
        signal.signal(signal.SIGTERM, _terminated)
        try:
            return super().invoke(ctx)
        except KfeatError as error:
            if ctx.meta.get("kfeat.debug"):
                raise
            click.echo(f"kfeat: {error}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            click.echo("kfeat: interrupted; finished trials are kept, the same command goes on", err=True)
            ctx.exit(130)


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
def main() -> None:
    """Reproduce the papers on explicit random feature maps for kernel machines."""


main.add_command(check)
main.add_command(data)
main.add_command(protocol)


@main.command()
@options.selects_experiments
@options.out
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True,
              help="Trials at a time; with more than one, their times do not count.")  # fmt: skip
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads per trial."
)
@click.option("--force", "again", flag_value="everything", help="Run again what is done already.")
@click.option("--retime", "again", flag_value="untimed",
              help="Run again what is done but was not timed, since the machine was busy.")  # fmt: skip
@click.option(
    "--time-limit",
    metavar="TIME",
    help="Stop a trial whose own work takes more CPU time (90s, 30m, 2h); a longer limit, or none, runs it "
    "again.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan, run nothing.")
@click.pass_context
def run(
    ctx: click.Context, experiments: "list[Experiment]", access: Access, quiet: bool, out: Path,
    jobs: int, threads: int, again: "Again | None", time_limit: str | None, dry_run: bool,
) -> None:  # fmt: skip
    """Run the trials of CONFIGS that are not done yet; write rows, tables and figures.

    Stop it whenever you like: finished trials are kept, and the same command goes on from there.
    """
    from kfeat.experiments.rerun import seconds_of
    from kfeat.experiments.worker import WorkerOptions

    limit = inf if time_limit is None else seconds_of(time_limit)
    if limit <= 0:
        raise click.BadParameter("expected more than 0 seconds", param_hint="--time-limit")
    if dry_run:
        for experiment in experiments:
            _show_plan(experiment, out, access, again or "nothing", limit)
        return
    debug = bool(ctx.meta.get("kfeat.debug"))
    how = WorkerOptions(threads=threads, alone=jobs == 1, time_limit=limit, debug=debug, **access)
    status = 0
    for experiment in experiments:
        try:
            failed = _run_one(experiment, out, how, jobs, again or "nothing", quiet)
            status = max(status, int(failed))
        except KfeatError as error:
            # One experiment that cannot run must not keep the others of a long list from running.
            if len(experiments) == 1 or debug:
                raise
            click.echo(f"kfeat: {experiment.path}: {error}", err=True)
            status = 2
    ctx.exit(status)


def _run_one(
    experiment: "Experiment", out: Path, how: "WorkerOptions", jobs: int, again: "Again", quiet: bool
) -> bool:
    """Run one experiment, write its report, show its table; return whether a trial failed."""
    from kfeat.experiments.run import run_experiment
    from kfeat.progress import watcher
    from kfeat.reports.claims import check_claims
    from kfeat.reports.files import is_current, write_report
    from kfeat.reports.table import render

    check_claims(experiment)  # before hours of work, not after them
    folder = out / experiment.name
    with watcher(quiet) as watching:
        trials = run_experiment(experiment, out, how, watching, jobs=jobs, again=again)
    cells = _cells(experiment, trials, out)
    if not is_current(experiment, cells, folder):
        write_report(experiment, cells, folder)
    click.echo(render(experiment, cells, "terminal"))
    click.echo(f"tables and figure: {folder}/")
    failures = [row for cell in cells for row in cell.failed]
    for row in failures:
        click.echo(f"kfeat: trial {row['id']} failed: {row['reason']}", err=True)
    for row in (row for cell in cells for row in cell.stopped):
        click.echo(
            f"kfeat: trial {row['id']} stopped: {row['reason']}; a longer limit runs it again", err=True
        )
    return bool(failures)


def _cells(experiment: "Experiment", trials: "list[Trial]", root: Path) -> "list[Cell]":
    from kfeat.experiments.run import rows_of
    from kfeat.reports.cells import summarise

    return summarise(experiment, trials, rows_of(experiment, root))


@main.command()
@options.selects_experiments
@options.out
def plan(experiments: "list[Experiment]", access: Access, quiet: bool, out: Path) -> None:
    """Show the trials of CONFIGS with their identities, and which of them are done."""
    for experiment in experiments:
        _show_plan(experiment, out, access)


def _show_plan(
    experiment: "Experiment", out: Path, access: Access, again: "Again" = "nothing", time_limit: float = inf
) -> None:
    from kfeat.experiments.run import pending, planned, rows_of
    from kfeat.progress import names

    trials = planned(experiment, **access)
    rows = rows_of(experiment, out)
    todo = {trial.id for trial in pending(trials, rows, again, time_limit)}
    ended = {trial.id: rows[trial.id]["status"] for trial in trials if trial.id in rows}
    to_run = {identity: "to run" for identity in todo if ended.get(identity) != "failed"}
    states = [(ended | to_run)[trial.id] for trial in trials]
    click.echo(f"{experiment.title}: {len(trials)} trials, {states.count('done')} done")
    for (identity, name), state in zip(names(trials).items(), states, strict=True):
        click.echo(f"{identity}  {state:<7}  {name}")


@main.command()
@options.selects_experiments
@options.out
def report(experiments: "list[Experiment]", access: Access, quiet: bool, out: Path) -> None:
    """Draw the tables and figures of CONFIGS anew from the rows there are; compute nothing."""
    from kfeat.experiments.run import planned
    from kfeat.reports.files import write_report
    from kfeat.reports.table import render

    for experiment in experiments:
        folder = out / experiment.name
        cells = _cells(experiment, planned(experiment, **access), out)
        if not any(cell.rows for cell in cells):
            raise StoreError(f"{folder}: no rows yet; `kfeat run {experiment.path}` makes them")
        write_report(experiment, cells, folder)
        if not quiet:
            click.echo(render(experiment, cells, "terminal"))


@main.command()
@options.selects_experiments
@options.out
@options.results
@click.option("--partial", is_flag=True, help="Publish what is done, though trials are missing.")
def publish(
    experiments: "list[Experiment]", access: Access, quiet: bool, out: Path, results: Path, partial: bool
) -> None:
    """Copy the rows of CONFIGS to results/, with their tables and figures; every trial must be done."""
    from kfeat.experiments.run import planned
    from kfeat.reports.files import publish as copy

    for experiment in experiments:
        number = copy(experiment, planned(experiment, **access), out, results, partial)
        click.echo(f"{number} rows -> {results / experiment.name}/")


@main.command()
def maps() -> None:
    """List the feature maps, what each is, and the kernels it approximates."""
    from inspect import getdoc

    from kfeat.kernels import KERNELS
    from kfeat.maps import MAPS

    for name, cls in MAPS.items():
        able = [kernel for kernel, kind in KERNELS.items() if cls.supports(kind())]
        able = able or [type(cls.default_kernel()).__name__.lower()]
        summary = (getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
        click.echo(f"{name}\n  {summary}\n  kernels: {', '.join(able)}")
