"""The lines of delimited text, one by one: slow, and read only to say where a file is wrong."""

import csv
import io
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import isinf
from pathlib import Path

from kfeat.data.columns import UNNAMED, listed
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
BLANK_CELL = re.compile(r'"((?:[^"]|"")*)"(\S*)|(\S+)')  # in quotes, with what touches them, or without
LOOKED_AT = 20  # lines that tell the delimiter
Lines = Iterator[tuple[int, list[str]]]


def separator_of(path: Path, reading: Reading) -> str:
    """Return the delimiter given, or that of the format; `whitespace` and a blank mean any run of blanks."""
    if reading.delimiter is not None:
        return " " if reading.delimiter == "whitespace" else reading.delimiter
    return "\t" if format_of(path, reading) == "tsv" else ","


def has_header(reading: Reading) -> bool:
    """Return whether the first line names the columns."""
    return reading.columns is None if reading.header is None else reading.header


def named_records(path: Path, reading: Reading) -> tuple[list[str], Lines]:
    """Return the columns' names and the lines of data; raises DataError for an empty file."""
    lines = records(path, separator_of(path, reading))
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}: expected lines of data, got an empty file")
    if has_header(reading):
        return reading.columns or [name or f"{UNNAMED}{i}" for i, name in enumerate(first[1])], lines
    names = reading.columns or [str(number) for number in range(len(first[1]))]
    return names, (line for part in ([first], lines) for line in part)


def check_lengths(path: Path, reading: Reading) -> None:
    """Raise DataError for the first line that has more or fewer cells than there are columns."""
    names, lines = named_records(path, reading)
    for line, cells in lines:
        check_length(path, reading, line, cells, names)


def check_length(path: Path, reading: Reading, line: int, cells: list[str], names: list[str]) -> None:
    """Raise DataError for a line with another number of cells than there are columns."""
    if len(cells) != len(names):
        hint = hint_at_delimiter(path, reading) if len(names) == 1 else ""
        raise DataError(f"{path}, line {line}: expected {len(names)} columns, got {len(cells)}{hint}")


def diagnose(
    path: Path, reading: Reading, dropped: Sequence[str] = (), infinite: Collection[str] = ()
) -> None:
    """Raise DataError for the first ragged line or infinity, else for missing cells, naming their lines.

    Infinity is looked for in the columns `infinite` alone. Missing cells are passed over in the columns
    `dropped`, and where `missing` is set.
    """
    names, lines = named_records(path, reading)
    missing: dict[int, tuple[str, str]] = {}
    for line, cells in lines:
        check_length(path, reading, line, cells, names)
        for name, cell in zip(names, cells, strict=True):
            word = cell.strip()
            if name in infinite and is_infinite(word):
                raise DataError(
                    f"{path}, line {line}, column {name}: expected a finite number or word, got '{cell}'"
                )
            known = (reading.levels or {}).get(name, ())
            if word in MISSING and word not in known and line not in missing and name not in dropped:
                missing[line] = name, cell
    if missing and reading.missing is None:
        line, (name, cell) = next(iter(missing.items()))
        raise DataError(
            f"{path}, line {line}, column {name}: expected a finite number or word, got '{cell}'; "
            f"{counted(list(missing))}; set `missing` to drop, mean or most_frequent, or fill them in"
        )


def in_blanks(line: str) -> list[str]:
    """Return the cells of a line between runs of blanks; one in quotes may hold some."""
    return [bare or quoted.replace('""', '"') + more for quoted, more, bare in BLANK_CELL.findall(line)]


def is_infinite(word: str) -> bool:
    """Return whether a word spells infinity, or a number that is too large for a float64."""
    try:
        return isinf(float(word))
    except ValueError:
        return False


def counted(lines: list[int]) -> str:
    """Return how many lines have missing cells, and which."""
    if len(lines) == 1:
        return "no other line has missing cells"
    return f"{len(lines)} lines have missing cells: {listed([str(line) for line in lines])}"


def refuse_one_column(path: Path, reading: Reading) -> None:
    """Raise DataError for a table of one column that another delimiter would part into several."""
    hint = hint_at_delimiter(path, reading)
    if hint:
        raise DataError(f"{path}: expected several columns, got one in every line{hint}")


def hint_at_delimiter(path: Path, reading: Reading) -> str:
    """Return a hint at the delimiter that parts every line into the same number of cells, or nothing."""
    for delimiter, written in DELIMITERS.items():
        if delimiter != separator_of(path, reading):
            widths = {len(cells) for _, cells in islice(records(path, delimiter), LOOKED_AT)}
            if len(widths) == 1 and max(widths) > 1:
                return f"; set `delimiter: {written}`, which parts each line into {max(widths)}"
    return ""


def records(path: Path, separator: str) -> Lines:
    """Yield the number and cells of each line that is not empty."""
    with open_content(path) as content, io.TextIOWrapper(content, "utf-8-sig", newline="") as text:
        try:
            if separator == " ":
                yield from ((number, in_blanks(line)) for number, line in enumerate(text, 1) if line.strip())
            else:
                last = deque[str](maxlen=1)  # what tells an empty cell in quotes from a blank line
                reader = csv.reader(_watched(text, last), delimiter=separator, skipinitialspace=True)
                yield from ((reader.line_num, cells) for cells in reader if len(cells) > 1 or last[0].strip())
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}: expected UTF-8 text ({error}); save it again as UTF-8 (spreadsheets: `CSV UTF-8`)"
            ) from None
        except (csv.Error, TypeError) as error:
            raise DataError(f"{path}: expected text delimited by '{separator}' ({error})") from None


def _watched(text: Iterable[str], last: deque[str]) -> Iterator[str]:
    for line in text:
        last.append(line)
        yield line
