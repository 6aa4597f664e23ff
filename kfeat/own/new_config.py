"""A first config for your own data: how to read the file, which columns to leave out, and what to run."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data import load_raw
from kfeat.data.columns import comma_numbers, listed
from kfeat.data.dataset import Raw
from kfeat.data.files import naming
from kfeat.data.formats.delimited import likely_delimiter, looks_like_data
from kfeat.data.formats.tables import column_called, roles
from kfeat.data.inspection import ColumnReport, class_counts, reports, table_in, useless
from kfeat.data.reading import Reading, format_of
from kfeat.data.registry import registry
from kfeat.errors import ConfigError, DataError
from kfeat.experiments.names import experiment_name
from kfeat.kernels import Gaussian
from kfeat.parameters import did_you_mean
from kfeat.saying import in_yaml, plain

DENSE_VALUES = 200_000_000  # n d up to which a sparse matrix may become dense: 0.8 GB in float32
FOLDS = 5
TRAIN = 0.8  # of the rows, where the data have no test file
QUICK_EXACT = 3_000  # rows up to which an exact SVM takes seconds, also in cross-validation
SHOWN = 10  # columns or classes of a comment


@dataclass(frozen=True)
class Table:
    """A table, its columns, and how its file is read."""

    frame: Any
    columns: tuple[ColumnReport, ...]
    reading: Reading

    @property
    def names(self) -> list[str]:
        """The names of the columns, or their numbers where the first line does not name them."""
        return [column.name for column in self.columns]


def table_of(data: str, reading: Reading) -> Table | None:
    """Return the columns of a table; None for a registered dataset, and for a format without named columns.

    Delimiter, header and decimal sign are detected where `reading` does not set them. Raises ConfigError if
    the file does not exist, and DataError if it cannot be read.
    """
    if is_registered(data):
        return None
    path = Path(data).expanduser()
    if not path.exists():
        near = did_you_mean(data, list(registry()))
        raise ConfigError(f"{data}: no such file, and no dataset of `kfeat data list` has this name{near}")
    text = format_of(path, reading) in ("csv", "tsv")
    if text and reading.delimiter is None:
        reading = reading.model_copy(update={"delimiter": likely_delimiter(path, reading)})
    named = text and reading.header is None and reading.columns is None
    if named and looks_like_data(table_in(path, reading.model_copy(update={"header": True}))):
        reading = reading.model_copy(update={"header": False})
    frame = table_in(path, reading)
    if frame is None:
        return None
    with naming(path):
        dropped = roles(list(frame.columns), reading)[1]
        columns = reports(frame, None, dropped)
    words = [one.words for one in columns if one.holds == "words"]
    if text and reading.decimal is None and any(map(comma_numbers, words)):
        reading = reading.model_copy(update={"decimal": ","})
        frame = table_in(path, reading)
        columns = reports(frame, None, dropped)
    return Table(frame, columns, reading)


def is_registered(data: str) -> bool:
    """Return whether DATA is the name of a dataset; a file of that name comes first."""
    return data in registry() and not Path(data).exists()


def new_config(
    data: str, path: Path, table: Table | None, *, target: str | None, test: str | None, task: Any,
    reading: Reading, **access: Any,
) -> str:  # fmt: skip
    """Return the text of a first config at `path` for a file with this table, or for a registered dataset.

    Raises ConfigError where no target is named, the target has a single class or almost only different words,
    and DataError where the file cannot be read.
    """
    experiment_name(path.resolve())  # refuses a name that no folder of rows can have
    dataset: Any = data
    remarks: list[str] = []
    if not is_registered(data):
        given = reading.model_dump(exclude_none=True)
        found: dict[str, Any] = {} if target is None else {"target": target}
        if table is not None:
            target = _target(table, reading.target if target is None else target, data)
            found, remarks = _described(table, target, given.get("drop", []))
        more = {"path": data, "test": test, **given, **found, "task": task}
        dataset = {key: value for key, value in more.items() if value is not None}
    elif target or test or task or reading.model_fields_set:
        raise ConfigError(
            f"--target, --test, --task and --set are for files of yours; {data} is a registered dataset"
        )
    raw = load_raw(dataset, **access)
    check_target(raw, target, task)
    return config_text(raw, dataset, path, remarks)


def _target(table: Table, target: Any, data: str) -> str:
    """Return the name of the target column, given by name or by number from 0 (-1: the last)."""
    if target is None:
        raise ConfigError(
            f"{data}: no target: name the column with the labels with --target; the columns are "
            f"{listed(table.names)}"
        )
    numbered = target not in table.names and re.fullmatch(r"-?\d+", str(target))
    with naming(Path(data)):
        return column_called(int(target) if numbered else target, table.names, "a target")


def _described(table: Table, target: str, dropped: list[Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what a config's `dataset` says of a table, where the user's options come first, and comments."""
    reading, left_out = table.reading, useless(table.frame, table.columns, target)
    used = [one for one in table.columns if one.role != "dropped" and one.name not in left_out]

    def place(name: str) -> str | int:
        return int(name) if reading.header is False else name

    found: dict[str, Any] = {"target": place(target)}
    found |= reading.model_dump(include={"delimiter", "header", "decimal"}, exclude_none=True)
    if any(one.holds == "words" and one.name != target for one in used):
        found["categorical"] = reading.categorical or "one_hot"
    remarks = []
    if missing := {one.name: one.n_missing for one in used if one.n_missing}:
        found["missing"] = reading.missing or "mean"
        remarks.append(f"# Missing values: {_counted(missing)}; `missing` says what replaces them.")
    if left_out:
        reasons = "; ".join(f"{name} ({why})" for name, why in left_out.items())
        remarks.append(f"# Left out (`drop`): {reasons}.")
    if dropped := [*map(place, left_out), *dropped]:
        found["drop"] = dropped
    return found, [plain(line) for line in remarks]


def check_target(raw: Raw, target: str | None, task: str | None) -> None:
    """Raise ConfigError for a target of a single class, or with too many words for classes."""
    kinds = np.unique(raw.y)
    named = "target" if target is None else f"target '{target}'"
    if len(kinds) < 2:
        only = raw.label_names[0] if raw.label_names else f"{kinds[0]:.16g}"
        raise ConfigError(
            f"{raw.name}: the {named} has a single class, {only!r}, in all of its {len(raw.y):,} rows; "
            "name another column with --target"
        )
    if raw.label_names and task is None and len(kinds) > max(20, len(raw.y) // 2):
        raise ConfigError(
            f"{raw.name}: the {named} has {len(kinds):,} different words in {len(raw.y):,} rows; "
            "--task classification makes them classes"
        )


def config_text(raw: Raw, dataset: Any, path: Path, remarks: list[str]) -> str:
    """Return a config for `kfeat run`, with the reason above each choice."""
    n, d = len(raw.y), raw.n_features
    n_train = len(raw.parts["train"].y) if "test" in raw.parts else int(TRAIN * n)
    words = isinstance(dataset, dict) and "categorical" in dataset
    sparse = raw.sparse and not (words and n * d <= DENSE_VALUES)
    scale, why = (
        ("unit_rows", "every row gets length 1, which keeps sparse data sparse")
        if sparse
        else ("zscore_numbers", "columns get mean 0 and variance 1, except those of 0 and 1")
        if words
        else ("zscore", "every column gets mean 0 and variance 1, so that no column dominates")
    )
    size = int(np.clip(n_train // 4 // 50 * 50, 50, 1000))
    split: Any = "official" if "test" in raw.parts else {"kind": "fraction", "train": TRAIN, "seed": 0}
    lines = [
        plain(f"# {raw.name}: {n:,} rows, {d:,} feature{'s' * (d != 1)}; {_task(raw)}."),
        *remarks,
        f"# `kfeat run {path}` runs it, `kfeat tune {path} --budget 5m` searches for better choices.",
        f"title: {in_yaml(raw.name.replace('$', ' ').replace(chr(92), ' '))}",
        f"dataset: {in_yaml(dataset)}",
        f"# scale: {why}",
        "# split: the test rows are used only for the final score",
        f"protocol: {in_yaml({'scale': scale, 'split': split})}",
        f"kernel: {{name: gaussian, gamma: {_gamma(raw)}}}",
        "maps:",
        "  # random features; more of them approximate the kernel better and take longer",
        f"  - {{name: {'random_fourier' if sparse else 'orf'}, n_components: {size}}}",
        "solvers:",
        *(f"  {line}" for line in _solvers(raw, n_train)),
        "# how often the map is drawn; tables show the spread of the scores",
        "repeats: 3",
        "seed: 0",
    ]
    return "\n".join(lines) + "\n"


def _gamma(raw: Raw) -> str:
    """Return the rule for the bandwidth: the median distance is 0 where most rows are equal."""
    try:
        Gaussian("median").resolve(raw.parts["train"].X, 0)
    except DataError:
        return "mean_distance"
    return "median"


def _solvers(raw: Raw, n_train: int) -> list[str]:
    """Return the lines of the solver and, as a comment, of the exact method to compare with."""
    if raw.task == "regression":
        folds, parameter = n_train >= FOLDS, "alpha"
        mapped, exact = "ridge_cv" if folds else "ridge", "kernel_ridge, alpha: 1"
    else:
        rarest, parameter = min(class_counts(raw, "train").values()), "C"
        # Each fold of the training rows most likely has two rows of every class.
        folds = (rarest if "test" in raw.parts else rarest * TRAIN) >= 2 * FOLDS
        mapped = "newton_cv" if folds else "newton, C: 1"
        exact = "libsvm_cv" if folds and n_train <= QUICK_EXACT else "libsvm, C: 1"
    return [
        f"# a linear model on the map's features{f'; cross-validation chooses {parameter}' * folds}",
        f"mapped: {{name: {mapped}}}",
        "# the exact method, for comparison; it is slow on many rows. Remove the # to run it",
        f"# exact: {{name: {exact}}}",
    ]


def _task(raw: Raw) -> str:
    """Return the task in words; the classes with their rows, of all parts."""
    if raw.task == "regression":
        return f"a regression of numbers from {raw.y.min():g} to {raw.y.max():g}"
    counts = Counter[str]()
    for part in raw.parts:
        counts.update(class_counts(raw, part))
    return f"{len(counts)} classes: {_counted(counts)}"


def _counted(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in counts.items()]
    return ", ".join(shown[:SHOWN]) + ", ..." * (len(shown) > SHOWN)
