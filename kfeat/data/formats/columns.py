"""What the columns of a table are for: labels, features, groups, times, weights; and which rows are used."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.cells import (
    are_numbers,
    as_dates,
    as_numbers,
    check_cells,
    finite_numbers,
    holds,
    listed,
    words_error,
)
from kfeat.data.coding import FILL_IN
from kfeat.data.formats.delimited import read_labels
from kfeat.data.reading import Reading
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean
from kfeat.text import counted
from kfeat.weights import IN_RANGE, out_of_range

MISSING_VALUE = (
    "a missing value (empty, ?, NA, None or the like); set `missing` to drop, mean, most_frequent or word, "
    "or fill them in"
)


def numbers_by(cells: Any, kind: str) -> NDArray[Any]:
    """Return the numbers of groups, the times or the weights in the cells of a column.

    Raises DataError for a missing cell, a single group, words as times, and weights below 0 or all 0.
    """
    check_cells(cells.isna(), cells, f"a {kind} in every row", got="an empty cell", advice=FILL_IN)
    if kind == "group":
        groups, names = cells.factorize()
        if len(names) < 2:
            raise DataError(f"column {cells.name}: expected two groups or more, got one, {names[0]}")
        return np.asarray(groups)
    if kind == "weight":
        weights = finite_numbers(cells, 0)
        check_cells(weights < 0, cells, "a weight of 0 or more")
        check_cells(out_of_range(weights), cells, IN_RANGE)
        if not weights.any():
            raise DataError(f"column {cells.name}: expected a weight above 0, got 0 in every row")
        return weights
    if holds(cells) not in ("numbers", "dates"):
        raise words_error(cells, "a time is a number, or a date such as 2020-01-31")
    times = as_numbers(cells) if are_numbers(cells) else as_dates(cells).astype("datetime64[us]").to_numpy()
    check_cells(np.isnat(times) if times.dtype.kind == "M" else np.isnan(times), cells, "a date or a number")
    return times.astype(np.float64)


def roles(columns: Sequence[str], reading: Reading) -> tuple[str | None, list[str]]:
    """Return the target, None where none is named, and the columns to leave out.

    Raises DataError for columns that do not exist.
    """
    target = None if reading.target is None else column_called(reading.target, columns, "a target")
    dropped = [column_called(column, columns, "`drop`") for column in reading.drop or []]
    if target in dropped:
        raise DataError("expected the target to be kept, got it in `drop`")
    for option in ("levels", "missing_values", "decimal", "thousands"):
        given = getattr(reading, option)
        for name in given if isinstance(given, dict) else ():
            if name != "labels" or target is not None:
                column_called(name, columns, f"`{option}`")
    return target, dropped


def column_called(given: int | str, columns: Sequence[str], option: str) -> str:
    """Return the name of the column given by name, or by number from 0 (-1: the last)."""
    if given not in columns and re.fullmatch(r"-?\d+", str(given)):
        given = int(given)
    if isinstance(given, int):
        if not -len(columns) <= given < len(columns):
            raise DataError(f"expected {option} below {len(columns)}, its columns, got {given}")
        return columns[given]
    if given not in columns:
        near = did_you_mean(given, list(columns))
        raise DataError(f"{option}: no column '{given}'{near}; it has the columns {listed(columns)}")
    return given


def with_labels(frame: Any, target: str | None, beside: Path | None) -> tuple[Any, Any]:
    """Return the rows of one file and their labels, from a column of the file or from a file of labels."""
    columns = f"the columns {listed(list(frame.columns))}"
    if target is not None and beside is not None:
        raise DataError("expected `target` or a file of labels, got both")
    if target is not None:
        if target not in frame:
            raise DataError(f"expected the labels in a column {target}, got {columns}")
        return frame.drop(columns=target), frame[target]
    if beside is None:
        raise DataError(
            f"expected `target`, the column with the labels, or a file of labels; it has {columns}"
        )
    labels = read_labels(beside)
    if len(labels) != len(frame):
        n, got = counted(len(frame), "rows"), counted(len(labels), "labels")
        raise DataError(f"expected a label for each row, got {n} and {got}")
    return frame, labels


def used_rows(frame: Any, labels: Any, reading: Reading, dropped: Sequence[str]) -> tuple[Any, Any]:
    """Return the rows that are used: those with a label, and with `missing: drop` without a missing cell.

    Raises DataError naming rows where cells or labels are missing and `missing` is not set.
    """
    missing = frame.drop(columns=dropped, errors="ignore").isna()
    lacking, unlabelled = missing.any(axis=1).to_numpy(), labels.isna().to_numpy()
    if not lacking.any() and not unlabelled.any():
        return frame, labels
    if reading.missing is None:
        cells = frame[missing.any().idxmax()] if lacking.any() else labels
        check_cells(cells.isna(), cells, "a number or word in every cell", got=MISSING_VALUE)
    keep = ~(lacking | unlabelled) if reading.missing == "drop" else ~unlabelled
    if not keep.any():
        what = "with a label" if unlabelled.all() else "without missing cells"
        raise DataError(f"expected rows {what}, got none")
    return frame[keep].reset_index(drop=True), labels[keep].reset_index(drop=True)
