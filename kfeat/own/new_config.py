"""A first config for your own data: how to read the file, which columns to leave out, and what to run."""

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data import load_raw
from kfeat.data.columns import comma_numbers, unnamed
from kfeat.data.dataset import Raw
from kfeat.data.files import open_content
from kfeat.data.formats.delimited import looks_like_data
from kfeat.data.formats.tables import roles
from kfeat.data.inspection import (
    COUNTS_ROWS,
    ColumnReport,
    copies_of,
    names_rows,
    nearly_numbers,
    reports,
    spelt_alike,
    table_in,
    tells_nothing,
)
from kfeat.data.reading import Reading, format_of
from kfeat.data.registry import registry
from kfeat.errors import ConfigError, DataError
from kfeat.experiments.load import load_experiment
from kfeat.experiments.names import experiment_name
from kfeat.kernels import Gaussian
from kfeat.parameters import did_you_mean
from kfeat.saying import in_yaml, plain

DELIMITERS = {"csv": ",", "tsv": "\t"}
OTHERS = (";", "\t", ",", "|")
USUAL_TARGETS = ("target", "label", "labels", "class", "y", "outcome", "response")
DENSE_VALUES = 200_000_000  # n d up to which a sparse matrix may become dense: 0.8 GB in float32
FOLDS = 5
TRAIN = 0.8  # of the rows, where the data have no test file
QUICK_EXACT = 3_000  # rows up to which an exact SVM takes seconds, also in cross-validation
SHOWN = 10  # columns or classes of a comment
MAPS = {
    "gaussian": ("orf", "orthogonal random features"),
    "laplacian": ("random_fourier", "random Fourier features"),
    "polynomial": ("tensor_sketch", "Tensor Sketch"),
    "linear": ("nystrom", "exact with as many landmarks as columns"),
}


@dataclass(frozen=True)
class Table:
    """The columns of a table, and how its file is read."""

    reports: tuple[ColumnReport, ...]
    n_rows: int
    reading: Reading

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, or their numbers where the first line does not name them."""
        return tuple(column.name for column in self.reports)

    @property
    def likely_target(self) -> str | None:
        """The one column with a name that targets usually have; None where there is none, or several."""
        found = [name for name in self.names if name.strip().lower() in USUAL_TARGETS]
        return found[0] if len(found) == 1 else None

    def features(self, target: str) -> list[ColumnReport]:
        """Return the useful columns beside the target."""
        useless = self.useless(target)
        return [one for one in self._others(target) if one.name not in useless]

    def useless(self, target: str) -> dict[str, str]:
        """Return the columns to leave out, each with the reason."""
        others = self._others(target)
        found = {one.name: why for one in others for why in self._against(one)}
        found |= {one.name: f"the same as {target}" for one in others if target in one.copies}
        if len(found) == len(others):  # row numbers may be times, if there is no other column
            found = {name: why for name, why in found.items() if why != COUNTS_ROWS}
        kept = [one for one in others if one.name not in found]
        found |= {copy: f"the same as {first}" for copy, first in copies_of(kept, None)}
        return {one.name: found[one.name] for one in others if one.name in found}

    def _others(self, target: str) -> list[ColumnReport]:
        """Return the columns beside the target that the user did not drop."""
        dropped = {target, *roles(self.names, self.reading)[1]}
        return [one for one in self.reports if one.name not in dropped]

    def _against(self, column: ColumnReport) -> Iterator[str]:
        """Yield the one reason to leave a column out, if there is one."""
        if column.name in unnamed(self.names[:1]):
            yield "no name, probably an index"
        elif column.holds == "nothing":
            yield "no value"
        elif names_rows(column, self.n_rows):
            yield nearly_numbers(column) if column.n_strays else "a different word in almost every row"
        elif why := tells_nothing(column):
            yield why


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
    text = format_of(path, reading) in DELIMITERS
    if text and reading.delimiter is None:
        delimiter = _delimiter(path, DELIMITERS[format_of(path, reading)])
        reading = reading.model_copy(update={"delimiter": delimiter})
    if text and reading.header is None and reading.columns is None:
        named = table_in(path, reading.model_copy(update={"header": True}))
        if looks_like_data(named):
            reading = reading.model_copy(update={"header": False})
    frame = table_in(path, reading)
    if frame is None:
        return None
    found = reports(frame, None, [], reading.decimal)
    if text and reading.decimal is None and any(comma_numbers(c.words) for c in found if c.holds == "words"):
        reading = reading.model_copy(update={"decimal": ","})
        frame = table_in(path, reading)
        found = reports(frame, None, [], ",")
    return Table(found, len(frame), reading)


def _delimiter(path: Path, usual: str) -> str | None:
    """Return the delimiter in the first line; None if it has the format's own.

    Runs of blanks are the delimiter if there is no other one and the first two lines have the same number of
    words, at least two.
    """
    with open_content(path) as content:
        line, second = (content.readline(1 << 20).decode("utf-8-sig", "replace") for _ in range(2))
    if usual in line:
        return None
    if found := max((one for one in OTHERS if one in line), key=line.count, default=None):
        return found
    return "whitespace" if 1 < len(line.split()) == len(second.split()) else None


def is_registered(data: str) -> bool:
    """Return whether DATA is the name of a dataset; a file of that name comes first."""
    return data in registry() and not Path(data).exists()


def new_config(
    data: str, path: Path, table: Table | None, *, target: str | None, test: str | None, task: Any,
    kernel: str, reading: Reading, **access: Any,
) -> str:  # fmt: skip
    """Return the text of a first config at `path` for a file with this table, or for a registered dataset.

    Raises ConfigError where no target is named, the target has a single class or is of another task, and
    DataError where the file cannot be read.
    """
    experiment_name(path.resolve())  # refuses a name that no folder of rows can have
    dataset: Any = data
    if is_registered(data):
        if target or test or task or reading.model_fields_set:
            raise ConfigError(
                f"--target, --test, --task and --set are for files of yours; {data} is a registered dataset"
            )
    else:
        if table is not None:
            target = _target(table, reading.target if target is None else target, data)
        dataset = _dataset(data, table, target, test, task, reading)
    raw = load_raw(dataset, **access)
    strays = [one for one in table.reports if one.name == target and one.n_strays] if table else []
    check_target(raw, target, task, nearly_numbers(strays[0]) if strays else None)
    words = isinstance(dataset, dict) and "categorical" in dataset
    return config_text(raw, dataset, kernel, words, path, _remarks(table, target))


def _target(table: Table, target: Any, data: str) -> str:
    """Return the name of the target column, given by name or by number from 0 (-1: the last)."""
    names = table.names
    if target is None:
        likely = f"; perhaps --target {table.likely_target}" if table.likely_target else ""
        raise ConfigError(
            f"{data}: no target: name the column with the labels with --target; the columns are "
            f"{', '.join(names[:12])}{', ...' * (len(names) > 12)}{likely}"
        )
    if target in names:
        return str(target)
    if re.fullmatch(r"-?\d+", str(target)) and -len(names) <= int(target) < len(names):
        return names[int(target)]
    near = did_you_mean(str(target), list(names))
    raise ConfigError(f"{data}: no column '{target}'{near}; the columns are {', '.join(names[:12])}")


def _dataset(
    data: str, table: Table | None, target: str | None, test: str | None, task: Any, reading: Reading
) -> dict[str, Any]:
    """Return the config's `dataset`: how to read the file, where the user's options come first."""
    found: dict[str, Any] = {"path": data} | ({} if test is None else {"test": test})
    if table is not None and target is not None:

        def place(name: str) -> str | int:
            return int(name) if table.reading.header is False else name

        found["target"] = place(target)
        found |= table.reading.model_dump(include={"delimiter", "header", "decimal"}, exclude_none=True)
        features = table.features(target)
        if any(column.holds == "words" for column in features):
            found["categorical"] = "one_hot"
        labels = [column for column in table.reports if column.name == target]
        if any(column.n_missing for column in [*labels, *features]):
            found["missing"] = "mean"
        if dropped := [place(name) for name in table.useless(target)] + (reading.drop or []):
            found["drop"] = dropped
    elif target is not None:
        found["target"] = target
    given = reading.model_dump(exclude_none=True, exclude={"target", "drop"})
    return found | given | ({} if task is None else {"task": task})


def check_target(raw: Raw, target: str | None, task: str | None, why: str | None = None) -> None:
    """Raise ConfigError for a target of a single class, or with too many numbers or words for classes.

    `why` says what is wrong with numbers that were read as words.
    """
    kinds = np.unique(raw.y)
    named = "target" if target is None else f"target '{target}'"
    if len(kinds) < 2:
        only = raw.label_names[0] if raw.label_names else f"{kinds[0]:.16g}"
        raise ConfigError(
            f"{raw.name}: the {named} has a single class, {only!r}, in all of its {len(raw.y):,} rows; "
            "name another column with --target"
        )
    many = len(kinds) > max(20, len(raw.y) // 2)
    if many and raw.label_names and (why or task is None):
        reason = f"it holds {why}; correct them" if why else "--task classification makes them classes"
        raise ConfigError(
            f"{raw.name}: the {named} has {len(kinds):,} different words in {len(raw.y):,} rows; {reason}"
        )
    if many and task == "classification" and not raw.label_names:
        raise ConfigError(
            f"{raw.name}: the {named} has {len(kinds):,} different numbers in {len(raw.y):,} rows, "
            "too many for classes; give --task regression"
        )


def config_text(raw: Raw, dataset: Any, kernel: str, words: bool, path: Path, remarks: list[str]) -> str:
    """Return a config for `kfeat run`, with the reason above each choice."""
    n, d = sum(len(part.y) for part in raw.parts.values()), raw.n_features
    n_train = len(raw.parts["train"].y) if "test" in raw.parts else int(TRAIN * n)
    sparse = raw.sparse and not (words and n * d <= DENSE_VALUES)
    scale, why = (
        ("unit_rows", "every row gets length 1, which keeps sparse data sparse")
        if sparse
        else ("zscore_numbers", "columns get mean 0 and variance 1, except those of 0 and 1")
        if words
        else ("zscore", "every column gets mean 0 and variance 1, so that no column dominates")
    )
    split: Any = {"kind": "fraction", "train": TRAIN, "seed": 0}
    if "test" in raw.parts:
        split = "official"
    lines = [
        plain(f"# {raw.name}: {n:,} rows, {d:,} feature{'s' * (d != 1)}; {_task(raw)}."),
        *remarks,
        f"# `kfeat run {path}` runs it, `kfeat tune {path} --budget 5m` searches for better choices.",
        f"title: {in_yaml(raw.name.replace('$', ' ').replace(chr(92), ' '))}",
        f"dataset: {in_yaml(dataset)}",
        f"# scale: {why}",
        "# split: the test rows are used only for the final score",
        f"protocol: {in_yaml({'scale': scale, 'split': split})}",
        f"kernel: {in_yaml(_kernel(kernel, raw, scale))}",
        "maps:",
        *(f"  {line}" for line in _map(kernel, n_train, d, sparse)),
        "solvers:",
        *(f"  {line}" for line in _solvers(raw, n_train, kernel)),
        "# how often the map is drawn; tables show the spread of the scores",
        "repeats: 3",
        "seed: 0",
    ]
    return read_back("\n".join(lines) + "\n")


def _kernel(name: str, raw: Raw, scale: str) -> dict[str, Any]:
    if name == "linear":
        return {"name": name}
    if name == "polynomial":
        gamma = 1.0 if scale == "unit_rows" else float(f"{1 / raw.n_features:.2g}")
        return {"name": name, "degree": 2, "gamma": gamma, "coef0": 1}
    try:  # the median distance is 0 where most rows are equal
        Gaussian("median").resolve(raw.parts["train"].X, 0)
    except DataError:
        return {"name": name, "gamma": "mean_distance"}
    return {"name": name, "gamma": "median"}


def _map(kernel: str, n_train: int, d: int, sparse: bool) -> list[str]:
    size = int(np.clip(n_train // 4 // 50 * 50, 50, 1000))
    name, words = MAPS["laplacian" if kernel == "gaussian" and sparse else kernel]
    entry: dict[str, Any] = {"name": name, "n_components": size}
    if kernel == "linear":
        entry |= {"n_components": min(size, 500, n_train, d), "landmarks": "rpcholesky"}
    return [f"# {words}; more of them approximate the kernel better and take longer", f"- {in_yaml(entry)}"]


def _solvers(raw: Raw, n_train: int, kernel: str) -> list[str]:
    """Return the lines of the solver and, as a comment, of the exact method to compare with."""
    exact: dict[str, Any]
    mapped: dict[str, Any]
    if raw.task == "regression":
        mapped = {"name": "ridge" if n_train < FOLDS else "ridge_cv"}
        exact = {"name": "kernel_ridge", "alpha": 1}
    else:
        rarest = int(np.unique(raw.parts["train"].y, return_counts=True)[1].min())
        # Each fold of the training rows most likely has two rows of every class.
        folds = (rarest if "test" in raw.parts else rarest * TRAIN) >= 2 * FOLDS
        # The features of other kernels can approximate a constant; the features of the linear kernel cannot.
        bias = {"bias": 1} if kernel == "linear" else {}
        mapped = {"name": "newton_cv", **bias} if folds else {"name": "newton", "C": 1, **bias}
        exact = {"name": "libsvm_cv"} if folds and n_train <= QUICK_EXACT else {"name": "libsvm", "C": 1}
    chosen = (
        f"; cross-validation on the training rows chooses {'alpha' if 'ridge' in mapped['name'] else 'C'}"
    )
    return [
        f"# a linear model on the map's features{chosen * mapped['name'].endswith('_cv')}",
        f"mapped: {in_yaml(mapped)}",
        "# the exact method, for comparison; it is slow on many rows. Remove the # to run it",
        f"# exact: {in_yaml(exact)}",
    ]


def _task(raw: Raw) -> str:
    if raw.task == "regression":
        return f"a regression of numbers from {raw.y.min():g} to {raw.y.max():g}"
    kinds, counts = np.unique(raw.y, return_counts=True)
    names = [raw.label_names[int(kind)] if raw.label_names else f"{kind:.16g}" for kind in kinds]
    return f"{len(kinds)} classes: {_counted(dict(zip(names, counts.tolist(), strict=True)))}"


def _remarks(table: Table | None, target: str | None) -> list[str]:
    """Return comments on columns of words, missing values, and columns to look at."""
    if table is None or target is None:
        return []
    notes = []
    features = table.features(target)
    labels = [column for column in table.reports if column.name == target]
    if words := {column.name: column.n_distinct for column in features if column.holds == "words"}:
        notes.append(f"# Columns of words, with the number of different words: {_counted(words)}.")
    if dates := [column.name for column in features if column.holds == "dates"]:
        notes.append(f"# Columns of dates, which become year, month, weekday and days: {', '.join(dates)}.")
    if missing := {column.name: column.n_missing for column in features if column.n_missing}:
        notes.append(f"# Missing values: {_counted(missing)}; `missing` says what replaces them.")
    if unlabelled := sum(column.n_missing for column in labels):
        notes.append(f"# Rows without a label, which are left out: {unlabelled:,}.")
    if useless := table.useless(target):
        left_out = "; ".join(f"{name} ({why})" for name, why in useless.items())
        notes.append(f"# Left out (`drop`): {left_out}.")
    looks = [(one.name, spelt_alike(one)) for one in [*labels, *features]]
    notes += [f"# Look at {name}: {alike}." for name, alike in looks if alike]
    return [plain(line) for line in notes]


def _counted(counts: dict[str, int]) -> str:
    shown = [f"{name} ({n:,})" for name, n in counts.items()]
    return ", ".join(shown[:SHOWN]) + ", ..." * (len(shown) > SHOWN)


def read_back(text: str) -> str:
    """Return the text of a config unchanged, after checking that kfeat can read it."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(text, encoding="utf-8")
        load_experiment(config)
    return text
