"""A search over the open switches: the experiment with every combination of their alternatives.

Only cells that a printed number speaks of are run, and no exact machine, which is slow. A printed number's
`for:` is matched on the experiment as its file has it: turning a switch replaces values in place, so that
the k-th trial of a combination is the k-th of the file's own with the switches turned, and stands for
the same number, whatever its keys say now. Each trial is an ordinary one, with the identity it would have in
an experiment written so: rows are found again, those of `kfeat run` too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from kfeat.data import Source
from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial, every_trial
from kfeat.experiments.run import RunObserver, run_pending
from kfeat.experiments.schema import ReportedNumber
from kfeat.experiments.selectors import reported_number
from kfeat.experiments.store import Row, gathered_rows
from kfeat.experiments.switches import turn
from kfeat.experiments.worker import WorkerOptions

FOLDER = "search"


@dataclass(frozen=True)
class Combination:
    """The switches that are turned, each to one of its alternatives, and the cells: their trials."""

    number: int
    turned: Mapping[str, Any]
    cells: Sequence[Sequence[Trial]]


@dataclass(frozen=True)
class Search:
    """All combinations, the present setting first; a printed number for each of their cells.

    `idle` has the alternatives that change nothing in these cells: they are no combinations.
    """

    experiment: Experiment
    switches: Mapping[str, Sequence[Any]]
    idle: Mapping[str, Sequence[Any]]
    numbers: Sequence[ReportedNumber]
    combinations: Sequence[Combination]

    @property
    def trials(self) -> list[Trial]:
        """Return the trials of all combinations, each once."""
        found = (t for c in self.combinations for cell in c.cells for t in cell)
        return list({trial.id: trial for trial in found}.values())


def search_space(experiment: Experiment, fingerprints: Mapping[Source, str]) -> Search:
    """Return what there is to try: every combination of the switches' alternatives and present values.

    Raises ConfigError if no switch has alternatives or no printed number speaks of a map's cell.
    """
    offered = {switch.key: switch.alternatives for switch in experiment.switches if switch.alternatives}
    if not offered:
        raise ConfigError(f"{experiment.path}: nothing to search: no switch has `alternatives`")
    cells = _Cells(experiment, fingerprints)
    switches: dict[str, list[Any]] = {}
    idle: dict[str, list[Any]] = {}
    for key, alternatives in offered.items():
        seen = [cells.ids({})]
        for value in alternatives:
            ids = cells.ids({key: value})
            (idle if ids in seen else switches).setdefault(key, []).append(value)
            seen.append(ids)
    grid = [[{}, *({key: value} for value in values)] for key, values in switches.items()]
    combinations = []
    for number, point in enumerate(product(*grid), start=1):
        values: dict[str, Any] = {key: value for part in point for key, value in part.items()}
        combinations.append(Combination(number, values, cells.turned(values)))
    return Search(experiment, switches, idle, cells.numbers, combinations)


class _Cells:
    """The cells of an experiment with a printed number, as positions in the list of its trials."""

    def __init__(self, experiment: Experiment, fingerprints: Mapping[Source, str]) -> None:
        self.experiment, self.fingerprints = experiment, fingerprints
        self.numbers: list[ReportedNumber] = []
        self.positions: list[list[int]] = []
        trials = list(self._mapped({}))
        cells: dict[str, list[int]] = {}
        for position, trial in enumerate(trials):
            cells.setdefault(trial.cell, []).append(position)
        for positions in cells.values():
            number = reported_number(experiment.reported, trials[positions[0]])
            if number is not None:
                self.numbers.append(number)
                self.positions.append(positions)
        if not self.numbers:
            raise ConfigError(
                f"{experiment.path}: nothing to search by: `reported.numbers` has none for a map's cell"
            )

    def _mapped(self, values: Mapping[str, Any]) -> Iterator[Trial]:
        trials = every_trial(turn(self.experiment, values), self.fingerprints)
        return (trial for trial in trials if trial.map is not None)

    def turned(self, values: Mapping[str, Any]) -> list[list[Trial]]:
        """Return the cells with these switches turned, in the order of `numbers`."""
        trials = list(self._mapped(values))
        cells = ({trials[i].id: trials[i] for i in positions} for positions in self.positions)
        return [list(cell.values()) for cell in cells]

    def ids(self, values: Mapping[str, Any]) -> list[list[str]]:
        """Return the identities of the cells' trials with these switches turned."""
        return [[trial.id for trial in cell] for cell in self.turned(values)]


def search_rows(experiment: Experiment, root: Path) -> dict[str, Row]:
    """Return the rows that a search finds below `root`: its own, its experiment's, and the shared ones."""
    names = [experiment.name, *experiment.rows_from]
    return gathered_rows(root, [*(f"{name}/{FOLDER}" for name in names), *names])


def run_search(
    search: Search, root: Path, options: WorkerOptions, observer: RunObserver, *, jobs: int = 1
) -> dict[str, Row]:
    """Run the trials that have no row yet, and return the rows; new ones go to the search's own folder."""
    there = partial(search_rows, search.experiment, root)
    folder = root / search.experiment.name / FOLDER
    run_pending(search.trials, there, folder, options, observer, jobs=jobs)
    return search_rows(search.experiment, root)
