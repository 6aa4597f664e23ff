"""What of a config a search is about: one dataset, one protocol, and the kernels and maps to begin with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data import Protocol, Source, load_raw
from kfeat.errors import ConfigError
from kfeat.experiments.component import Component
from kfeat.experiments.load import Experiment
from kfeat.experiments.plan import Trial, digest
from kfeat.tuning.candidates import Entry, Loss

VERSION = 4  # of what a row of a search means: raised when the same candidate gives other numbers
KEPT = ("class_weight", "bias")  # of a classifier's parameters, whatever its kind
LOGISTIC = (0, 6, 7)  # of LIBLINEAR's -s


@dataclass(frozen=True)
class Setup:
    """One dataset under one protocol, the seed that draws its rows, and what the config itself runs on it."""

    experiment: Experiment
    source: Source
    protocol: Protocol
    random_state: int
    kernels: list[Entry]
    maps: list[Entry]
    loss: Loss
    options: dict[str, Any]  # of the config's solver, which every candidate's solver has too
    identity: str

    @property
    def folder(self) -> Path:
        """Where the search is kept, below the folder of rows."""
        return Path(self.experiment.name) / "tune"

    def bench(self, seed: int, access: dict[str, Any]) -> dict[str, Any]:
        """Return what a `Bench` is made with."""
        data = {"source": self.source, "protocol": self.protocol, "random_state": self.random_state}
        return {"data": {**data, "access": access}, "seed": seed, "options": self.options}


def setup_of(experiment: Experiment, seed: int, **access: Any) -> Setup:
    """Return what a search of this config is about; reads the data.

    Where each repeat draws a split of its own, the search has that of the first. Raises ConfigError where
    there are several datasets or protocols.
    """
    sources = experiment.datasets
    protocols = list(dict.fromkeys(one for each in experiment.settings for one in each.protocols))
    for kind, found in (("dataset", sources), ("protocol", protocols)):
        if len(found) != 1:
            raise ConfigError(
                f"{experiment.path}: expected one {kind} to tune for, got {len(found)}; choose one, as in "
                f"--set {kind}=..., or write a config with one"
            )
    if protocols[0].split.kind == "all":
        raise ConfigError(
            f"{experiment.path}: with `split: all` the rows that choose would be those that score; choose "
            "another, as in --set 'protocol.split={kind: fraction, train: 0.8, seed: 0}'"
        )
    here = experiment.settings[0]
    source, protocol = sources[0], protocols[0]
    raw = load_raw(source, **access)
    fingerprint = raw.fingerprint
    trial = Trial(source, fingerprint, protocol, here.kernels[0], None, None, 0, experiment.seed)
    random_state = trial.seeds["data"]
    options = _options(here.mapped_solvers, raw.task)
    told = [fingerprint, raw.task, protocol.model_dump_json(), random_state, seed, str(options)]
    return Setup(
        experiment, source, protocol, random_state,
        kernels=[one.draws() for one in here.kernels],
        maps=[one.draws() for one in here.maps],
        loss=_loss(here.mapped_solvers[0]) if here.mapped_solvers else "squared_hinge",
        options=options,
        identity=digest([VERSION, *told])[:16],
    )  # fmt: skip


def _options(solvers: Sequence[Component], task: str) -> dict[str, Any]:
    """Return what a search keeps of a classifier's parameters: the weights of classes and the bias."""
    if task == "regression" or not solvers:
        return {}
    return {key: solvers[0].given[key] for key in KEPT if key in solvers[0].given}


def _loss(solver: Component) -> Loss:
    """Return the loss of a config's solver as the search takes it."""
    given = solver.parameters
    logistic = given.get("loss") == "logistic" or given.get("solver_type") in LOGISTIC
    return "logistic" if logistic else "squared_hinge"
