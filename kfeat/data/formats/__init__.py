"""The file formats: each turns a dataset's files, by role, into its parts."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.arrays import canonical
from kfeat.data.dataset import Part, Raw
from kfeat.data.models import Task
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable

MODULES = {"csv": "delimited", "tsv": "delimited", "npz": "named_arrays"}  # others have their own name
MOST_CLASSES = 20  # whole-number labels of more kinds than this are taken for regression targets
CHECKED_ROWS = 4096  # looked at together, so that a check costs no second copy of the data


def read_files(files: Mapping[str, Path], reading: Reading, task: Task | None = None) -> Raw:
    """Return the dataset in some files, named after the first.

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
    labels, task = encoded({role: part.y for role, part in parts.items()}, label_names, task)
    if task == "regression" and label_names:
        raise DataError(f"{files['train']}: expected numbers as targets of a regression, got words")
    parts = canonical({role: Part(part.X, labels[role]) for role, part in parts.items()})
    return Raw(files["train"].name, task, parts, label_names)


def cut(parts: Mapping[str, Part], n_train: int, file: str) -> dict[str, Part]:
    """Return a single part cut in two: its first n_train rows, and the others as the test part."""
    if "test" in parts:
        raise DataError(f"{file}: expected `n_train` or test rows of their own, got both")
    X, y = parts["train"].X, parts["train"].y
    if n_train >= len(y):
        raise DataError(f"{file}: expected more than n_train = {n_train} rows, got {len(y)}")
    return {"train": Part(X[:n_train], y[:n_train]), "test": Part(X[n_train:], y[n_train:])}


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


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as int64 where all are whole numbers, as float64 otherwise."""
    if np.issubdtype(y.dtype, np.integer):
        return y.astype(np.int64)
    whole = np.all(np.isfinite(y)) and np.all(y == np.rint(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64 if whole else np.float64)


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


def check_finite(part: Part, file: str) -> None:
    """Raise DataError naming the file, row and column (from 1) of the first NaN or infinity in X or y."""
    from scipy.sparse import issparse
    from sklearn.utils import gen_batches

    if issparse(part.X):
        bad = np.flatnonzero(~np.isfinite(part.X.data))
        if len(bad):
            row = int(np.searchsorted(part.X.indptr, bad[0], side="right"))
            raise not_finite(file, row, int(part.X.indices[bad[0]]) + 1, part.X.data[bad[0]])
    else:
        for batch in gen_batches(len(part.X), CHECKED_ROWS):
            found = np.argwhere(~np.isfinite(part.X[batch]))
            if len(found):
                row, column = batch.start + int(found[0, 0]), int(found[0, 1])
                raise not_finite(file, row + 1, column + 1, part.X[row, column])
    bad = np.flatnonzero(~np.isfinite(part.y))
    if len(bad):
        raise not_finite(file, int(bad[0]) + 1, "of the labels", part.y[bad[0]])


def not_finite(file: str, row: int, column: int | str, value: float) -> DataError:
    """Return the error for one value that is not finite."""
    return DataError(
        f"{file}, row {row}, column {column}: expected a finite number, got {value}; "
        "fill in or drop missing values before kfeat reads the file"
    )
