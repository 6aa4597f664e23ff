"""Tables of named columns, numbers or words, become a matrix, labels, and the coding of both."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kfeat.data.coding import coded_matrix
from kfeat.data.columns import Column, listed, quoted, rows_listed
from kfeat.data.dataset import Part
from kfeat.data.formats.contents import Contents
from kfeat.data.formats.cut import cut
from kfeat.data.formats.learning import (
    holds_words,
    is_declared,
    learn_column,
    levels_of,
    refuse_dates,
    refuse_mixed,
    refuse_strays,
)
from kfeat.data.reading import Reading
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean

Frames: TypeAlias = Mapping[str, Any]  # pandas data frames, or series of one column, by part


def coded(frames: Frames, reading: Reading, file: str) -> Contents:
    """Return the parts of tables whose target is one of the columns, and what was learnt of the columns."""
    columns = [str(name) for name in frames["train"].columns]
    target = target_column(columns, reading, file)
    dropped = dropped_columns(columns, reading, file)
    frames = {part: in_order(frame, columns, dropped, file) for part, frame in frames.items()}
    labels = {part: frame[target] for part, frame in frames.items()}
    return coded_beside(
        {part: frame.drop(columns=target) for part, frame in frames.items()},
        labels,
        reading,
        file,
        dropped,
        target,
    )


def in_order(frame: Any, columns: list[str], dropped: list[str], file: str) -> Any:
    """Return a test file's columns in the order of the training file's; a dropped one may be missing.

    Raises DataError naming the columns that are missing, and those that nobody knows.
    """
    there = [str(name) for name in frame.columns]
    known, enough = set(columns), {*there, *dropped}
    wrong = {
        "missing": [name for name in columns if name not in enough],
        "not known": [name for name in there if name not in known],
    }
    if any(wrong.values()):
        told = "; ".join(f"{what}: {listed(names)}" for what, names in wrong.items() if names)
        raise DataError(
            f"{file}: expected the test file to have the same columns as the training file; {told}"
        )
    found = set(there)
    return frame if there == columns else frame[[name for name in columns if name in found]]


def coded_beside(
    frames: Frames, labels: Frames, reading: Reading, file: str, dropped: list[str], target: str | None = None
) -> Contents:
    """Return the parts of tables whose labels are beside them; `target` is what the labels are called."""
    known = [*frames["train"].columns, *([target] if target else [])]
    for name in reading.levels or {}:
        if name not in (*known, "labels"):
            raise DataError(
                f"{file}: levels: no column '{name}'{did_you_mean(name, known)}; it has {named(known)}"
            )
    frames = {part: frame.drop(columns=dropped, errors="ignore") for part, frame in frames.items()}
    for part, frame in frames.items():
        if len(labels[part]) != len(frame):
            got = f"got {len(labels[part])} labels"
            raise DataError(f"{file}: expected a label for each of its {len(frame)} rows, {got}")
    if reading.n_train is not None:
        frames, labels = cut(frames, reading.n_train, file), cut(labels, reading.n_train, file)
    n_missing = {name: sum(int(f[name].isna().sum()) for f in frames.values()) for name in frames["train"]}
    whole = {part: whole_rows(frames[part], labels[part], reading, file) for part in frames}
    n_dropped = sum(len(frames[part]) - len(whole[part][0]) for part in frames)
    frames, labels = ({part: each[i] for part, each in whole.items()} for i in (0, 1))
    y, label_names = coded_labels(labels, reading, target or "labels", file)
    learnt = [
        learn_column(name, {part: frame[name] for part, frame in frames.items()}, reading, file)
        for name in frames["train"].columns
    ]
    columns = tuple(column.model_copy(update={"n_missing": n_missing[column.name]}) for column in learnt)
    parts = {part: Part(features(frame, columns, reading, file), y[part]) for part, frame in frames.items()}
    return Contents(parts, columns, target, label_names, tuple(dropped), n_dropped)


def features(frame: Any, columns: tuple[Column, ...], reading: Reading, file: str) -> Any:
    """Return the matrix of one part; raises DataError naming the file."""
    if not columns:
        return np.empty((len(frame), 0))
    try:
        return coded_matrix(frame, columns, decimal=reading.decimal or ".")
    except DataError as error:
        raise DataError(f"{file}, {error}") from None


def whole_rows(frame: Any, labels: Any, reading: Reading, file: str) -> tuple[Any, Any]:
    """Return the rows that are used: those with a label, and with `missing: drop` without a missing cell.

    Raises DataError naming rows where cells or labels are missing and nothing is said of them.
    """
    lacking = frame.isna().any(axis=1).to_numpy()
    unlabelled = labels.isna().to_numpy()
    if not (lacking.any() or unlabelled.any()):
        return frame, labels
    if reading.missing is None and unlabelled.any():
        raise missing_error(unlabelled, "of the labels", file, "set `missing`, or fill in the labels")
    if reading.missing is None:
        name = frame.columns[int(np.argmax(frame.isna().any(axis=0)))]
        rows = frame[name].isna().to_numpy()
        raise missing_error(rows, name, file, "set `missing` to drop, mean or most_frequent, or fill them in")
    if unlabelled.all():
        raise DataError(f"{file}: expected rows with a label, got none")
    keep = ~(lacking | unlabelled) if reading.missing == "drop" else ~unlabelled
    if not keep.any():
        raise DataError(f"{file}: expected rows without missing cells, got none; set `missing` to mean")
    return frame[keep].reset_index(drop=True), labels[keep].reset_index(drop=True)


def missing_error(rows: NDArray[np.bool_], column: str, file: str, advice: str) -> DataError:
    """Return the error for missing cells, naming their rows (from 1)."""
    return DataError(
        f"{file}, {rows_listed(rows)}, column {column}: expected a finite number or word in every cell, "
        f"got a missing value; {advice}"
    )


def target_column(columns: list[str], reading: Reading, file: str) -> str:
    """Return the name of the target column; raises DataError when it is not given or does not exist."""
    if reading.target is None:
        raise DataError(f"{file}: expected `target`, the column with the labels; it has {named(columns)}")
    if isinstance(reading.target, int) and not -len(columns) <= reading.target < len(columns):
        raise DataError(f"{file}: expected a target below {len(columns)}, its columns, got {reading.target}")
    return column_called(reading.target, columns, file)


def dropped_columns(columns: list[str], reading: Reading, file: str) -> list[str]:
    """Return the names of the columns that `drop` leaves out; raises DataError when one does not exist."""
    dropped = []
    for given in reading.drop or []:
        if isinstance(given, int) and not -len(columns) <= given < len(columns):
            raise DataError(f"{file}: expected `drop` below {len(columns)}, its columns, got {given}")
        dropped.append(column_called(given, columns, file))
    if reading.target is not None and target_column(columns, reading, file) in dropped:
        raise DataError(f"{file}: expected the target to be kept, got it in `drop`")
    return dropped


def column_called(given: int | str, columns: list[str], file: str) -> str:
    """Return the name of the column given by name, or by number from 0 (-1: the last)."""
    if isinstance(given, int):
        return columns[given]
    if given not in columns:
        raise DataError(f"{file}: no column '{given}'{did_you_mean(given, columns)}; it has {named(columns)}")
    return given


def named(columns: list[str]) -> str:
    """Return the names of columns for a message, cut to a dozen."""
    return f"the columns {listed(columns)}"


def coded_labels(
    labels: Frames, reading: Reading, name: str, file: str
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return labels as numbers: as they are, or words as codes 0, 1, ... beside the words."""
    if not holds_words(labels, reading, name):
        return {part: np.asarray(values, np.float64) for part, values in labels.items()}, ()
    levels = levels_of(labels, reading, name)
    refuse_dates(labels, reading, name, file)
    refuse_mixed(labels, reading, name, file)
    refuse_strays(labels, levels, reading, name, file, target=True)
    refuse_new_words(labels, reading, name, file)
    column = Column(name=name, kind="ordinal", words=tuple(levels))
    try:
        return {part: column.codes(values) for part, values in labels.items()}, column.words
    except DataError as error:
        raise DataError(f"{file}, {error}") from None


def refuse_new_words(labels: Frames, reading: Reading, name: str, file: str) -> None:
    """Raise DataError for labels that only test rows have, unless the words are declared."""
    if "test" not in labels or is_declared(reading, name):
        return
    known = set(labels["train"].map(str))
    new = [word for word in labels["test"].map(str).unique() if word not in known]
    if new:
        raise DataError(
            f"{file}, column {name}: expected the labels of the training rows in the test rows too, got "
            f"{quoted(new)}; write them alike, or declare all labels with `levels`"
        )
