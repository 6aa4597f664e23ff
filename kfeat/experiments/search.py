"""A search over the open switches: the experiment's grid with every combination of alternatives.

Only cells with a printed number run, and no exact solvers, which are slow. A printed number's `for:` selects
trials of the experiment in its file. Turning a switch keeps the order of the trials: the k-th trial of a
combination is the k-th trial of the file with other values, and belongs to the same printed number. Each
trial has the same identity as in an experiment file with these values, so that existing rows are found,
including those of `kfeat run`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from kfeat.data import Source
from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment
from kfeat.experiments.paper import ReportedNumber, reported_numbers
from kfeat.experiments.plan import Trial, every_trial
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.row import Row
from kfeat.experiments.run import run_trials
from kfeat.experiments.schedule import Engine, Observer
from kfeat.experiments.store import gathered_rows
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
    """All different combinations, the present setting first, and the printed number of each cell.

    `left_out` counts combinations with the same trials as an earlier one; `switches` has the alternatives.
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
    """Return the search over every combination of the switches' alternatives and present values.

    A combination with the same trials as an earlier one is left out. Raises ConfigError if no switch has
    alternatives or no printed number is for a cell with a map.
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
            f"{experiment.path}: nothing to search for: `reported.numbers` has none for a cell with a map"
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
    """Yield the printed number of each of the trials' cells that has one, and the positions of its trials."""
    cells: dict[str, list[int]] = {}
    for position, trial in enumerate(trials):
        cells.setdefault(trial.cell, []).append(position)
    for positions in cells.values():
        number = reported_numbers(experiment.reported, trials[positions[0]]).get(SCORE)
        if number is not None:
            yield number, positions


def search_rows(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows of a search below `root`: its own, its experiment's, and those of `rows_from`."""
    names = [experiment.name, *experiment.rows_from]
    return gathered_rows(root, [*(f"{name}/{FOLDER}" for name in names), *names])


def run_search(search: Search, root: Path, engine: Engine, observer: Observer) -> dict[str, Row]:
    """Run the trials that have no row yet, and return the rows; new ones go to the search's own folder."""
    rows = partial(search_rows, search.experiment, root)
    folder = root / search.experiment.name / FOLDER
    run_trials(search.trials, folder, engine, observer, rows)
    return rows()
