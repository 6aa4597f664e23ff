"""The config of what a search has found, which `kfeat run` and `kfeat fit` take."""

import os
from pathlib import Path
from typing import Any

from kfeat.data import Protocol
from kfeat.data.protocol import Validation, drawn
from kfeat.errors import ConfigError
from kfeat.experiments.names import experiment_name
from kfeat.saying import in_yaml, plain
from kfeat.tuning.candidates import solver_of
from kfeat.tuning.first_config import read_back
from kfeat.tuning.halving import Scored
from kfeat.tuning.setup import Setup

MARK = "# Found by `kfeat tune "


def check_place(path: Path) -> None:
    """Raise ConfigError for a path that cannot be a config, or has one that no search wrote."""
    experiment_name(path.resolve())
    try:
        begins = path.read_text(encoding="utf-8") if path.exists() else MARK
    except (OSError, UnicodeDecodeError):
        begins = ""
    if not begins.startswith(MARK):
        raise ConfigError(
            f"{path}: is there, and `kfeat tune` did not write it; give another name with --out"
        )


def tuned_config(setup: Setup, one: Scored, sentences: list[str]) -> str:
    """Return the config's text: one candidate on the data, with what is known of it as comments."""
    candidate, experiment = one.candidate, setup.experiment
    solver = in_yaml(solver_of(candidate, one.value, setup.options))
    lines = [
        f"{MARK}{plain(str(experiment.path))}`.",
        *(f"# {plain(one)}" for one in sentences),
        f"title: {in_yaml(experiment.title + ', tuned')}",
        f"dataset: {in_yaml(_source(setup.source))}",
        f"protocol: {in_yaml(_protocol(setup, candidate.scale))}",
        f"kernel: {in_yaml(candidate.kernel)}",
        *(() if candidate.map is None else ("maps:", f"  - {in_yaml(candidate.map)}")),
        "solvers:",
        f"  {'exact' if candidate.exact else 'mapped'}: {solver}",
        f"repeats: {experiment.settings[0].repeats}",
        f"seed: {experiment.seed}",
    ]
    if experiment.settings[0].memory != "in_core" and not candidate.exact:
        lines.append(f"memory: {experiment.settings[0].memory}")
    return read_back("\n".join(lines) + "\n")


def write_config(path: Path, text: str) -> None:
    """Write the config in one step: it is whole, or the old one."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None


def _source(source: Any) -> Any:
    if isinstance(source, str):
        return source
    return {**source.model_dump(mode="json", exclude_defaults=True), **_named(source)}


def _named(source: Any) -> dict[str, str]:
    """Return the name of generated data, which is a default of their model."""
    return {"name": source.name} if "name" in type(source).model_fields else {}


def _protocol(setup: Setup, scale: str) -> dict[str, Any]:
    """Return the protocol; a split that each repeat would draw anew is fixed as the search had it.

    Otherwise the next repeat would test on rows by which something was chosen here.
    """
    protocol: Protocol = setup.protocol
    given = protocol.given() | ({} if scale == "own" else {"scale": scale})
    if protocol.random:
        given["split"]["seed"] = setup.random_state
        if isinstance(protocol.split, Validation) and drawn(protocol.split.of):
            given["split"]["of"]["seed"] = setup.random_state
    return given
