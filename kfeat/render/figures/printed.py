"""The paper's numbers as figures mark them: the experiment's own, and those of experiments it names."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kfeat.analysis.cells import Cell
from kfeat.experiments.load import Experiment
from kfeat.experiments.paper import ReportedNumber
from kfeat.experiments.plan import every_trial
from kfeat.experiments.printed_times import seconds_printed
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.run import neighbour
from kfeat.experiments.selectors import reported_numbers


@dataclass(frozen=True)
class Printed:
    """A printed value with its standard deviation, if there is one; or an upper bound, such as `< 1 sec`."""

    value: float
    sd: float | None = None
    bound: bool = False


class PaperNumbers:
    """The printed numbers of an experiment's cells.

    Beside its own there are those of the experiments in `numbers_from` of its figure, each for the cells
    that both plan: equal data, protocol, kernel, map and solver. Raises ConfigError for an experiment that
    cannot be loaded.
    """

    def __init__(self, experiment: Experiment | None = None) -> None:
        layout = experiment.figure if experiment else None
        self._others: list[Mapping[str, Mapping[str, ReportedNumber]]] = []
        for name in layout.numbers_from if layout else ():
            assert experiment is not None
            other = neighbour(experiment, name)
            trials = {trial.cell: trial for trial in every_trial(other, {})}
            self._others.append(
                {cell: reported_numbers(other.reported, trial) for cell, trial in trials.items()}
            )

    def of(self, cell: Cell, name: str) -> Printed | None:
        """Return what the paper prints of a quantity: its mean, or the time that stands beside the score."""
        quantity = cell.named(name)
        for numbers in self._numbers(cell):
            score = numbers.get(SCORE) or numbers.get(cell.named(SCORE).name)
            number = score if quantity == cell.named(SCORE) else numbers.get(quantity.name)
            if number is not None:
                return Printed(number.mean, number.sd)
            if score is not None and name in score.times:
                low, high = seconds_printed(score.times[name])
                return Printed((low + high) / 2) if low else Printed(high, bound=True)
        return None

    def _numbers(self, cell: Cell) -> list[Mapping[str, ReportedNumber]]:
        unread = replace(cell.trial, fingerprint=None).cell  # the other's data have not been looked up
        return [cell.printed, *(other[unread] for other in self._others if unread in other)]
