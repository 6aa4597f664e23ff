"""CSV, TSV and other tables of delimited text, parsed by pandas; what it refuses is said by line."""

import csv
import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from kfeat.data.coding import Coding
from kfeat.data.columns import UNNAMED, are_numbers, is_number, listed, repeated
from kfeat.data.files import open_content
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError

# What stands for a missing cell: `?`, and what pandas takes for one, whose list would differ by its version.
MISSING = frozenset(
    {
        *("", "?", "NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    }
)
DELIMITERS = {
    ";": "';'",
    "\t": '"\\t"',
    "|": "'|'",
    ",": "','",
    " ": "whitespace",
}  # and how YAML writes them
LOOKED_AT = 20  # lines that tell the delimiter


def read_frame(path: Path, reading: Reading, coding: Coding | None = None) -> Any:
    """Return one file as a data frame, NaN where a cell is missing; raises DataError for what is no table."""
    frame = parsed(path, reading, coding)
    if len(frame.columns) == 1 and (hint := other_delimiter(path, reading)):
        raise DataError(f"{path}: expected several columns, got one in every line{hint}")
    return frame


def read_labels(path: Path) -> Any:
    """Return the labels of a file with one per line."""
    return parsed(path, Reading(format="csv", header=False, delimiter=",", columns=["labels"]))["labels"]


def parsed(path: Path, reading: Reading, coding: Coding | None = None) -> Any:
    """Return one file as a data frame, its columns named by text."""
    import pandas as pd

    names = names_of(path, reading, coding)
    with open_content(path) as content, in_sentences(path, reading, names):
        frame = pd.read_csv(content, **options(path, reading, names, coding))
    return checked(frame, names, path, reading, coding)


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[Any]:
    """Yield one file as data frames of at most so many rows, of which one is in memory at a time."""
    import pandas as pd

    names = names_of(path, reading, coding)
    with open_content(path) as content:
        with in_sentences(path, reading, names):
            reader = pd.read_csv(content, chunksize=rows, **options(path, reading, names, coding))
        while True:
            with in_sentences(path, reading, names):
                frame = next(reader, None)
            if frame is None:
                return
            yield checked(frame, names, path, reading, coding)


def options(path: Path, reading: Reading, names: Sequence[str], coding: Coding | None) -> dict[str, Any]:
    """Return pandas' options for a file, whose columns are known by number; known words stay text.

    What stands for a missing cell is a word like others in a column whose `levels` have it.
    """
    import pandas as pd

    missing: Any = sorted(MISSING)
    levels = reading.levels or {}
    words = {*levels, *coding.words} if coding else {*levels}
    if coding and coding.label_names and coding.target:
        words.add(coding.target)
    if not all(map(MISSING.isdisjoint, levels.values())):
        missing = {i: sorted(MISSING.difference(levels.get(name, ()))) for i, name in enumerate(names)}
    # Before 3.1, pandas needs to be asked for the float64 nearest to the text; since then it always is.
    old = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
    return {
        **layout(path, reading),
        "header": 0 if has_header(reading) else None,
        "names": list(range(len(names))),
        "dtype": {i: "str" for i, name in enumerate(names) if name in words},
        "decimal": reading.decimal or ".",
        "low_memory": False,
        "na_values": missing,
        "keep_default_na": False,
        **({"float_precision": "round_trip"} if old else {}),
    }


def layout(path: Path, reading: Reading) -> dict[str, Any]:
    """Return pandas' options for the lines of a file."""
    separator = separator_of(path, reading)
    return {
        "sep": r"\s+" if separator == " " else separator,
        "index_col": False,
        "skipinitialspace": True,
        "encoding": "utf-8-sig",
    }


def separator_of(path: Path, reading: Reading) -> str:
    """Return the delimiter given, or that of the format; `whitespace` and a blank mean any run of blanks."""
    if reading.delimiter is not None:
        return " " if reading.delimiter == "whitespace" else reading.delimiter
    return "\t" if format_of(path, reading) == "tsv" else ","


def has_header(reading: Reading) -> bool:
    """Return whether the first line names the columns."""
    return reading.columns is None if reading.header is None else reading.header


def names_of(path: Path, reading: Reading, coding: Coding | None = None) -> list[str]:
    """Return the names of a file's columns: those of its first line, those given, or their numbers.

    Without names in the file, the target of a `coding` may be missing, and what it dropped. Raises DataError
    where the number of columns fits neither the rows with the target nor those without.
    """
    import pandas as pd

    with open_content(path) as content, in_sentences(path, reading):
        line = {"header": None, "nrows": 1, "dtype": str, "na_filter": False}
        first = pd.read_csv(content, **layout(path, reading), **line).iloc[0].tolist()
    if has_header(reading) and reading.columns is None:
        return [name or f"{UNNAMED}{i}" for i, name in enumerate(first)]
    if coding is None or not coding.names:
        return reading.columns or [str(number) for number in range(len(first))]
    width = coding.width + len(coding.dropped) + (coding.target is not None)
    everything = reading.columns or [str(number) for number in range(width)]
    without = [name for name in everything if name != coding.target]
    for names in (everything, without, coding.names):
        if len(names) == len(first):
            return names
    raise DataError(
        f"{path}: expected rows of {len(everything)} columns as in training, or {len(without)} without the "
        f"target, got {len(first)}"
    )


@contextmanager
def in_sentences(path: Path, reading: Reading, names: Sequence[str] = ()) -> Iterator[None]:
    """Raise what pandas raises, and what it warns of, as DataError, naming the line where one is ragged."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: expected UTF-8 text ({error}); save it again as UTF-8 (spreadsheets: `CSV UTF-8`)"
        ) from None
    except pd.errors.EmptyDataError:
        raise DataError(f"{path}: expected lines of data, got an empty file") from None
    except (ValueError, OverflowError, Warning) as error:
        check_lengths(path, reading, names)
        raise DataError(f"{path}: cannot be read as delimited text ({error})") from error


def checked(frame: Any, names: list[str], path: Path, reading: Reading, coding: Coding | None) -> Any:
    """Return the frame with its names; raises DataError for no rows, short lines, or a header of numbers.

    A header that has all names of a coding is one, whatever it looks like.
    """
    if not len(frame):
        raise DataError(f"{path}: expected lines of data below the header, got none")
    if frame.iloc[:, -1].isna().any():  # as pandas fills a short line
        check_lengths(path, reading, names)
    frame.columns = names
    if not has_header(reading) or reading.columns is not None:
        return frame
    named = coding is not None and bool(coding.names) and set(coding.names) <= set(names)
    if reading.header is None and not named and looks_like_data(frame):
        raise DataError(
            f"{path}: its first line looks like data, not like names; set `header` to true or false"
        )
    if several := repeated(names):
        raise DataError(
            f"{path}: expected each name once in its first line, got more of {listed(several)}; name all "
            "columns anew with `columns: [...]` and `header: true`"
        )
    return frame


def looks_like_data(frame: Any) -> bool:
    """Return whether the names of columns look like a row of data.

    They do where all are numbers. Where some are, every column of numbers has to have one of them, since a
    word above numbers is a name; then they do if half or more are numbers, or if a word comes again below
    itself. Numbers that count up, by 1 or in equal steps, may be names: of questions, or of years.
    """
    names = list(frame.columns)
    numbers = [float(name) for name in names if is_number(name)]
    if len(numbers) == len(names):
        return True
    columns = [(name, frame.iloc[:, i]) for i, name in enumerate(names)]
    numeric = {name for name, cells in columns if are_numbers(cells)}
    if counts_up(numbers) or not any(map(is_number, numeric)) or any(map(is_name, numeric)):
        return False
    again = any((cells == name).any() for name, cells in columns if is_name(name))
    return 2 * len(numbers) >= len(names) or again


def is_name(word: str) -> bool:
    """Return whether a word in the first line is no number, and nothing that stands for a missing one."""
    return not (is_number(word) or word in MISSING or word.startswith(UNNAMED))


def counts_up(numbers: Sequence[float]) -> bool:
    """Return whether each number is the one before and 1, or three or more rise in equal steps."""
    steps = [after - before for before, after in pairwise(numbers)]
    if not all(math.isclose(step, steps[0], rel_tol=1e-6) for step in steps):
        return False
    return not steps or steps[0] == 1 or (len(steps) > 1 and steps[0] > 0)


def check_lengths(path: Path, reading: Reading, names: Sequence[str]) -> None:
    """Raise DataError for the first line that has more or fewer cells than there are columns.

    pandas names no line that is too short, and not every one that is too long.
    """
    first = int(has_header(reading))
    for line, cells in islice(records(path, separator_of(path, reading)), first, None):
        if names and len(cells) != len(names):
            hint = other_delimiter(path, reading) if len(names) == 1 else ""
            raise DataError(f"{path}, line {line}: expected {len(names)} columns, got {len(cells)}{hint}")


def other_delimiter(path: Path, reading: Reading) -> str:
    """Return a hint at the delimiter that parts every line into the same number of cells, or nothing."""
    for delimiter, written in DELIMITERS.items():
        if delimiter != separator_of(path, reading):
            widths = {len(cells) for _, cells in islice(records(path, delimiter), LOOKED_AT)}
            if len(widths) == 1 and max(widths) > 1:
                return f"; set `delimiter: {written}`, which parts each line into {max(widths)}"
    return ""


def records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and cells of each line that is not empty."""
    with open_content(path) as content, io.TextIOWrapper(content, "utf-8-sig", newline="") as text:
        lines = (" ".join(line.split()) for line in text) if separator == " " else text
        try:
            reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
            yield from ((reader.line_num, cells) for cells in reader if any(cells) or len(cells) > 1)
        except (csv.Error, TypeError) as error:
            raise DataError(f"{path}: expected text delimited by '{separator}' ({error})") from None
