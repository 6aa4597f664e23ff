"""The search for a config: its data and setup, and the config that it writes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat import files
from kfeat.data import Raw
from kfeat.data.access import AS_SET, Access
from kfeat.data.labels import labels_under, positive_classes
from kfeat.data.matrix import holds_strings
from kfeat.data.protocol import Protocol
from kfeat.errors import ConfigError
from kfeat.experiments.component import read_component
from kfeat.experiments.config import Experiment
from kfeat.experiments.names import experiment_name
from kfeat.experiments.plan import Trial, digest
from kfeat.own.candidates import BOOSTING, ConfigEntry, linear_model, solver_of
from kfeat.own.fit import as_config, check_trainable
from kfeat.own.result import Prefer, SearchResult, preferred
from kfeat.own.scorer import data_under, protocol_under
from kfeat.own.scoring import default_metric, metric_of
from kfeat.text import in_yaml, plain

VERSION = 9  # of the record of a search: raised when the same candidate gives other numbers
KEPT = ("class_weight", "bias")  # of a classifier's parameters, whatever its kind
MARK = "# Found by `kfeat tune "


@dataclass(frozen=True)
class Setup:
    """One dataset under one protocol, with the seed that draws its rows, and what the config runs on it.

    `trial` has the data and the protocol, whose split leaves `n_train` rows to train; a candidate takes the
    place of its kernel, map and solver.
    """

    experiment: Experiment
    trial: Trial
    n_train: int
    kernels: list[ConfigEntry]
    maps: list[ConfigEntry]
    options: dict[str, Any]  # of the config's solver, which every candidate's solver has too
    metric: str
    why: str  # the metric is not the usual one
    identity: str  # of the search: its rows are in a file of this name

    def scorer(self, seed: int, access: Access = AS_SET) -> dict[str, Any]:
        """Return the arguments of a `Scorer`."""
        protocol = self.trial.protocol
        data = partial(data_under, trial=self.trial, n_train=self.n_train, access=access)
        cv = protocol.split.kind if protocol.split.kind in ("group", "time") else None
        capped = protocol.split.with_rows(1, self.n_train) is not None
        more = {"options": self.options, "metric": self.metric, "cv": cv, "capped": capped}
        return {"data": data, "seed": seed, **more}


def setup_of(experiment: Experiment, seed: int, metric: str | None = None, access: Access = AS_SET) -> Setup:
    """Return the setup of a search for this config; reads the data.

    If each repeat draws its own split, the search uses that of the first. Raises ConfigError where there are
    several datasets or protocols, fewer than two classes with two training rows, or a metric that does not
    suit the labels.
    """
    check_trainable(experiment)
    protocols = list(dict.fromkeys(chain(*(setting.protocols for setting in experiment.settings))))
    for kind, values in (("dataset", experiment.datasets), ("protocol", protocols)):
        if len(values) != 1:
            raise ConfigError(
                f"{experiment.path}: expected one {kind} to tune for, got {len(values)}; choose one, as in "
                f"--set {kind}=..."
            )
    source, protocol = experiment.datasets[0], protocols[0]
    if protocol.split.kind == "all":
        raise ConfigError(
            f"{experiment.path}: with `split: all` the test rows would choose the method; choose another "
            "split, as in --set 'protocol.split={kind: fraction, train: 0.8, seed: 0}'"
        )
    setting = experiment.settings[0]
    source.renew(access)
    raw = source.load(access)
    if holds_strings(raw.parts["train"].X):
        raise ConfigError(f"{experiment.path}: a search needs rows of numbers, and these are strings")
    trial = Trial(source, raw.fingerprint, protocol, setting.kernels[0], None, None, 0, experiment.seed)
    y, classes = training_labels(raw, protocol, trial), raw.task == "classification"
    metric, why = (metric, "") if metric else default_metric(y, classes)
    metric_of(metric, y, classes)
    given = setting.mapped_solvers[0].given if setting.mapped_solvers and raw.task == "classification" else {}
    options = {key: given[key] for key in KEPT if key in given}
    data = [raw.fingerprint, raw.task, protocol.model_dump_json(), trial.seeds["data"]]
    kernels, maps = ([entry.draws() for entry in entries] for entries in (setting.kernels, setting.maps))
    identity = digest([VERSION, *data, seed, str(options), metric])[:16]
    return Setup(experiment, trial, len(y), kernels, maps, options, metric, why, identity)


def training_labels(raw: Raw, protocol: Protocol, trial: Trial) -> NDArray[Any]:
    """Return the labels or targets of the training rows.

    Raises ConfigError if fewer than two classes have two of them, so that a fold would train a single class.
    """
    rows, _ = protocol.split.rows(raw, trial.seeds["data"])
    y = labels_under(raw, positive_classes(raw, protocol), rows)[rows]
    labels, counts = np.unique(y, return_counts=True)
    if raw.task == "classification" and counts.min() == 1 and (counts > 1).sum() < 2:
        label = labels[counts.argmin()]
        binary = protocol.binarise != "none" or not raw.label_names
        raise ConfigError(
            f"{raw.name}: the class {label if binary else raw.label_names[label]} has a single training row, "
            "and cross-validation needs two rows of two classes: add rows, or join it to another class"
        )
    return y


def check_places(config: Path, page: Path) -> None:
    """Raise an error for paths of a config and its page that take no file, or have one of another origin."""
    experiment_name(config.resolve())
    if config == page:
        raise ConfigError(f"{config} is the name of a web page; give another name with --out")
    for path in (config, page):
        try:
            begins = path.read_text(encoding="utf-8") if path.exists() else MARK
        except (OSError, UnicodeDecodeError):
            begins = ""
        if not begins.removeprefix("<!DOCTYPE html>\n<!-- ").startswith(MARK):
            raise ConfigError(
                f"{path} exists, and `kfeat tune` did not write it; give another name with --out"
            )
        files.check_place(path, "the tuned config")


def tuned_config(setup: Setup, result: SearchResult, prefer: Prefer, sentences: Sequence[str]) -> str:
    """Return the config's text: what is preferred on the data, with the `sentences` as comments."""
    experiment, scored = setup.experiment, preferred(result, prefer)
    candidate = linear_model(result.facts) if scored is None else scored.candidate
    value = 1.0 if scored is None else scored.value
    rows = None if scored is None else result.rows.get(scored)
    trial = replace(
        setup.trial,
        protocol=_protocol(setup, "none" if scored is None else candidate.scale, rows),
        kernel=read_component(candidate.kernel, "kernel"),
        map=None if candidate.map is None else read_component(candidate.map, "map"),
        solver=read_component(solver_of(candidate, value, setup.options), "solver"),
        memory="in_core" if candidate.map is None else experiment.settings[0].memory,
        baseline=candidate.linear,
    )
    config = as_config(trial, f"{experiment.title}, tuned", experiment.settings[0].repeats)
    if scored is None:
        weight = setup.options.get("class_weight", result.facts.class_weights[0])
        weights = {"class_weight": weight} if weight else {}
        config["solvers"] = {"baseline": {"name": BOOSTING[result.facts.task], **weights}}
    lines = [f"{MARK}{plain(str(experiment.path))}`.", *(f"# {plain(sentence)}" for sentence in sentences)]
    lines += [f"{key}: {in_yaml(value)}" for key, value in config.items()]
    return "\n".join(lines) + "\n"


def _protocol(setup: Setup, scale: str, rows: int | None) -> Protocol:
    """Return the protocol; a split that each repeat would draw again is fixed to the split of the search.

    Otherwise other repeats would test on rows that the search used to choose.
    """
    protocol = protocol_under(setup.trial.protocol, scale, rows, setup.n_train)
    return protocol.model_copy(update={"split": protocol.split.at(setup.trial.seeds["data"])})
