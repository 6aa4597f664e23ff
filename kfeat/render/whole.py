"""The files of a report, which show the whole config whatever part of it a command was asked to run."""

from collections.abc import Iterable
from pathlib import Path

from kfeat.analysis.cells import Cell, summarise
from kfeat.errors import ConfigError
from kfeat.experiments.fingerprints import plan_from_rows
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.run import rows_of
from kfeat.render.files import is_current, write_report


def whole_of(experiment: Experiment) -> Experiment:
    """Return the experiment as its file has it, without the choices of the command line."""
    try:
        return load_experiment(experiment.path)
    except ConfigError:
        return experiment  # a file that only --set completes has no whole but this


def cells_at_hand(experiment: Experiment, root: Path, trials: Iterable[Trial] = ()) -> list[Cell]:
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

    `trials` are those that were just run. Return a sentence that says where the files are, and what of the
    config they lack.
    """
    whole, folder = whole_of(experiment), root / experiment.name
    cells = cells_at_hand(whole, root, trials)
    planned = sum(len(cell.trials) for cell in cells)
    there = sum(len(part) for cell in cells for part in (cell.rows, cell.failed, cell.stopped))
    if not there:
        return f"tables and figure: none, since no trial of {experiment.path} as it stands has run"
    if anew or not is_current(whole, cells, folder):
        write_report(whole, cells, folder)
    lacking = f" ({there} of the config's {planned} trials; the others have not run)" * (there < planned)
    return f"tables and figure: {folder}/{lacking}"
