"""The file formats: each turns a dataset's files, by role, into its parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.arrays import canonical
from kfeat.data.formats.checks import check_finite
from kfeat.data.models import Part, Task, as_labels
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable

MODULES = {"csv": "delimited", "tsv": "delimited"}  # the others are named as their formats
MOST_CLASSES = 20  # whole-number labels of more kinds than this are taken for regression targets


@dataclass(frozen=True)
class Contents:
    """What a dataset's files hold: parts by name, the task, the words behind integer label codes."""

    parts: Mapping[str, Part]
    task: Task
    label_names: tuple[str, ...] = ()


def read_files(files: Mapping[str, Path], reading: Reading, task: Task | None = None) -> Contents:
    """Return the parts ("train", perhaps "test") in a dataset's files.

    `files` has "train" and perhaps "test", "train_labels", "test_labels". Without a task, labels that are
    words or up to 20 kinds of whole numbers make a classification, others a regression. Raises DataError
    naming the file, and line or row and column, for anything not finite numbers in the format expected.
    """
    name = format_of(files["train"], reading)
    module = import_module(f"kfeat.data.formats.{MODULES.get(name, name)}")
    try:
        parts, label_names = module.read(files, reading)
        if reading.n_train is not None:
            parts = cut(parts, reading.n_train, str(files["train"]))
        for role, part in parts.items():
            check_part(part, str(files.get(role, files["train"])), parts["train"].X.shape[1])
    except KfeatError as error:
        raise DataError(printable(error)) from error
    # The readers are other libraries' parsers: what they raise on damaged bytes is open-ended.
    except Exception as error:
        raise DataError(f"{files['train']}: cannot be read as {name} ({printable(error)})") from error
    labels = {role: as_labels(part.y) for role, part in parts.items()}
    task = task or ("classification" if label_names else inferred_task(labels["train"]))
    if task == "regression":
        if label_names:
            raise DataError(f"{files['train']}: expected numbers as targets of a regression, got words")
        labels = {role: y.astype(np.float64) for role, y in labels.items()}
    parts = canonical({role: Part(part.X, labels[role]) for role, part in parts.items()})
    return Contents(parts, task, label_names)


def cut(parts: Mapping[str, Part], n_train: int, file: str) -> dict[str, Part]:
    """Return a single part cut in two: its first n_train rows, and the others as the test part."""
    if "test" in parts:
        raise DataError(f"{file}: expected `n_train` or test rows of their own, got both")
    X, y = parts["train"].X, parts["train"].y
    if n_train >= len(y):
        raise DataError(f"{file}: expected more than n_train = {n_train} rows, got {len(y)}")
    return {"train": Part(X[:n_train], y[:n_train]), "test": Part(X[n_train:], y[n_train:])}


def inferred_task(y: NDArray[Any]) -> Task:
    """Return what the labels look like: few kinds of whole numbers are classes."""
    few = np.issubdtype(y.dtype, np.integer) and len(np.unique(y)) <= MOST_CLASSES
    return "classification" if few else "regression"


def check_part(part: Part, file: str, width: int) -> None:
    """Raise DataError unless X and y are finite, not empty, as long as one another, and X of this width."""
    n, d = part.X.shape
    if d != width:
        raise DataError(f"{file}: expected rows of {width} features as in the training part, got {d}")
    if len(part.y) != n:
        raise DataError(f"{file}: expected a label for each of its {n} rows, got {len(part.y)} labels")
    if n == 0 or d == 0:
        raise DataError(f"{file}: expected rows and columns of data, got {n} rows and {d} columns")
    check_finite(part, file)
