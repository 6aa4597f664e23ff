"""Reports on disk: what is checked before a run, brought up to date after it, and published."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from kfeat.analysis.cells import Cell, summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.errors import ConfigError, StoreError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.plan import Trial, plan
from kfeat.experiments.row import Row
from kfeat.experiments.run import plan_from_rows, rows_of
from kfeat.files import replacing_together
from kfeat.render.files import is_current, published_files, write_files, write_report
from kfeat.render.paper_table import check_figure
from kfeat.render.report import render
from kfeat.text import counted


def check_report(experiment: Experiment) -> None:
    """Raise ConfigError if claims, table or figure cannot be made of the plan, or a switch is wrong.

    It needs no data and no rows, so that a mistake is found before hours of work and not after them.
    """
    stand_ins = {source: f"{source.name}: {source!r}" for source in experiment.datasets}
    cells = summarise(experiment, plan(experiment, stand_ins), {})
    judge_experiment(experiment, cells, {})
    render(experiment, cells, "terminal")
    check_figure(experiment, cells)


def whole_of(experiment: Experiment) -> Experiment:
    """Return the experiment as its file has it, without the choices of the command line."""
    try:
        return load_experiment(experiment.path)
    except ConfigError:
        return experiment  # a file that only --set completes has no whole but this


def cells_below(experiment: Experiment, root: Path, trials: Iterable[Trial] = ()) -> list[Cell]:
    """Return the cells of the plan with the rows below `root`, as `plan_from_rows` has it.

    `trials` are those that were just run, which know the content of their data.
    """
    rows = rows_of(experiment, root)
    known = {trial.source: trial.fingerprint for trial in trials if trial.fingerprint}
    return summarise(experiment, plan_from_rows(experiment, rows.values(), known), rows)


def update_report(
    experiment: Experiment, root: Path, trials: Iterable[Trial] = (), *, anew: bool = False
) -> str:
    """Draw the files of the whole config from all of its rows, if they are not up to date, or `anew`.

    If none of its trials has run, they show the config as the command line changed it. `trials` are those
    that were just run. Return a sentence that says where the files are, and what of the config they lack.
    """
    drawn, folder = whole_of(experiment), root / experiment.name
    cells, whose = cells_below(drawn, root, trials), "the config's"
    if not any(cell.all_rows for cell in cells):
        drawn, cells = experiment, cells_below(experiment, root, trials)
        whose = "the changed config's"
    planned = sum(len(cell.trials) for cell in cells)
    ended = sum(len(cell.all_rows) for cell in cells)
    if anew or not is_current(drawn, cells, folder):
        write_report(drawn, cells, folder)
    known = f"{ended} of {whose} {counted(planned, 'trials')}"
    lacking = f" ({known}; the others have not run)" * (ended < planned)
    return f"tables and figure: {folder}/{lacking}"


def publish(
    plans: Iterable[tuple[Experiment, Sequence[Trial]]], runs: Path, results: Path, partial: bool = False
) -> list[int]:
    """Copy the rows of the plans from runs/ to results/, draw the reports there; return the numbers of rows.

    Everything is published, or nothing. Raises StoreError if a planned trial has neither ended nor been
    stopped at a time limit, or, with `partial`, if none of an experiment has: what is missing then shows as
    missing in its report.
    """
    plans = list(plans)
    all_rows = [_publishable(experiment, trials, runs, partial) for experiment, trials in plans]
    # Experiments that are published together may cite each other.
    pending = {experiment.name: rows for (experiment, _), rows in zip(plans, all_rows, strict=True)}
    with replacing_together() as beside:
        for (experiment, trials), rows in zip(plans, all_rows, strict=True):
            cells, folder = summarise(experiment, trials, rows), results / experiment.name
            names = published_files(experiment)
            write_files(beside(folder), experiment, cells, folder, names, rows.values(), pending)
    return list(map(len, all_rows))


def _publishable(
    experiment: Experiment, trials: Sequence[Trial], runs: Path, partial: bool
) -> dict[str, Row]:
    rows = rows_of(experiment, runs)
    ended = [trial for trial in trials if rows.get(trial.id, {}).get("status") in ("done", "stopped")]
    missing = len(trials) - len(ended)
    if missing and not (partial and ended):
        raise StoreError(
            f"{runs / experiment.name}: {missing:,} of {counted(len(trials), 'planned trials')} "
            f"{'is' if missing == 1 else 'are'} not done; "
            f"finish them with `kfeat run {experiment.path}`, or publish what there is with --partial"
        )
    return {trial.id: rows[trial.id] for trial in ended}
