"""Training the model of a config; a search's setup from a config, and its result as a config."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd

from kfeat import files
from kfeat.data import FileSource, Protocol, load_raw
from kfeat.data.columns import Reading, format_of, listed
from kfeat.data.protocol import All, Validation, drawn
from kfeat.data.sources import dataset_name
from kfeat.errors import ConfigError
from kfeat.experiments.clock import environment
from kfeat.experiments.component import Component, experiment_name, map_components, read_component
from kfeat.experiments.config import Experiment
from kfeat.experiments.plan import Trial, digest
from kfeat.experiments.run import planned
from kfeat.experiments.trial import estimators, features, load_data
from kfeat.own.bench import data_under
from kfeat.own.candidates import Entry, solver_of
from kfeat.own.model import KernelModel, scores_of
from kfeat.own.search import Scored
from kfeat.text import in_yaml, plain


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
    protocol, data = trial.protocol, load_data(trial, **access)
    assert data.preparation is not None
    _, feature_map, solver = estimators(trial, data)
    model = KernelModel(
        map=feature_map,
        solver=solver,
        scale=[step if isinstance(step, str) else step.model_dump() for step in protocol.scale],
        constant_features=protocol.constant_features,
        dtype=protocol.dtype,
        coding=data.coding,
    )
    start = perf_counter()
    mapped = partial(features, trial, timed=nullcontext())
    model.fit_prepared(data.preparation, data.X_train, data.y_train, data.label_names, mapped)
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
    return {
        "name": component.name,
        **{key: map_components(value, _entry) for key, value in component.given.items()},
    }


VERSION = 6  # of what a row of a search means: raised when the same candidate gives other numbers
KEPT = ("class_weight", "bias")  # of a classifier's parameters, whatever its kind
MARK = "# Found by `kfeat tune "


@dataclass(frozen=True)
class Setup:
    """One dataset under one protocol, with the seed that draws its rows, and what the config runs on it.

    `trial` has the data and the protocol; a candidate takes the place of its kernel, map and solver.
    """

    experiment: Experiment
    trial: Trial
    kernels: list[Entry]
    maps: list[Entry]
    options: dict[str, Any]  # of the config's solver, which every candidate's solver has too
    identity: str  # of the search: its rows are in a file of this name

    def bench(self, seed: int, access: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a `Scorer`."""
        given = {"source": self.trial.source, "protocol": self.trial.protocol, **access}
        data = partial(data_under, random_state=self.trial.seeds["data"], **given)
        return {"data": data, "seed": seed, "options": self.options}


def setup_of(experiment: Experiment, seed: int, **access: Any) -> Setup:
    """Return the setup of a search for this config; reads the data.

    If each repeat draws its own split, the search uses that of the first. Raises ConfigError where there are
    several datasets or protocols.
    """
    protocols = list(dict.fromkeys(one for each in experiment.settings for one in each.protocols))
    for kind, found in (("dataset", experiment.datasets), ("protocol", protocols)):
        if len(found) != 1:
            raise ConfigError(
                f"{experiment.path}: expected one {kind} to tune for, got {len(found)}; choose one, as in "
                f"--set {kind}=..."
            )
    source, protocol = experiment.datasets[0], protocols[0]
    if protocol.split.kind == "all":
        raise ConfigError(
            f"{experiment.path}: with `split: all` the test rows would choose the method; choose another "
            "split, as in --set 'protocol.split={kind: fraction, train: 0.8, seed: 0}'"
        )
    here = experiment.settings[0]
    raw = load_raw(source, **access)
    trial = Trial(source, raw.fingerprint, protocol, here.kernels[0], None, None, 0, experiment.seed)
    given = here.mapped_solvers[0].given if here.mapped_solvers and raw.task == "classification" else {}
    options = {key: given[key] for key in KEPT if key in given}
    data = [raw.fingerprint, raw.task, protocol.model_dump_json(), trial.seeds["data"]]
    kernels, maps = ([one.draws() for one in entries] for entries in (here.kernels, here.maps))
    identity = digest([VERSION, *data, seed, str(options)])[:16]
    return Setup(experiment, trial, kernels, maps, options, identity)


def check_place(path: Path) -> None:
    """Raise an error for a path that cannot be a config, has one that no search wrote, or takes no file."""
    experiment_name(path.resolve())
    try:
        begins = path.read_text(encoding="utf-8") if path.exists() else MARK
    except (OSError, UnicodeDecodeError):
        begins = ""
    if not begins.startswith(MARK):
        raise ConfigError(f"{path} exists, and `kfeat tune` did not write it; give another name with --out")
    files.check_place(path, "the tuned config")


def tuned_config(setup: Setup, one: Scored, sentences: list[str]) -> str:
    """Return the config's text: one candidate on the data, with the `sentences` as comments."""
    candidate, experiment = one.candidate, setup.experiment
    trial = replace(
        setup.trial,
        protocol=_protocol(setup, candidate.scale),
        kernel=read_component(candidate.kernel, "kernel"),
        map=None if candidate.map is None else read_component(candidate.map, "map"),
        solver=read_component(solver_of(candidate, one.value, setup.options), "solver"),
        memory="in_core" if candidate.exact else experiment.settings[0].memory,
    )
    title, repeats = f"{experiment.title}, tuned", experiment.settings[0].repeats
    lines = [f"{MARK}{plain(str(experiment.path))}`.", *(f"# {plain(one)}" for one in sentences)]
    lines += [f"{key}: {in_yaml(value)}" for key, value in as_config(trial, title, repeats).items()]
    return "\n".join(lines) + "\n"


def _protocol(setup: Setup, scale: str) -> Protocol:
    """Return the protocol; a split that each repeat would draw again is fixed to the split of the search.

    Otherwise other repeats would test on rows that the search used to choose.
    """
    protocol, seed = setup.trial.protocol, {"seed": setup.trial.seeds["data"]}
    given = protocol.given() | ({} if scale == "own" else {"scale": scale})
    if protocol.random:
        given["split"] |= seed
        if isinstance(protocol.split, Validation) and drawn(protocol.split.of):
            given["split"]["of"] |= seed
    return Protocol.model_validate(given)
