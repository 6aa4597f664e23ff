"""A search over the open switches: the experiment's grid once more, with every combination of alternatives.

Only cells that a printed number speaks of are run, and no exact machine, which is slow. A printed number's
`for:` is matched on the experiment as its file has it: turning a switch replaces values in place, so that
the k-th trial of a combination is the k-th of the file's own with the switches turned, and stands for
the same number, whatever its keys say now. Each trial is an ordinary one, with the identity it would have in
an experiment written so: rows are found again, those of `kfeat run` too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from kfeat.data import Source
from kfeat.errors import ConfigError
from kfeat.experiments.engine import Engine
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import ReportedNumber, reported_number
from kfeat.experiments.plan import Trial, every_trial
from kfeat.experiments.run import run_trials
from kfeat.experiments.schedule import Observer
from kfeat.experiments.store import Row, gathered_rows
from kfeat.experiments.switches import turn

FOLDER = "search"


@dataclass(frozen=True)
class Combination:
    """The switches that are turned, each to one of its alternatives, and the cells: their trials."""

    number: int
    turned: Mapping[str, Any]
    cells: Sequence[Sequence[Trial]]


@dataclass(frozen=True)
class Search:
    """All combinations that differ, the present setting first; a printed number for each of their cells.

    `left_out` counts those that have the trials of another; `switches` has the alternatives that are tried.
    """

    experiment: Experiment
    switches: Mapping[str, Sequence[Any]]
    numbers: Sequence[ReportedNumber]
    combinations: Sequence[Combination]
    left_out: int

    @property
    def trials(self) -> list[Trial]:
        """Return the trials of all combinations, each once."""
        found = (t for c in self.combinations for cell in c.cells for t in cell)
        return list({trial.id: trial for trial in found}.values())


def search_space(experiment: Experiment, fingerprints: Mapping[Source, str]) -> Search:
    """Return what there is to try: every combination of the switches' alternatives and present values.

    One whose trials are those of an earlier one is left out. Raises ConfigError if no switch has
    alternatives or no printed number speaks of a map's cell.
    """
    offered = {switch.key: switch.alternatives for switch in experiment.switches if switch.alternatives}
    if not offered:
        raise ConfigError(f"{experiment.path}: nothing to search: no switch has `alternatives`")

    def trials_with(turned: Mapping[str, Any]) -> list[Trial]:
        settings = turn(experiment.settings, turned)
        trials = every_trial(replace(experiment, settings=settings), fingerprints)
        return [trial for trial in trials if trial.map is not None]

    printed = list(_printed_cells(experiment, trials_with({})))
    if not printed:
        raise ConfigError(
            f"{experiment.path}: nothing to search by: `reported.numbers` has none for a map's cell"
        )
    found: dict[tuple[str, ...], Combination] = {}
    points = list(product(*([{}, *({key: value} for value in offered[key])] for key in offered)))
    for point in points:
        turned = {key: value for part in point for key, value in part.items()}
        trials = trials_with(turned)
        cells = [list({trials[i].id: trials[i] for i in positions}.values()) for _, positions in printed]
        identity = tuple(trial.id for cell in cells for trial in cell)
        found.setdefault(identity, Combination(len(found) + 1, turned, cells))
    combinations, numbers = list(found.values()), [number for number, _ in printed]
    turned_to = [(key, value) for combination in combinations for key, value in combination.turned.items()]
    tried = {key: [value for value in offered[key] if (key, value) in turned_to] for key in offered}
    switches = {key: values for key, values in tried.items() if values}
    return Search(experiment, switches, numbers, combinations, len(points) - len(combinations))


def _printed_cells(
    experiment: Experiment, trials: Sequence[Trial]
) -> Iterator[tuple[ReportedNumber, list[int]]]:
    """Yield each printed number that speaks of one of the trials' cells, and the positions of its trials."""
    cells: dict[str, list[int]] = {}
    for position, trial in enumerate(trials):
        cells.setdefault(trial.cell, []).append(position)
    for positions in cells.values():
        number = reported_number(experiment.reported, trials[positions[0]])
        if number is not None:
            yield number, positions


def search_rows(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows that a search finds below `root`: its own, its experiment's, and the shared ones."""
    names = [experiment.name, *experiment.rows_from]
    return gathered_rows(root, [*(f"{name}/{FOLDER}" for name in names), *names])


def run_search(search: Search, root: Path, engine: Engine, observer: Observer) -> dict[str, Row]:
    """Run the trials that have no row yet, and return the rows; new ones go to the search's own folder."""
    there = partial(search_rows, search.experiment, root)
    folder = root / search.experiment.name / FOLDER
    run_trials(search.trials, folder, engine, observer, there)
    return there()
