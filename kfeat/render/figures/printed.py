"""The paper's numbers as figures mark them, and whether a figure can be drawn; without matplotlib."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kfeat.analysis.cells import Cell
from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.paper import FigureLayout, ReportedNumber, reported_numbers, seconds_printed
from kfeat.experiments.plan import every_trial
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.run import neighbour_path


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

    def __init__(self, experiment: Experiment) -> None:
        self._others: list[Mapping[str, Mapping[str, ReportedNumber]]] = []
        for name in experiment.figure.numbers_from if experiment.figure else ():
            other = load_experiment(neighbour_path(experiment, name))
            trials = {trial.cell: trial for trial in every_trial(other, {})}
            self._others.append({cell: reported_numbers(other.reported, one) for cell, one in trials.items()})

    def of(self, cell: Cell, name: str) -> Printed | None:
        """Return what the paper prints of a quantity: its mean, or the time that stands beside the score."""
        quantity = cell.named(name)
        unread = replace(cell.trial, fingerprint=None).cell  # the other's data have not been looked up
        for numbers in (cell.printed, *(other[unread] for other in self._others if unread in other)):
            score = numbers.get(SCORE) or numbers.get(cell.named(SCORE).name)
            number = score if quantity == cell.named(SCORE) else numbers.get(quantity.name)
            if number is not None:
                return Printed(number.mean, number.sd)
            if score is not None and name in score.times:
                low, high = seconds_printed(score.times[name])
                return Printed((low + high) / 2) if low else Printed(high, bound=True)
        return None


def check_sizes(layout: FigureLayout, cells: Sequence[Cell]) -> None:
    """Raise ConfigError where a map has no number of features, and that is what the x axis shows."""
    unsized = [cell.trial.map.name for cell in cells if cell.trial.map and cell.size is None]
    if layout.x == "n_components" and unsized:
        raise ConfigError(
            f"figure: curves against n_components need that number of every map, and {unsized[0]} has none; "
            "use `figure: methods`"
        )


def check_figure(experiment: Experiment, cells: Sequence[Cell]) -> None:
    """Raise ConfigError if the figure that the experiment asks for cannot be drawn of its planned cells."""
    PaperNumbers(experiment)
    if experiment.figure is not None and experiment.figure.kind == "curves":
        check_sizes(experiment.figure, cells)
