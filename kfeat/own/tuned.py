"""The setup of a search from a config, and a config from the result of the search."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kfeat.data import Protocol, load_raw
from kfeat.data.protocol import Validation, drawn
from kfeat.errors import ConfigError
from kfeat.experiments.component import read_component
from kfeat.experiments.load import Experiment
from kfeat.experiments.names import experiment_name
from kfeat.experiments.plan import Trial, digest
from kfeat.own import file
from kfeat.own.bench import data_under
from kfeat.own.candidates import Entry, solver_of
from kfeat.own.halving import Scored
from kfeat.own.training import as_config
from kfeat.saying import in_yaml, plain

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
        """Return the arguments of a `Bench`."""
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
    file.check_place(path, "the tuned config")


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
