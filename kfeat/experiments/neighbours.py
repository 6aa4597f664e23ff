"""Experiments that a config names, such as those of the same paper."""

from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment, load_experiment


def neighbour(experiment: Experiment, name: str) -> Experiment:
    """Return the experiment of this name, whose file lies where the name says, seen from `experiment`'s.

    Raises ConfigError where there is no such file, or a problem in it.
    """
    depth = experiment.name.count("/") + 1
    path = experiment.path.resolve().parents[depth - 1] / f"{name}.yaml"
    if not path.is_file():
        raise ConfigError(f"{experiment.path}: it names the experiment {name}, and there is no {path}")
    return load_experiment(path)
