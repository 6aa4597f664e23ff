"""Training the model of a config: its one trial, the data, and the facts about the training."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd

from kfeat.batches import ArrayBatches, MappedBatches, stored
from kfeat.data import FileSource, load
from kfeat.data.cache import cache_folder
from kfeat.data.columns import listed
from kfeat.data.protocol import All
from kfeat.data.reading import Reading, format_of
from kfeat.errors import ConfigError, SolverError
from kfeat.experiments.component import Component, each
from kfeat.experiments.load import Experiment
from kfeat.experiments.machine import environment
from kfeat.experiments.plan import Trial, dataset_name
from kfeat.experiments.run import planned
from kfeat.own.model import KernelModel
from kfeat.own.predicting import scores_of


def only_trial(experiment: Experiment, all_rows: bool = False, **access: Any) -> Trial:
    """Return the first repeat of the one method of an experiment; with `all_rows`, trained on all of them.

    Raises ConfigError, naming the choices, where the experiment has several datasets,
    protocols, kernels, maps or solvers, or a measure.
    """
    trials = [trial for trial in planned(experiment, **access) if trial.repeat == 0]
    if any(trial.measure is not None for trial in trials):
        raise ConfigError(f"{experiment.path}: a `measure` trains nothing; give `solvers` instead")
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


def _choices(trials: Sequence[Trial]) -> list[str]:
    """Return the keys in which trials differ, each with its values."""
    frame = pd.DataFrame([trial.describe() for trial in trials], dtype=object)
    found: dict[str, str] = {}
    for key in map(str, frame):
        kinds = list(dict.fromkeys(map(str, frame[key].dropna())))
        if len(kinds) > 1 and key.split(".")[0] not in found:  # else its components differ themselves
            found[key] = f"{key}: {listed(kinds)}"
    return list(found.values())


def train(trial: Trial, **access: Any) -> KernelModel:
    """Return the model of a trial: with the same data, seeds and numbers as the row that `kfeat run` makes.

    Raises DataError for bad data, SolverError where the solver is for another task or does not finish.
    """
    assert trial.solver is not None
    out_of_core, protocol = trial.memory == "out_of_core", trial.protocol
    data = load(trial.source, protocol, random_state=trial.seeds["data"], on_disk=out_of_core, **access)
    assert data.preparation is not None
    kernel = trial.kernel.build().resolve(data.X_train, trial.seeds["data"])
    solver = trial.solver.build(kernel=kernel, random_state=trial.seeds["solver"])
    if solver.task != data.task:
        raise SolverError(f"{trial.solver.name} is for {solver.task}, the data for {data.task}")
    model = KernelModel(
        map=None if trial.map is None else trial.map.build(kernel=kernel, random_state=trial.seeds["map"]),
        solver=solver,
        scale=[step if isinstance(step, str) else step.model_dump() for step in protocol.scale],
        constant_features=protocol.constant_features,
        dtype=protocol.dtype,
        coding=data.coding,
    )
    start = perf_counter()
    features = (lambda of, X: _in_batches(of, X, solver.out_of_core)) if out_of_core else None
    model.fit_prepared(data.preparation, data.X_train, data.y_train, data.label_names, features)
    seconds = perf_counter() - start
    scores = None
    if held_out := protocol.split.kind != "all":  # whose test rows are the training rows
        scores = scores_of(data.task, model.predict_prepared(data.X_test), data.y_test)
    reading = Reading()
    if isinstance(trial.source, FileSource):  # later files are read likewise
        named = {"format": format_of(Path(trial.source.path), trial.source.reading)}
        reading = trial.source.reading.model_copy(update=named)
    model.about_ |= {
        "config": as_config(trial, f"A model of {dataset_name(trial.source)}"),
        "reading": reading.model_dump(exclude_none=True),
        "trial": trial.id,
        "fingerprint": data.fingerprint,
        "n_test": int(data.X_test.shape[0]) if held_out else 0,
        "scores": scores,
        "seconds": round(seconds, 4),
        "environment": environment(),
    }
    return model


def _in_batches(feature_map: Any, X: Any, how: str) -> Any:
    """Return features that need not fit in memory, as the solver takes them."""
    batches = MappedBatches(feature_map, X)
    if how == "one pass":
        return batches
    Z = stored(batches, cache_folder())
    return ArrayBatches(Z) if how == "passes" else Z


def as_config(trial: Trial, title: str, repeats: int = 1) -> dict[str, Any]:
    """Return a config, as YAML has it, whose one method is that of the trial."""
    source: Any = trial.source
    if not isinstance(source, str):  # the name of generated data is a default of their model
        named = {"name": source.name} if "name" in type(source).model_fields else {}
        source = {**source.model_dump(mode="json", exclude_defaults=True), **named}
    return {
        "title": title,
        "dataset": source,
        "protocol": trial.protocol.given(),
        "kernel": _entry(trial.kernel),
        **({} if trial.map is None else {"maps": [_entry(trial.map)]}),
        "solvers": {"exact" if trial.map is None else "mapped": _entry(trial.solver)},
        "repeats": repeats,
        "seed": trial.seed,
        **({} if trial.memory == "in_core" else {"memory": trial.memory}),
    }


def _entry(component: Component | None) -> dict[str, Any]:
    assert component is not None
    return {"name": component.name, **{key: each(value, _entry) for key, value in component.given.items()}}
