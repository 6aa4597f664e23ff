"""`kfeat run`, `report` and `publish`: run the trials of configs, draw and publish their tables."""

from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kfeat.cli import options, output, selection, signals
from kfeat.cli.plan import show_plans
from kfeat.errors import ConfigError, DataError, DownloadError, EngineError, KfeatError, StoreError
from kfeat.text import counted, plain, plain_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kfeat.cli.progress import Quiet
    from kfeat.data import Access
    from kfeat.experiments.config import Experiment
    from kfeat.experiments.engine import Engine
    from kfeat.experiments.plan import Again, Trial


@click.command()
@selection.takes_experiments(data=True, code=True)
@options.out
@options.results
@options.engine
@options.memory
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads per trial."
)
@click.option("--force", is_flag=True, help="Run finished trials again.")
@click.option("--retime", is_flag=True,
              help="Run again finished trials that have no times (the machine was busy).")  # fmt: skip
@click.option("--timed-runs", type=click.IntRange(min=1), metavar="N",
              help="Run again as many trials without times as each method needs for N timed runs, the first "
              "repeats first.")  # fmt: skip
@options.time_limit
@click.option(
    "--only",
    "prefixes",
    multiple=True,
    metavar="ID",
    help="Run only trials whose id begins with ID; `kfeat plan` shows ids; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan, and run nothing.")
@click.pass_context
def run(
    ctx: click.Context, experiments: "list[Experiment]", access: "Access", quiet: bool, out: Path,
    results: Path, name: str, jobs: int, scheduler: str | None, exclusive: bool, memory: int | None,
    threads: int, force: bool, retime: bool, timed_runs: int | None, time_limit: float | None,
    prefixes: tuple[str, ...], dry_run: bool,
) -> None:  # fmt: skip
    """Run the trials of CONFIGS that are not done yet; write rows, tables and figures.

    You can stop it at any time: finished trials are kept, and the same command continues from there.
    """
    from kfeat.experiments.engine import opened_engine
    from kfeat.experiments.run import dependencies_first
    from kfeat.experiments.worker import WorkerOptions

    if name == "local" and (scheduler or exclusive):
        raise click.UsageError("--scheduler and --exclusive belong to --engine dask; add it")
    if scheduler and memory is not None:
        raise click.UsageError("--memory is for this machine; workers of --scheduler use what is free")
    if scheduler and ctx.get_parameter_source("jobs") is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("the workers of --scheduler decide how many trials run; leave --jobs out")
    if bool(timed_runs) + retime + force > 1:
        raise click.UsageError("--timed-runs N, --retime and --force exclude each other; keep one")
    again: Again = timed_runs or ("everything" if force else "untimed" if retime else "nothing")
    limit = inf if time_limit is None else time_limit
    only = None
    if prefixes:
        experiments, only = _named(experiments, prefixes, access)
    experiments = dependencies_first(experiments)
    if dry_run:
        show_plans(experiments, out, results, access, again, limit, memory, only)
        return
    debug = bool(ctx.meta.get("kfeat.debug"))
    how = WorkerOptions(threads=threads, time_limit=limit, memory=memory, debug=debug, access=access)
    next_run = "but --force starts again" if force else "and the same command continues"
    signals.say_on_interrupt(f"finished trials are kept, {next_run}")
    with opened_engine(name, jobs, scheduler, exclusive, how) as ready:
        if (retime or timed_runs) and not ready.alone:
            raise click.UsageError("times count only where trials run one at a time: leave --jobs out, or "
                                   "add --exclusive to --engine dask")  # fmt: skip
        if len(experiments) > 1 and not quiet:
            order = "all are planned and their data fetched before the first trial runs"
            click.echo(f"{counted(len(experiments), 'configs')}: {order}", err=True)
        with output.observer(quiet, several=len(experiments) > 1) as watching:
            status = _run_all(experiments, out, results, ready, again, watching, only)
    ctx.exit(status)


def _run_all(
    experiments: "list[Experiment]", out: Path, results: Path, engine: "Engine", again: "Again",
    watching: "Quiet", only: set[str] | None,
) -> int:  # fmt: skip
    """Run the experiments, show the table of each that has ended, and return the exit status."""
    from kfeat.cli.reports import check_report, whole_of
    from kfeat.experiments.run import run_experiments

    status = 0

    @contextmanager
    def errors_shown(experiment: "Experiment") -> "Iterator[None]":
        """Print the error of one experiment, so that the others can still run."""
        nonlocal status
        try:
            yield
        except KfeatError as error:
            if len(experiments) == 1 or engine.options.debug or isinstance(error, EngineError):
                raise
            with watching.aside():
                click.echo(f"kfeat: {plain_lines(f'{experiment.path}: {error}')}", err=True)
            status = 2

    checked = []
    for experiment in experiments:
        with errors_shown(experiment):
            check_report(experiment)  # before hours of work, not after them
            if (whole := whole_of(experiment)) != experiment:
                check_report(whole)
            checked.append(experiment)
    running = run_experiments(checked, out, engine, watching, again=again, only=only, published=results)
    with closing(running) as ended:
        for experiment, part in ended:
            with errors_shown(experiment):
                if part.error:
                    raise part.error
                with watching.aside():
                    failed = _show(experiment, out, part.trials, watching, only)
                status = max(status, int(failed))
    return status


def _named(
    experiments: "list[Experiment]", prefixes: tuple[str, ...], access: "Access"
) -> "tuple[list[Experiment], set[str]]":
    """Return the experiments that plan trials with these prefixes, and the ids of these trials.

    If there are several experiments, those whose data cannot be fetched are skipped with a message.
    """
    from kfeat.experiments.run import planned
    from kfeat.experiments.selectors import ids_beginning

    plans: list[tuple[Experiment, set[str]]] = []
    for experiment in experiments:
        try:
            plans.append((experiment, {trial.id for trial in planned(experiment, access)}))
        except (DataError, DownloadError) as error:
            if len(experiments) == 1:
                raise
            click.echo(f"kfeat: skipped: {plain_lines(f'{experiment.path}: {error}')}", err=True)
    known = set().union(*(ids for _, ids in plans))
    wanted = set(ids_beginning(prefixes, known, selection.listed(experiments)))
    return [experiment for experiment, ids in plans if ids & wanted], wanted


def _show(
    experiment: "Experiment", out: Path, trials: "list[Trial]", watching: "Quiet", only: set[str] | None
) -> bool:
    """Write an experiment's report and show its table; return whether a trial failed, now or before.

    With `only`, the table has just the cells of these trials, with all of their rows.
    """
    from kfeat.cli.reports import cells_below, update_report
    from kfeat.render.notes import closing_line, unreported
    from kfeat.render.report import render
    from kfeat.render.table import terminal_width

    cells = cells_below(experiment, out, trials)
    if only is not None:
        cells = [cell for cell in cells if any(trial.id in only for trial in cell.trials)]
        experiment = experiment.model_copy(update={"changed": True})
    files = update_report(experiment, out, trials)
    click.echo(render(experiment, cells, "terminal", terminal_width()))
    click.echo(plain(files))
    for line in unreported(cells, watching.reported):
        click.echo(plain(f"kfeat: {line}"), err=True)
    if closing := closing_line(cells):
        click.echo(plain(closing))
    before = any(only is None or row["id"] in only for cell in cells for row in cell.failed)
    # A trial that failed now may have a better row from before, which is kept.
    return before or any(trial.id in watching.failed for trial in trials)


@click.command()
@selection.takes_experiments()
@options.out
def report(experiments: "list[Experiment]", quiet: bool, out: Path) -> None:
    """Draw the tables and figures of CONFIGS again from existing rows; run nothing.

    They show the whole config. With --maps, --set, --repeats or --no-exact the terminal shows only that part.
    Rows that were run with --set need the same --set here; they have the files if the config as it stands has
    no rows.
    """
    from kfeat.cli.reports import cells_below, update_report
    from kfeat.experiments.run import other_settings
    from kfeat.render.report import render
    from kfeat.render.table import terminal_width

    for experiment in experiments:
        cells = cells_below(experiment, out)
        if not any(cell.all_rows for cell in cells):
            none = f"{out / experiment.name}: no rows yet; `kfeat run {experiment.argument}` makes them"
            raise StoreError(other_settings(experiment, out, "report") or none)
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
    from kfeat.cli.reports import publish as copy
    from kfeat.experiments.run import plan_from_rows, rows_of

    paths: dict[str, Path] = {}
    for experiment in experiments:
        other = paths.setdefault(experiment.name, experiment.path)
        if other.resolve() != experiment.path.resolve():
            raise ConfigError(
                f"{experiment.path} and {other} have the same name, {experiment.name}, and would share a "
                "folder of rows; rename one"
            )
    plans = [
        (experiment, plan_from_rows(experiment, rows_of(experiment, out).values()))
        for experiment in experiments
    ]
    for experiment, number in zip(experiments, copy(plans, out, results, partial), strict=True):
        click.echo(f"{counted(number, 'rows')} -> {results / experiment.name}/")
        rows = rows_of(experiment, results).values()
        if changed := sum(str(row["environment"]["commit"]).endswith("+") for row in rows):
            click.echo(
                f"kfeat: {changed} of the rows of {experiment.name} come from a changed source tree (their "
                "commit ends with +), so the same program cannot be run again; commit, and run them again",
                err=True,
            )
