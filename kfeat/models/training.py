"""From a trial of a config to a trained model, with what is known of its training."""

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from kfeat.batches import ArrayBatches, MappedBatches, stored
from kfeat.data import Dataset, FileSource, PinnedSource, Source, load
from kfeat.data.cache import cache_folder
from kfeat.data.reading import Reading, format_of
from kfeat.data.registry import entry
from kfeat.errors import ModelError, SolverError
from kfeat.experiments.component import Component, each
from kfeat.experiments.machine import environment
from kfeat.experiments.plan import Trial, dataset_name
from kfeat.models.estimator import KernelModel
from kfeat.models.predicting import accuracies


def train(trial: Trial, *, all_rows: bool = False, probabilities: bool = False, **access: Any) -> KernelModel:
    """Return the model of a trial: with the same data, seeds and numbers as the row that `kfeat run` makes.

    Raises DataError for bad data, SolverError where the solver is for another task or does not come to an
    end, ModelError for probabilities that there cannot be.
    """
    assert trial.solver is not None
    out_of_core = trial.memory == "out_of_core"
    seed = trial.seeds["data"]
    data = load(trial.source, trial.protocol, random_state=seed, on_disk=out_of_core, **access)
    kernel = trial.kernel.build().resolve(data.X_train, seed)
    solver = trial.solver.build(kernel=kernel, random_state=trial.seeds["solver"])
    if solver.task != data.task:
        raise SolverError(f"{trial.solver.name} is for {solver.task}, the data for {data.task}")
    if probabilities and (data.task == "regression" or out_of_core):
        why = "a regression has none" if data.task == "regression" else "they need all features in memory"
        raise ModelError(f"--probabilities: {why}; leave the option out")
    protocol = trial.protocol
    model = KernelModel(
        map=None if trial.map is None else trial.map.build(kernel=kernel, random_state=trial.seeds["map"]),
        solver=solver,
        scale=[step if isinstance(step, str) else step.model_dump() for step in protocol.scale],
        constant_features=protocol.constant_features,
        dtype=protocol.dtype,
        coding=data.coding,
        probabilities=probabilities,
    )
    assert data.preparation is not None
    start = perf_counter()
    model.fit_prepared(
        data.preparation,
        data.X_train,
        data.y_train,
        data.label_names,
        (lambda of, X: _in_batches(of, X, solver.out_of_core)) if out_of_core else None,
    )
    seconds = perf_counter() - start
    held_out = not all_rows and trial.protocol.split.kind != "all"  # whose test rows are the training rows
    scores = scores_of(model, data) if held_out else None
    model.about_ = _about(trial, data, scores, seconds)
    return model


def _in_batches(feature_map: Any, X: Any, how: str) -> Any:
    """Return features that need not fit in memory, as the solver takes them."""
    batches = MappedBatches(feature_map, X)
    if how == "one pass":
        return batches
    Z = stored(batches, cache_folder())
    return ArrayBatches(Z) if how == "passes" else Z


def scores_of(model: KernelModel, data: Dataset) -> dict[str, float]:
    """Return the accuracy on the test rows, or the errors of a regression."""
    from kfeat.solvers import regression_errors

    features = model.blocks_of_prepared(data.X_test)
    predicted = np.concatenate([model.solver_.predict(Z) for Z in features])
    if data.task == "regression":
        return {name: float(value) for name, value in regression_errors(data.y_test, predicted).items()}
    return accuracies(predicted, data.y_test)


def _about(trial: Trial, data: Dataset, scores: Any, seconds: float) -> dict[str, Any]:
    """Return what a model says of its training."""
    return {
        "task": data.task,
        "config": as_config(trial),
        "reading": reading_of(trial.source).model_dump(exclude_none=True),
        "trial": trial.id,
        "fingerprint": data.fingerprint,
        "verified": data.verified,
        "n_train": int(data.X_train.shape[0]),
        "n_test": 0 if scores is None else int(data.X_test.shape[0]),
        "scores": scores,
        "seconds": round(seconds, 4),
        "environment": environment(),
    }


def reading_of(source: Source) -> Reading:
    """Return how the files of a dataset are read, with the format named; of no files, the defaults."""
    if isinstance(source, FileSource):
        reading, path = source.reading, Path(source.path)
    else:
        forms = entry(dataset_name(source)).forms if isinstance(source, str | PinnedSource) else ()
        if not forms:  # bundled or generated data
            return Reading()
        reading, path = forms[0].reading, Path(forms[0].files["train"].path)
    return reading.model_copy(update={"format": format_of(path, reading)})


def as_config(trial: Trial) -> dict[str, Any]:
    """Return a config, as YAML has it, whose one method is that of the trial."""
    source, solvers = trial.source, {"exact" if trial.map is None else "mapped": _entry(trial.solver)}
    return {
        "title": f"A model of {dataset_name(trial.source)}",
        "dataset": source if isinstance(source, str) else source.model_dump(mode="json", exclude_none=True),
        "protocol": trial.protocol.given(),
        "kernel": _entry(trial.kernel),
        **({} if trial.map is None else {"maps": [_entry(trial.map)]}),
        "solvers": solvers,
        "repeats": 1,
        "seed": trial.seed,
        **({} if trial.memory == "in_core" else {"memory": trial.memory}),
    }


def _entry(component: Component | None) -> dict[str, Any]:
    assert component is not None
    return {"name": component.name, **{key: each(value, _entry) for key, value in component.given.items()}}
