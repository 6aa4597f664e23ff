"""The file formats: each turns a dataset's files, by role, into its parts."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.arrays import canonical
from kfeat.data.coding import Coding, as_labels
from kfeat.data.dataset import Part, Raw
from kfeat.data.finite import check_finite_labels, check_finite_matrix
from kfeat.data.formats.contents import Contents
from kfeat.data.formats.cut import cut
from kfeat.data.models import Task
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable

MODULES = {"csv": "delimited", "tsv": "delimited", "npz": "named_arrays"}  # others have their own name
LABELS_BESIDE = ("csv", "tsv", "idx")  # which may have a file of labels
MOST_CLASSES = 20  # whole-number labels of more kinds than this are taken for regression targets


def read_files(files: Mapping[str, Path], reading: Reading, task: Task | None = None) -> Raw:
    """Return the dataset in some files, named after the first.

    `files` has "train" and perhaps "test", "train_labels", "test_labels". Without a task, labels that are
    words or up to 20 kinds of whole numbers make a classification, others a regression. Raises DataError
    naming the file, and line or row and column, for anything not finite numbers in the format expected.
    """
    name = format_of(files["train"], reading)
    check_roles(files, name)
    module = import_module(f"kfeat.data.formats.{MODULES.get(name, name)}")
    try:
        contents: Contents = module.read(files, reading)
        parts = contents.parts
        if reading.n_train is not None and not contents.columns:  # tables are cut before anything is learnt
            parts = cut_parts(parts, reading.n_train, str(files["train"]))
        for role, part in parts.items():
            check_part(part, str(files.get(role, files["train"])), parts["train"].X.shape[1])
    except KfeatError as error:
        raise DataError(printable(error)) from error
    # The readers are other libraries' parsers: what they raise on damaged bytes is open-ended.
    except Exception as error:
        raise DataError(f"{files['train']}: cannot be read as {name} ({printable(error)})") from error
    labels, task = encoded({role: part.y for role, part in parts.items()}, contents.label_names, task)
    if task == "regression" and contents.label_names:
        raise DataError(f"{files['train']}: expected numbers as targets of a regression, got words")
    for role, y in labels.items():
        if task == "classification" and (broken := y[(y != np.rint(y)) | (np.abs(y) >= 2**53)]).size:
            file = files.get(f"{role}_labels", files.get(role, files["train"]))
            raise DataError(
                f"{file}: expected words or whole numbers below 2^53 as classes, "
                f"got {broken[0]:.16g}; write words for them, or set `task: regression`"
            )
    parts = canonical({role: Part(part.X, labels[role]) for role, part in parts.items()})
    coding = coding_of(contents, parts["train"], task, reading)
    return Raw(files["train"].name, task, parts, contents.label_names, coding=coding)


def check_roles(files: Mapping[str, Path], name: str) -> None:
    """Raise DataError for a file of labels that the format does not have, or that belongs to no rows."""
    for role in ("train_labels", "test_labels"):
        if role in files and name not in LABELS_BESIDE:
            raise DataError(
                f"{files[role]}: the format {name} has its labels in the file of the rows; leave the file of "
                f"labels out ({', '.join(LABELS_BESIDE)} may have one)"
            )
    if "test_labels" in files and "test" not in files:
        raise DataError(f"{files['test_labels']}: expected the rows of these labels too; give `test`")


def coding_of(contents: Contents, train: Part, task: Task, reading: Reading) -> Coding:
    """Return how the columns became features and labels."""
    return Coding(
        task=task,
        width=len(contents.columns) or train.X.shape[1],
        columns=contents.columns,
        target=contents.target,
        label_names=contents.label_names,
        dropped=contents.dropped,
        n_dropped=contents.n_dropped,
        decimal=reading.decimal or ".",
        sparse=not isinstance(train.X, np.ndarray),
    )


def cut_parts(parts: Mapping[str, Part], n_train: int, file: str) -> dict[str, Part]:
    """Return a single part cut in two: its first n_train rows, and the others as the test part."""
    X = cut({role: part.X for role, part in parts.items()}, n_train, file)
    y = cut({role: part.y for role, part in parts.items()}, n_train, file)
    return {role: Part(X[role], y[role]) for role in X}


def encoded(
    labels: Mapping[str, NDArray[Any]], label_names: tuple[str, ...], task: Task | None
) -> tuple[dict[str, NDArray[Any]], Task]:
    """Return labels in the type that they keep from here on, and the task, inferred where it is None.

    Targets are float64; class labels are int64 where all are whole numbers, else float64.
    """
    typed = {role: as_labels(y) for role, y in labels.items()}
    if task is None:
        few = typed["train"].dtype.kind == "i" and len(np.unique(typed["train"])) <= MOST_CLASSES
        task = "classification" if label_names or few else "regression"
    return (typed if task == "classification" else {role: y.astype(float) for role, y in typed.items()}), task


def check_part(part: Part, file: str, width: int) -> None:
    """Raise DataError unless X and y are finite, not empty, as long as one another, and X of this width."""
    n, d = part.X.shape
    if d != width:
        raise DataError(f"{file}: expected rows of {width} features as in the training part, got {d}")
    if len(part.y) != n:
        raise DataError(f"{file}: expected a label for each of its {n} rows, got {len(part.y)} labels")
    if n == 0 or d == 0:
        raise DataError(f"{file}: expected rows and columns of data, got {n} rows and {d} columns")
    check_finite_matrix(part.X, f"{file}, ")
    check_finite_labels(part.y, f"{file}, ")
