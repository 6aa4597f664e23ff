"""Whether the figure of an experiment can be drawn, found out before any rows, without matplotlib."""

from collections.abc import Sequence

from kfeat.analysis.cells import Cell
from kfeat.experiments.load import Experiment
from kfeat.render.figures.panels import points
from kfeat.render.figures.printed import PaperNumbers


def check_figure(experiment: Experiment, cells: Sequence[Cell]) -> None:
    """Raise ConfigError if the figure that the experiment asks for cannot be drawn of its planned cells."""
    PaperNumbers(experiment)
    if experiment.figure is not None and experiment.figure.kind == "curves":
        points(experiment.figure, cells)
