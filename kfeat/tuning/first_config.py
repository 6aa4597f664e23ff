"""The text of a first config: YAML with a line of reason beside each choice."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kfeat.data.dataset import Raw
from kfeat.saying import plain
from kfeat.tuning.columns import Columns
from kfeat.tuning.first_choices import Choice

MOST_EXACT = 20_000  # rows for which an exact kernel SVM takes minutes, not hours


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text: str = yaml.safe_dump(
        value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


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
        f"title: {flow(_title(raw.name))}",
        f"dataset: {flow(dataset)}",
        f"# scale: {choices['scale'].why}",
        f"# split: {choices['split'].why}",
        f"protocol: {flow(protocol)}",
        f"# {choices['kernel'].why}",
        f"kernel: {flow(choices['kernel'].value)}",
        "maps:",
        f"  # {choices['map'].why}",
        f"  - {flow(choices['map'].value)}",
        "solvers:",
        f"  # {solver.why}",
        f"  mapped: {flow(solver.value)}",
        f"  # {exact[1]}",
        f"  # exact: {flow(exact[0])}",
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
    return f"{n:,} rows{test}, {raw.n_features:,} features"


def _task(raw: Raw, target: str | None) -> str:
    if raw.task == "regression":
        return f"regression: the target{_named(target)} has numbers from {raw.y.min():g} to {raw.y.max():g}"
    kinds, counts = np.unique(raw.y, return_counts=True)
    names = [raw.label_names[int(kind)] if raw.label_names else f"{kind:g}" for kind in kinds]
    shown = [f"{name} ({count:,})" for name, count in zip(names, counts, strict=True)]
    more = ", ..." * (len(shown) > 10)
    return f"the target{_named(target)} has {len(kinds)} classes: {', '.join(shown[:10])}{more}"


def _named(target: str | None) -> str:
    return "" if target is None else f" '{target}'"


def _remarks(columns: Columns | None, target: str | None) -> list[str]:
    """Return a comment on columns of words and on missing values, where there are any."""
    if columns is None:
        return []
    said = []
    words = {name: n for name, n in columns.words.items() if name != target}
    if words:
        said.append(f"# Columns of words, with how many each has: {_counted(words)}.")
    if columns.missing:
        said.append(f"# Missing values: {_counted(columns.missing)}; `missing` says what takes their place.")
    if useless := columns.useless(target):
        said.append(f"# Left out, since they tell the rows and nothing else: {', '.join(useless)} (`drop`).")
    return [plain(line) for line in said]


def _counted(counts: dict[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in counts.items()]
    return ", ".join(shown[:10]) + ", ..." * (len(shown) > 10)


def _exact(raw: Raw) -> tuple[dict[str, Any], str]:
    """Return the exact machine to compare with, and what it takes."""
    regression = raw.task == "regression"
    machine = {"name": "kernel_ridge", "alpha": 1} if regression else {"name": "libsvm", "C": 1}
    n = len(raw.parts["train"].y)
    time = "seconds to minutes" if n <= MOST_EXACT else "hours"
    kind = "kernel ridge regression" if regression else "kernel SVM"
    return machine, f"the exact {kind} to compare with takes {time} on {n:,} rows: remove the # for it"
