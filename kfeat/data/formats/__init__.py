"""The file formats: each turns a dataset's files, by role, into its parts, and a file into blocks of rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.base import Task
from kfeat.data.coding import Coding, as_labels
from kfeat.data.content import naming
from kfeat.data.dataset import Contents, Raw
from kfeat.data.matrix import Matrix, Part, check_finite_labels, check_finite_matrix, compact
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, KfeatError
from kfeat.text import counted, printable

TABLES = (
    "csv",
    "tsv",
    "arff",
    "parquet",
)  # which have named columns; other formats have modules of their own
ROWS = 8192  # of a block
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
    with as_data_errors(files["train"], name):
        contents: Contents = reader_of(name).read(files, reading)
        parts, coding = contents.parts, contents.coding
        if reading.n_train is not None and coding is None:  # tables are cut before anything is learnt
            X_of = cut({role: part.X for role, part in parts.items()}, reading.n_train, files["train"])
            y_of = cut({role: part.y for role, part in parts.items()}, reading.n_train, files["train"])
            parts = {role: Part(X_of[role], y_of[role]) for role in X_of}
        for role, part in parts.items():
            check_part(part, str(files.get(role, files["train"])), parts["train"].X.shape[1])
    return as_raw(files["train"].name, parts, coding, task or contents.task, files)


def as_raw(
    name: str, parts: Mapping[str, Part], coding: Coding | None, task: Task | None,
    files: Mapping[str, Path | str],
) -> Raw:  # fmt: skip
    """Return the dataset in some parts, whose words are coded; messages name the `files` by role."""
    label_names = coding.label_names if coding else ()
    labels, task = encoded({role: part.y for role, part in parts.items()}, label_names, task)
    if task == "regression" and label_names:
        raise DataError(f"{files['train']}: expected numbers as targets of a regression, got words")
    for role, y in labels.items():
        if task == "classification" and (broken := y[(y != np.rint(y)) | (np.abs(y) >= 2**53)]).size:
            file = files.get(f"{role}_labels", files.get(role, files["train"]))
            raise DataError(
                f"{file}: expected words or whole numbers below 2^53 as classes, "
                f"got {broken[0]:.16g}; write words for them, or set `task: regression`"
            )
    parts = compact({role: Part(part.X, labels[role]) for role, part in parts.items()})
    sparse = not isinstance(parts["train"].X, np.ndarray)
    coding = coding or Coding(task, parts["train"].X.shape[1])
    facts = (tuple(coding.names), coding.target, coding.n_dropped)
    learnt = partial(replace, coding, task=task, sparse=sparse)
    return Raw(name, task, parts, label_names, None, False, *facts, learn=learnt)


@contextmanager
def as_data_errors(path: Path | str, name: str) -> Iterator[None]:
    """Turn any error of a format's reader into DataError: another library's parser may raise anything."""
    try:
        yield
    except DataError as error:
        raise type(error)(printable(error)) from error
    except KfeatError as error:
        raise DataError(printable(error)) from error
    except Exception as error:
        raise DataError(f"{path}: cannot be read as {name} ({printable(error)})") from error


def reader_of(name: str) -> Any:
    """Return what reads a format: `read` the parts of files, `blocks` a file in blocks of rows."""
    return import_module(f"kfeat.data.formats.{'tables' if name in TABLES else name}")


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


def cut(parts: Mapping[str, Any], n_train: int, file: Path) -> dict[str, Any]:
    """Return the only part, arrays or frames, as its first n_train rows and the others, the part "test"."""
    if "test" in parts:
        raise DataError(f"{file}: expected `n_train` or separate test rows, got both")
    rows = parts["train"]
    if n_train >= rows.shape[0]:
        raise DataError(f"{file}: expected more than n_train = {n_train} rows, got {rows.shape[0]}")
    return {"train": rows[:n_train], "test": rows[n_train:]}


def encoded(
    labels: Mapping[str, NDArray[Any]], label_names: tuple[str, ...], task: Task | None
) -> tuple[dict[str, NDArray[Any]], Task]:
    """Return labels in their final type, and the task, inferred where it is None.

    Targets are float64; class labels are int64 where all are whole numbers, else float64.
    """
    typed = {role: as_labels(y) for role, y in labels.items()}
    if task is None:
        few = typed["train"].dtype.kind == "i" and len(np.unique(typed["train"])) <= MOST_CLASSES
        task = "classification" if label_names or few else "regression"
    return (typed if task == "classification" else {role: y.astype(float) for role, y in typed.items()}), task


def check_part(part: Part, file: str, width: int) -> None:
    """Raise DataError unless X and y are finite, not empty, equally long, and X has this width."""
    n, d = part.X.shape
    if d != width:
        features = counted(width, "features")
        raise DataError(f"{file}: expected rows of {features} as in the training part, got {d:,}")
    if len(part.y) != n:
        rows, labels = counted(n, "rows"), counted(len(part.y), "labels")
        raise DataError(f"{file}: expected a label for each row, got {rows} and {labels}")
    if n == 0 or d == 0:
        raise DataError(
            f"{file}: expected rows and columns of data, got {counted(n, 'rows')} and {counted(d, 'columns')}"
        )
    check_finite_matrix(part.X, f"{file}, ")
    check_finite_labels(part.y, f"{file}, ")


@dataclass(frozen=True)
class Rows:
    """A block of a file's rows: features X (n, d) as training had them, labels y (n,) or None without them.

    `start` is the number of rows before the block.
    """

    X: Matrix
    y: NDArray[Any] | None
    start: int


def read_rows(
    path: Path, reading: Reading, coding: Coding, size: int = ROWS, labels: bool = True
) -> Iterator[Rows]:
    """Yield the rows of a file in blocks of at most `size`, coded as `coding` says, whatever their number.

    The file may lack the target column, which is not looked at unless `labels` are asked for, and its columns
    may have another order. One block is in memory at a time for csv, tsv, svmlight and parquet; arff, idx,
    mat and npz files are read as a whole.
    Raises DataError naming the file, and row and column of an unknown word or a missing cell.
    """
    name, start = format_of(path, reading), 0
    with as_data_errors(path, name), naming(path):
        for X, y in reader_of(name).blocks(path, reading, coding, size):
            yield coded_rows(X, y if labels else None, coding, start, labels)
            start += X.shape[0]
    if not start:
        raise DataError(f"{path}: expected rows of data, got none")


def coded_rows(X: Any, y: Any, coding: Coding, start: int, labels: bool) -> Rows:
    """Return one block of a frame, which may have the labels as a column, or of a matrix and its labels."""
    if y is not None:
        y = coding.typed_labels(y, start)
    elif labels and coding.target is not None and coding.target in getattr(X, "columns", ()):
        y = coding.labels(X, start)
    return Rows(coding.matrix(X, start), y, start)
