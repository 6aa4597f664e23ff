"""The text of a first config: YAML with a line of reason beside each choice."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.dataset import Raw
from kfeat.data.inspection import spelt_alike
from kfeat.experiments.load import load_experiment
from kfeat.saying import in_yaml, plain
from kfeat.tuning.columns import Columns
from kfeat.tuning.first_choices import Choice, enough_for_folds

# Rows up to which an exact kernel SVM takes seconds, also in cross-validation, and up to which minutes.
QUICK_EXACT, MOST_EXACT = 3_000, 20_000


def read_back(text: str) -> str:
    """Return the text of a config as it is, after kfeat has read it: no other one is given out."""
    with tempfile.TemporaryDirectory() as folder:
        tried = Path(folder) / "config.yaml"
        tried.write_text(text, encoding="utf-8")
        load_experiment(tried)
    return text


def config_text(
    raw: Raw,
    dataset: Any,
    choices: dict[str, Choice],
    columns: Columns | None,
    path: Path,
    target: str | None,
) -> str:
    """Return a config that `kfeat run` takes as it is."""
    protocol = {"scale": choices["scale"].value, "split": choices["split"].value}
    solver, exact = choices["solver"], _exact(raw)
    lines = [
        plain(f"# {raw.name}: {_size(raw)}; {_task(raw, target)}."),
        *_remarks(columns, target),
        f"# `kfeat run {path}` computes it, `kfeat tune {path} --budget 5m` looks for better choices.",
        f"title: {in_yaml(_title(raw.name))}",
        f"dataset: {in_yaml(dataset)}",
        f"# scale: {choices['scale'].why}",
        f"# split: {choices['split'].why}",
        f"protocol: {in_yaml(protocol)}",
        f"# {choices['kernel'].why}",
        f"kernel: {in_yaml(choices['kernel'].value)}",
        "maps:",
        f"  # {choices['map'].why}",
        f"  - {in_yaml(choices['map'].value)}",
        "solvers:",
        f"  # {solver.why}",
        f"  mapped: {in_yaml(solver.value)}",
        f"  # {exact[1]}",
        f"  # exact: {in_yaml(exact[0])}",
        "# how often the map is drawn: its spread is shown",
        "repeats: 3",
        "seed: 0",
    ]
    return "\n".join(lines) + "\n"


def _title(name: str) -> str:
    return name.replace("$", " ").replace("\\", " ")


def _size(raw: Raw) -> str:
    n = sum(len(part.y) for part in raw.parts.values())
    test = f", {len(raw.parts['test'].y):,} of them in the test file" if "test" in raw.parts else ""
    return f"{n:,} rows{test}, {raw.n_features:,} feature{'s' * (raw.n_features != 1)}"


def _task(raw: Raw, target: str | None) -> str:
    if raw.task == "regression":
        return f"regression: the target{_named(target)} has numbers from {raw.y.min():g} to {raw.y.max():g}"
    kinds, counts = np.unique(raw.y, return_counts=True)
    names = [raw.label_names[int(kind)] if raw.label_names else f"{kind:.16g}" for kind in kinds]
    shown = [f"{name} ({count:,})" for name, count in zip(names, counts, strict=True)]
    more = ", ..." * (len(shown) > 10)
    return f"the target{_named(target)} has {len(kinds)} classes: {', '.join(shown[:10])}{more}"


def _named(target: str | None) -> str:
    return "" if target is None else f" '{target}'"


def _remarks(columns: Columns | None, target: str | None) -> list[str]:
    """Return comments on columns of words, on missing values, and on what to look at, where there is any."""
    if columns is None:
        return []
    said = []
    features = columns.features(target)
    if words := {column.name: column.n_distinct for column in features if column.holds == "words"}:
        said.append(f"# Columns of words, with how many each has: {_counted(words)}.")
    if missing := {column.name: column.n_missing for column in features if column.n_missing}:
        said.append(f"# Missing values: {_counted(missing)}; `missing` says what takes their place.")
    if unlabelled := sum(column.n_missing for column in columns.reports if column.name == target):
        said.append(f"# Rows without a label, which are left out: {unlabelled:,}.")
    if useless := columns.useless(target):
        left_out = "; ".join(f"{name} ({why})" for name, why in useless.items())
        said.append(f"# Left out (`drop`): {left_out}.")
    labels = [column for column in columns.reports if column.name == target]
    said += [f"# Look at {one.name}: {alike}." for one in [*labels, *features] if (alike := spelt_alike(one))]
    return [plain(line) for line in said]


def _counted(counts: dict[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in counts.items()]
    return ", ".join(shown[:10]) + ", ..." * (len(shown) > 10)


def _exact(raw: Raw) -> tuple[dict[str, Any], str]:
    """Return the exact method to compare with, and what it takes."""
    n = len(raw.parts["train"].y)
    time = "seconds" if n <= QUICK_EXACT else "minutes" if n <= MOST_EXACT else "hours"
    machine: dict[str, Any]
    if raw.task == "regression":
        kind, machine = "kernel ridge regression", {"name": "kernel_ridge", "alpha": 1}
    elif n <= QUICK_EXACT and enough_for_folds(raw):
        kind, machine = "kernel SVM", {"name": "libsvm_cv"}
    else:
        kind, machine = "kernel SVM", {"name": "libsvm", "C": 1}
    tuned = "" if machine["name"] == "libsvm_cv" else f"; its {[*machine][1]} is a guess"
    return machine, f"the exact {kind} to compare with takes {time} on {n:,} rows: remove the # for it{tuned}"
