"""CSV, TSV and other tables of delimited text, with or without a header, with labels inside or beside."""

import csv
import io
import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kfeat.data.dataset import Part
from kfeat.data.files import open_content
from kfeat.data.formats.tables import coded, coded_features, coded_labels, is_number
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError

MISSING = {"", "na", "n/a", "nan", "-nan", "null", "none", "<na>", "?"}


def read(files: Mapping[str, Path], reading: Reading) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Return the parts of delimited text files; labels are the target column, or a file beside."""
    frames = {role: read_frame(path, reading) for role, path in files.items() if "labels" not in role}
    file = str(files["train"])
    if "train_labels" not in files:
        return coded(frames, reading, file)
    if reading.target is not None:
        raise DataError(f"{file}: expected `target` or a file of labels, got both")
    columns = {}
    for part in frames:
        if f"{part}_labels" not in files:
            raise DataError(f"{files[part]}: expected a file of labels for the test file too")
        labels = read_frame(files[f"{part}_labels"], Reading(format="csv", header=False, delimiter=","))
        if labels.shape[1] != 1:
            raise DataError(f"{files[f'{part}_labels']}: expected one label per line, got {labels.shape[1]}")
        columns[part] = labels.iloc[:, 0]
    y, label_names = coded_labels(columns, reading, "labels", file)
    X = coded_features(frames, list(frames["train"].columns), reading, file)
    return {part: Part(X[part], y[part]) for part in frames}, label_names


def read_frame(path: Path, reading: Reading) -> Any:
    """Return one file as a data frame; raises DataError naming line and column of what is wrong."""
    import pandas as pd

    separator = separator_of(path, reading)
    header = reading.columns is None if reading.header is None else reading.header
    # Before 3.1, pandas needs to be asked for the float64 nearest to the text; since then it always is.
    old = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
    exact: Any = {"float_precision": "round_trip"} if old else {}
    try:
        with open_content(path) as content, warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = pd.read_csv(
                content,
                sep=r"\s+" if separator == " " else separator,
                header=0 if header else None,
                names=reading.columns,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
                na_values=["?"],
                encoding="utf-8-sig",
                **exact,
            )
    except DataError:
        raise
    except (ValueError, OverflowError, Warning) as error:
        diagnose(path, reading, header)
        raise DataError(f"{path}: cannot be read as delimited text ({error})") from error
    if not len(frame):
        raise DataError(f"{path}: expected lines of data below the header, got none")
    frame.columns = [str(name) for name in frame.columns]
    if header and reading.header is None and all(is_number(name) for name in frame.columns):
        raise DataError(
            f"{path}: its first line looks like data, not like names; set `header` to true or false"
        )
    if frame.isna().any(axis=None) or (frame.select_dtypes("number").abs() == math.inf).any(axis=None):
        diagnose(path, reading, header)
        raise DataError(f"{path}: expected a finite number or word in every cell, got a missing value")
    return frame


def separator_of(path: Path, reading: Reading) -> str:
    """Return the delimiter given, or that of the format; `whitespace` and a blank mean any run of blanks."""
    if reading.delimiter is not None:
        return " " if reading.delimiter == "whitespace" else reading.delimiter
    return "\t" if format_of(path, reading) == "tsv" else ","


def diagnose(path: Path, reading: Reading, header: bool) -> None:
    """Raise DataError for the first ragged line or missing value; slow, but only a failed read comes here."""
    names: list[str] | None = None
    for line, cells in records(path, separator_of(path, reading)):
        if names is None:
            names = reading.columns or (cells if header else [str(number) for number in range(len(cells))])
            if header:
                continue
        if len(cells) != len(names):
            raise DataError(f"{path}, line {line}: expected {len(names)} columns, got {len(cells)}")
        for name, cell in zip(names, cells, strict=True):
            word = cell.strip().lower()
            if word in MISSING or word.lstrip("+-") in ("inf", "infinity"):
                raise DataError(
                    f"{path}, line {line}, column {name}: expected a finite number or word, got '{cell}'; "
                    "fill in or drop missing values before kfeat reads the file"
                )
    if names is None:
        raise DataError(f"{path}: expected lines of data, got an empty file")


def records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each line that is not empty."""
    with open_content(path) as content, io.TextIOWrapper(content, "utf-8-sig", newline="") as text:
        try:
            if separator == " ":
                yield from ((number, line.split()) for number, line in enumerate(text, 1) if line.strip())
            else:
                reader = csv.reader(text, delimiter=separator, skipinitialspace=True)
                yield from ((reader.line_num, cells) for cells in reader if cells)
        except (csv.Error, UnicodeDecodeError, TypeError) as error:
            raise DataError(f"{path}: expected UTF-8 text, delimited by '{separator}' ({error})") from None
