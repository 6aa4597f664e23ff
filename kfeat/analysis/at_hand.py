"""The verdicts on experiments by the rows on disk: the user's own, or else the published ones."""

from collections.abc import Sequence
from pathlib import Path

from kfeat.analysis.cells import summarise
from kfeat.analysis.comparisons import number_compared
from kfeat.analysis.evidence import Evidence, are_there
from kfeat.analysis.standing import Standing, stand
from kfeat.experiments.fingerprints import plan_from_rows
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.run import rows_of
from kfeat.experiments.store import Row, read_rows


def standings_at_hand(experiments: Sequence[Experiment], out: Path, results: Path) -> list[Standing]:
    """Return the verdicts on each experiment by its rows below `out`, or else the published rows."""
    cells, published, places = [], [], []
    for one in experiments:
        own, theirs = rows_of(one, out), read_rows(results / one.name)
        trials = plan_from_rows(one, [*theirs.values(), *own.values()])
        mine = are_there(trials, own)
        cells.append(summarise(one, trials, own if mine else theirs))
        # Published rows are not compared with themselves.
        published.append(theirs if mine else {})
        places.append(str(out if mine else results))
    tests, evidence = number_compared(cells, published), Evidence(out, results)
    return [
        stand(one, here, theirs, tests, place, evidence)
        for one, here, theirs, place in zip(experiments, cells, published, places, strict=True)
    ]


def rows_at_hand(experiment: Experiment, out: Path, results: Path) -> tuple[list[Row], Path]:
    """Return the rows of the experiment's trials in the order of its plan, and their folder.

    These are the rows below `out`, or the published ones if no trial has a row below `out`.
    """
    trials = plan_at_hand(experiment, out, results)
    rows, place = rows_of(experiment, out), out
    if not are_there(trials, rows):
        rows, place = read_rows(results / experiment.name), results
    return [rows[trial.id] for trial in trials if trial.id in rows], place


def plan_at_hand(experiment: Experiment, out: Path, results: Path) -> list[Trial]:
    """Return the trials; the hash of data that is not pinned is taken from the rows."""
    rows = [*read_rows(results / experiment.name).values(), *rows_of(experiment, out).values()]
    return plan_from_rows(experiment, rows)
