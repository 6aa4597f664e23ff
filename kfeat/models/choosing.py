"""The one trial of a config that a model is trained as."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kfeat.data.protocol import All
from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial
from kfeat.experiments.run import planned

SHOWN = 6  # values of one key in a message


def only_trial(experiment: Experiment, all_rows: bool = False, **access: Any) -> Trial:
    """Return the first repeat of the one method of an experiment; with `all_rows`, trained on all of them.

    Raises ConfigError, naming what there is to choose from, where the experiment has several datasets,
    protocols, kernels, maps or solvers, or a measure.
    """
    trials = [trial for trial in planned(experiment, **access) if trial.repeat == 0]
    if any(trial.measure is not None for trial in trials):
        raise ConfigError(f"{experiment.path}: a `measure` trains nothing; give `solvers` in its place")
    if all_rows:
        trials = list({trial.id: trial for trial in map(_on_all_rows, trials)}.values())
    if len(trials) > 1:
        raise ConfigError(
            f"{experiment.path}: expected one dataset, map and solver to train, got {len(trials)} "
            f"combinations: {'; '.join(_choices(trials))}; choose with --maps NAME, --no-exact or "
            "--set KEY=VALUE"
        )
    return trials[0]


def _on_all_rows(trial: Trial) -> Trial:
    return replace(trial, protocol=trial.protocol.model_copy(update={"split": All(kind="all", seed=0)}))


def _choices(trials: Sequence[Trial]) -> list[str]:
    """Return the keys in which trials differ, each with its values."""
    flats = [trial.describe() for trial in trials]
    found, named = [], set[str]()
    for key in dict.fromkeys(key for flat in flats for key in flat):
        part, _, parameter = key.partition(".")
        if parameter and part in named:  # of components that are not even the same
            continue
        values = list(dict.fromkeys(str(flat[key]) for flat in flats if key in flat))
        if len(values) > 1:
            named |= {key} if key in ("kernel", "map", "solver") else set()
            found.append(f"{key}: {', '.join(values[:SHOWN])}{', ...' * (len(values) > SHOWN)}")
    return found
