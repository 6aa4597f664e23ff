"""CSV, TSV and other tables of delimited text, with or without a header, with labels inside or beside."""

import math
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from kfeat.data.coding import Coding
from kfeat.data.columns import UNNAMED, is_number, listed, repeated
from kfeat.data.files import open_content
from kfeat.data.formats.contents import Contents
from kfeat.data.formats.learning import are_numbers
from kfeat.data.formats.lines import (
    MISSING,
    check_lengths,
    diagnose,
    has_header,
    named_records,
    refuse_one_column,
    separator_of,
)
from kfeat.data.formats.tables import coded, coded_beside, dropped_columns, in_order
from kfeat.data.reading import Reading
from kfeat.errors import DataError


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts of delimited text files; labels are the target column, or a file beside."""
    frames = {role: read_frame(path, reading) for role, path in files.items() if "labels" not in role}
    file = str(files["train"])
    dropped = dropped_columns(list(frames["train"].columns), reading, file)
    for role, frame in frames.items():
        check_cells(files[role], frame.drop(columns=dropped, errors="ignore"), reading, dropped)
    if "train_labels" not in files:
        return coded(frames, reading, file)
    if reading.target is not None:
        raise DataError(f"{file}: expected `target` or a file of labels, got both")
    columns = list(frames["train"].columns)
    frames = {role: in_order(frame, columns, dropped, file) for role, frame in frames.items()}
    labels = {}
    for part in frames:
        if f"{part}_labels" not in files:
            raise DataError(f"{files[part]}: expected a file of labels for the test file too")
        labels[part] = read_labels(files[f"{part}_labels"])
    return coded_beside(frames, labels, reading, file, dropped)


def read_labels(path: Path) -> Any:
    """Return the labels of a file with one per line."""
    reading = Reading(format="csv", header=False, delimiter=",")
    labels = parsed(path, reading)
    check_cells(path, labels, reading)
    if labels.shape[1] != 1:
        raise DataError(f"{path}: expected one label per line, got {labels.shape[1]}")
    return labels.iloc[:, 0]


def read_frame(path: Path, reading: Reading) -> Any:
    """Return one file as a data frame, NaN where a cell is missing; raises DataError for what is no table."""
    frame = parsed(path, reading)
    if len(frame.columns) == 1:
        refuse_one_column(path, reading)
    return frame


def parsed(path: Path, reading: Reading) -> Any:
    """Return one file as a data frame, as pandas parses it."""
    import pandas as pd

    header = has_header(reading)
    words = [int(name) if not header and name.isdigit() else name for name in reading.levels or {}]
    try:
        with open_content(path) as content, warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = pd.read_csv(
                content, **options(path, reading), names=reading.columns, dtype=as_text(words)
            )
    except DataError:
        raise
    except (ValueError, OverflowError, Warning) as error:
        raise unreadable(path, reading, error) from error
    return checked(frame, path, reading)


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Any, None]]:
    """Yield one file as data frames of at most so many rows, of which one is in memory at a time."""
    import pandas as pd

    names = names_without_header(path, reading, coding)
    words = [column.name for column in coding.columns if column.words]
    if coding.target is not None and coding.label_names:
        words.append(coding.target)
    whole = False  # whether the lines have been found to be equally long
    try:
        with open_content(path) as content:
            reader: Any = None
            while True:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    if reader is None:
                        text = {**options(path, reading), "dtype": as_text(words), "chunksize": rows}
                        reader = pd.read_csv(content, **text, names=names)
                    frame = next(reader, None)
                if frame is None:
                    return
                checked(frame, path, reading, coding.names)
                if not whole and frame.iloc[:, -1].isna().any():
                    check_lengths(path, reading)
                    whole = True
                yield frame, None
    except DataError:
        raise
    except (ValueError, OverflowError, Warning) as error:
        raise unreadable(path, reading, error) from error


def names_without_header(path: Path, reading: Reading, coding: Coding) -> list[str] | None:
    """Return the names of a file's columns where its header does not tell them; the target may be missing.

    Raises DataError where the number of columns fits neither the rows with the target nor those without.
    """
    if (has_header(reading) and reading.columns is None) or not coding.columns:
        return None
    beside = len(coding.dropped) + (coding.target is not None)
    everything = reading.columns or [str(number) for number in range(coding.width + beside)]
    without = [name for name in everything if name != coding.target]
    given = reading.model_copy(update={"columns": None})
    n = len(named_records(path, given)[0])
    for names in (everything, without, coding.names):
        if len(names) == n:
            return names
    raise DataError(
        f"{path}: expected rows of {len(everything)} columns as in training, or {len(without)} without the "
        f"target, got {n}"
    )


def options(path: Path, reading: Reading) -> dict[str, Any]:
    """Return pandas' options for a file."""
    import pandas as pd

    separator = separator_of(path, reading)
    # Before 3.1, pandas needs to be asked for the float64 nearest to the text; since then it always is.
    old = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    return {
        "sep": r"\s+" if separator == " " else separator,
        "decimal": reading.decimal or ".",
        "header": 0 if has_header(reading) else None,
        "index_col": False,
        "skipinitialspace": True,
        "low_memory": False,
        "na_values": missing_words(path, reading),
        "keep_default_na": False,
        "encoding": "utf-8-sig",
        **exact,
    }


def missing_words(path: Path, reading: Reading) -> Any:
    """Return what stands for a missing cell; in a column whose `levels` have such a word it is that word."""
    declared = {name: MISSING.difference(words) for name, words in (reading.levels or {}).items()}
    if all(words == MISSING for words in declared.values()):
        return sorted(MISSING)
    names = named_records(path, reading)[0]
    by_name = {name: sorted(declared.get(name, MISSING)) for name in names}
    if has_header(reading) or reading.columns:
        return by_name
    return by_name | {int(name): words for name, words in by_name.items()}  # pandas counts the columns


def as_text(words: Sequence[str | int]) -> dict[str | int, str] | None:
    """Return pandas' option that keeps the cells of columns of words as they are written."""
    return dict.fromkeys(words, "str") or None


def unreadable(path: Path, reading: Reading, error: Exception | Warning) -> DataError:
    """Return the error for a file that pandas does not read; raises the one that names line and column."""
    diagnose(path, reading)
    return DataError(f"{path}: cannot be read as delimited text ({error})")


def checked(frame: Any, path: Path, reading: Reading, known: Collection[str] = ()) -> Any:
    """Return the frame, its columns named by text; raises DataError for no rows, or a header of numbers.

    A header that has all the `known` names is one, whatever it looks like.
    """
    if not len(frame):
        raise DataError(f"{path}: expected lines of data below the header, got none")
    frame.columns = [str(name) for name in frame.columns]
    named = bool(known) and set(known) <= set(frame.columns)
    if has_header(reading) and reading.header is None and not named and looks_like_data(frame):
        raise DataError(
            f"{path}: its first line looks like data, not like names; set `header` to true or false"
        )
    if has_header(reading) and reading.columns is None:
        refuse_repeated(path, reading)
    return frame


def refuse_repeated(path: Path, reading: Reading) -> None:
    """Raise DataError for a header that names two columns alike: nobody could tell which is meant."""
    names = named_records(path, reading)[0]
    if several := repeated(names):
        raise DataError(
            f"{path}: expected each name once in its first line, got more of {listed(several)}; name all "
            "columns anew with `columns: [...]` and `header: true`"
        )


def looks_like_data(frame: Any) -> bool:
    """Return whether the names of columns look like a row of data.

    They do where all are numbers. Where some are, every column of numbers has to have one of them, since a
    word above numbers is a name; then they do if half or more are numbers, or if a word comes again below
    itself. Numbers that count up, by 1 or in equal steps, may be names: of questions, or of years. pandas
    writes a number that comes again as 0.0, 0.0.1, 0.0.2.
    """
    names = list(frame.columns)
    known = set(names)
    first = [re.sub(r"\.\d+$", "", name) for name in names]
    names = [base if base in known else name for base, name in zip(first, names, strict=True)]
    numbers = [float(name) for name in names if is_number(name)]
    if len(numbers) == len(names):
        return True
    numeric = {name for i, name in enumerate(names) if are_numbers(frame.iloc[:, i])}
    if counts_up(numbers) or not any(map(is_number, numeric)) or any(map(is_name, numeric)):
        return False
    words = ((name, frame.iloc[:, i]) for i, name in enumerate(names) if is_name(name))
    return 2 * len(numbers) >= len(names) or any((cells == name).any() for name, cells in words)


def is_name(word: str) -> bool:
    """Return whether a word in the first line is no number, and nothing that stands for a missing one."""
    return not (is_number(word) or word in MISSING or word.startswith(UNNAMED))


def counts_up(numbers: Sequence[float]) -> bool:
    """Return whether each number is the one before and 1, or three or more rise in equal steps."""
    steps = [after - before for before, after in pairwise(numbers)]
    if not all(math.isclose(step, steps[0], rel_tol=1e-6) for step in steps):
        return False
    return not steps or steps[0] == 1 or (len(steps) > 1 and steps[0] > 0)


def check_cells(path: Path, frame: Any, reading: Reading, dropped: Sequence[str] = ()) -> None:
    """Raise DataError naming line and column of infinity, of a missing cell or of a line that is too short.

    Missing cells are left where `missing` says what to do about them, and in columns that are dropped.
    """
    lacking = bool(frame.isna().any(axis=None))
    numbers = frame.select_dtypes("number")
    infinite = numbers.columns[(numbers.abs() == math.inf).any()]
    if len(infinite) or (lacking and reading.missing is None):
        diagnose(path, reading, dropped, infinite)
        raise DataError(f"{path}: expected a finite number or word in every cell, got a missing value")
    if lacking:
        check_lengths(path, reading)
