"""The setup of a search from a config, and a config from the result of the search."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kfeat.data import Protocol, Source, load_raw
from kfeat.data.protocol import Validation, drawn
from kfeat.errors import ConfigError
from kfeat.experiments.component import Component
from kfeat.experiments.load import Experiment
from kfeat.experiments.names import experiment_name
from kfeat.experiments.plan import Trial, digest
from kfeat.own.candidates import Entry, Loss, solver_of
from kfeat.own.halving import Scored
from kfeat.own.new_config import read_back
from kfeat.saying import in_yaml, plain

VERSION = 5  # of what a row of a search means: raised when the same candidate gives other numbers
KEPT = ("class_weight", "bias")  # of a classifier's parameters, whatever its kind
LOGISTIC = (0, 6, 7)  # of LIBLINEAR's -s
MARK = "# Found by `kfeat tune "


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

    def bench(self, seed: int, access: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a `Bench`."""
        data = {"source": self.source, "protocol": self.protocol, "random_state": self.random_state}
        return {"data": {**data, "access": access}, "seed": seed, "options": self.options}


def setup_of(experiment: Experiment, seed: int, **access: Any) -> Setup:
    """Return the setup of a search for this config; reads the data.

    If each repeat draws its own split, the search uses that of the first. Raises ConfigError where there are
    several datasets or protocols.
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
            f"{experiment.path}: with `split: all` the test rows would choose the method; choose another "
            "split, as in --set 'protocol.split={kind: fraction, train: 0.8, seed: 0}'"
        )
    here = experiment.settings[0]
    source, protocol = sources[0], protocols[0]
    raw = load_raw(source, **access)
    trial = Trial(source, raw.fingerprint, protocol, here.kernels[0], None, None, 0, experiment.seed)
    random_state = trial.seeds["data"]
    options = _options(here.mapped_solvers, raw.task)
    identity = [raw.fingerprint, raw.task, protocol.model_dump_json(), random_state, seed, str(options)]
    return Setup(
        experiment, source, protocol, random_state,
        kernels=[one.draws() for one in here.kernels],
        maps=[one.draws() for one in here.maps],
        loss=_loss(here.mapped_solvers[0]) if here.mapped_solvers else "squared_hinge",
        options=options,
        identity=digest([VERSION, *identity])[:16],
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


def check_place(path: Path) -> None:
    """Raise ConfigError for a path that cannot be a config, or has one that no search wrote."""
    experiment_name(path.resolve())
    try:
        begins = path.read_text(encoding="utf-8") if path.exists() else MARK
    except (OSError, UnicodeDecodeError):
        begins = ""
    if not begins.startswith(MARK):
        raise ConfigError(f"{path} exists, and `kfeat tune` did not write it; give another name with --out")


def tuned_config(setup: Setup, one: Scored, sentences: list[str]) -> str:
    """Return the config's text: one candidate on the data, with the `sentences` as comments."""
    candidate, experiment = one.candidate, setup.experiment
    lines = [
        f"{MARK}{plain(str(experiment.path))}`.",
        *(f"# {plain(one)}" for one in sentences),
        f"title: {in_yaml(experiment.title + ', tuned')}",
        f"dataset: {in_yaml(_source(setup.source))}",
        f"protocol: {in_yaml(_protocol(setup, candidate.scale))}",
        f"kernel: {in_yaml(candidate.kernel)}",
        *(() if candidate.map is None else ("maps:", f"  - {in_yaml(candidate.map)}")),
        "solvers:",
        f"  {'exact' if candidate.exact else 'mapped'}: "
        f"{in_yaml(solver_of(candidate, one.value, setup.options))}",
        f"repeats: {experiment.settings[0].repeats}",
        f"seed: {experiment.seed}",
    ]
    if experiment.settings[0].memory != "in_core" and not candidate.exact:
        lines.append(f"memory: {experiment.settings[0].memory}")
    return read_back("\n".join(lines) + "\n")


def _source(source: Any) -> Any:
    """Return a dataset as a config has it; the name of generated data is a default of their model."""
    if isinstance(source, str):
        return source
    named = {"name": source.name} if "name" in type(source).model_fields else {}
    return {**source.model_dump(mode="json", exclude_defaults=True), **named}


def _protocol(setup: Setup, scale: str) -> dict[str, Any]:
    """Return the protocol; a split that each repeat would draw again is fixed to the split of the search.

    Otherwise other repeats would test on rows that the search used to choose.
    """
    protocol = setup.protocol
    given = protocol.given() | ({} if scale == "own" else {"scale": scale})
    if protocol.random:
        given["split"]["seed"] = setup.random_state
        if isinstance(protocol.split, Validation) and drawn(protocol.split.of):
            given["split"]["of"]["seed"] = setup.random_state
    return given
