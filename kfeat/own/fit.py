"""Training the one method of a config."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import pandas as pd
from sklearn.model_selection import StratifiedKFold

from kfeat.data.access import AS_SET, Access
from kfeat.data.cells import listed
from kfeat.data.splits import All
from kfeat.errors import ConfigError, KfeatError
from kfeat.experiments.clock import environment
from kfeat.experiments.component import Component, map_components
from kfeat.experiments.config import Experiment
from kfeat.experiments.cost import effort
from kfeat.experiments.plan import Trial
from kfeat.experiments.run import planned
from kfeat.experiments.trial import estimators, features, load_data
from kfeat.own.candidates import BOOSTING
from kfeat.own.folds import folds_of
from kfeat.own.model import KernelModel
from kfeat.own.scoring import judged, scores_of

LONG, EVERY = 10_000, 20  # rows whose training is estimated, from one in so many


def only_trial(experiment: Experiment, all_rows: bool = False, access: Access = AS_SET) -> Trial:
    """Return the first repeat of the one method of an experiment; with `all_rows`, trained on all of them.

    Raises ConfigError, naming the choices, where the experiment has several datasets,
    protocols, kernels, maps or solvers, or a measure.
    """
    check_trainable(experiment)
    trials = [trial for trial in planned(experiment, access) if trial.repeat == 0]
    if all_rows:
        split = {"split": All(kind="all", seed=0)}
        whole = [replace(trial, protocol=trial.protocol.model_copy(update=split)) for trial in trials]
        trials = list({trial.id: trial for trial in whole}.values())
    if len(trials) > 1:
        raise ConfigError(
            f"{experiment.path}: expected one dataset, map and solver to train, got {len(trials)} "
            f"combinations: {'; '.join(_choices(trials))}; choose with --maps NAME, --no-exact or "
            "--set KEY=VALUE"
        )
    return trials[0]


def check_trainable(experiment: Experiment) -> None:
    """Raise ConfigError for a measure, and for a class that a model file cannot hold.

    That is one by its place, but for boosting.
    """
    for setting in experiment.settings:
        if setting.measures:
            raise ConfigError(f"{experiment.path}: a `measure` trains nothing; give `solvers` instead")
        for item in (*setting.kernels, *setting.maps, *setting.solvers.all):
            if item.place is not None and item.name not in BOOSTING.values():
                raise ConfigError(
                    f"{experiment.path}: a model file holds classes of kfeat and boosting alone, so "
                    f"{item.name} cannot be kept; choose others with --maps NAME, or another config"
                )


def _choices(trials: Sequence[Trial]) -> list[str]:
    """Return the keys in which trials differ, each with its values."""
    frame = pd.DataFrame([trial.describe() for trial in trials], dtype=object)
    choices: dict[str, str] = {}
    for key in map(str, frame):
        kinds = list(dict.fromkeys(map(str, frame[key].dropna())))
        if len(kinds) > 1 and key.split(".")[0] not in choices:  # else its components differ themselves
            choices[key] = f"{key}: {listed(kinds)}"
    return list(choices.values())


def train(
    trial: Trial,
    access: Access = AS_SET,
    *,
    probabilities: bool = False,
    say: Callable[[float], None] | None = None,
) -> KernelModel:
    """Return the model of a trial: with the same data, seeds and numbers as the row that `kfeat run` makes.

    With `probabilities`, a classifier without them learns them in three folds. `say` is called with an
    estimate of the seconds of a long training before it begins. Raises DataError for bad data, SolverError
    where the solver is for another task or does not finish.
    """
    protocol, data = trial.protocol, load_data(trial, access)
    assert data.preparation is not None
    _, feature_map, solver = estimators(trial, data)
    model = KernelModel(
        map=feature_map,
        solver=getattr(solver, "estimator", solver),  # boosting's, which has a place
        scale=[step if isinstance(step, str) else step.model_dump() for step in protocol.scale],
        constant_features=protocol.constant_features,
        dtype=protocol.dtype,
        coding=data.coding,
    )
    mapped = partial(features, trial, timed=nullcontext())
    X, y = data.X_train, data.y_train

    def seconds_on(rows: slice) -> float:
        start = perf_counter()
        weights = None if data.weights is None else data.weights[rows]
        model.fit_prepared(data.preparation, X[rows], y[rows], data.label_names, mapped, weights)
        return perf_counter() - start

    if probabilities and data.task == "regression":
        raise ConfigError("--probabilities: a regression has none; leave the option out")
    # Of a large map a fuller sample, so that it has two rows for each column.
    D = getattr(feature_map, "n_components", None) or 0
    every = min(EVERY, len(y) // (2 * max(D, 1)))
    if say and len(y) >= LONG and every > 1:
        with suppress(KfeatError, ValueError), warnings.catch_warnings(action="ignore"):  # of too few rows
            method = D, trial.exact, data.task == "regression"
            growth = effort(len(y), *method) / effort(len(y) / every, *method)
            say(growth * seconds_on(slice(None, None, every)))
    seconds = seconds_on(slice(None))
    if probabilities:
        three = StratifiedKFold(3, shuffle=True, random_state=0)
        cv = three if data.by is None else protocol.split.kind
        model.calibrate(X, y, folds_of(cv, y, data.by, True, 0), data.weights)
    scores = None
    if held_out := protocol.split.kind != "all":  # whose test rows are the training rows
        outputs = {m: model.predict_prepared(data.X_test, m) for m in judged(model)}
        classes = getattr(model.solver_, "classes_", None)
        scores = scores_of(outputs, data.y_test, classes, data.weights_test)
    model.about_ |= {
        "config": as_config(trial, f"A model of {trial.source.name}"),
        "reading": trial.source.later_reading().model_dump(exclude_none=True),
        "trial": trial.id,
        "fingerprint": data.fingerprint,
        "n_test": int(data.X_test.shape[0]) if held_out else 0,
        "scores": scores,
        "seconds": round(seconds, 4),
        "environment": environment(),
    }
    return model


def as_config(trial: Trial, title: str, repeats: int = 1) -> dict[str, Any]:
    """Return a config, as YAML has it, whose one method is that of the trial."""
    return {
        "title": title,
        "dataset": trial.source.given(),
        "protocol": trial.protocol.given(),
        "kernel": _entry(trial.kernel),
        **({} if trial.map is None else {"maps": [_entry(trial.map)]}),
        "solvers": {trial.role: _entry(trial.solver)},
        "repeats": repeats,
        "seed": trial.seed,
        **({} if trial.memory == "in_core" else {"memory": trial.memory}),
    }


def _entry(component: Component | None) -> dict[str, Any]:
    assert component is not None
    return {
        "name": component.name,
        **{key: map_components(value, _entry) for key, value in component.given.items()},
    }
