"""The text that `kfeat data info` prints about a file."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kfeat.saying import plain

if TYPE_CHECKING:
    from kfeat.data.inspection import ColumnReport, FileReport

SIGNS = ("delimiter", "decimal")  # options whose value is not parsed as YAML, which would need quotes
MOST_COLUMNS = 40  # of a file that are shown; --format json shows all
MOST_WORDS = 4  # of a column that are shown
MOST_CLASSES = 12
WIDEST = 36  # characters of a cell of the table


def report_of(path: str, target: str | None, options: Sequence[str]) -> "FileReport":
    """Return the report on a file; `options` are KEY=VALUE of its reading, with values in YAML."""
    from kfeat.data.inspection import inspect
    from kfeat.data.sources import FileSource, validated

    given: dict[str, Any] = {"path": path}
    if target is not None:
        given["target"] = number_or_name(target)
    return inspect(validated(FileSource, {**given, **said_of_reading(options)}, "dataset"))


def said_of_reading(options: Sequence[str]) -> dict[str, Any]:
    """Return the KEY=VALUE options for reading a file as a mapping, with values in YAML."""
    from kfeat.errors import ConfigError
    from kfeat.experiments.yaml_file import parse

    found = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {option}: expected KEY=VALUE, such as --set missing=mean")
        found[key] = value if key in SIGNS else parse(value, f"--set {option}")
    return found


def number_or_name(target: str) -> int | str:
    """Return a column's number (from 0, or -1 for the last) or its name."""
    return int(target) if target.removeprefix("-").isdecimal() else target


def lines_of(report: "FileReport") -> Iterator[str]:
    """Yield the lines that show a report."""
    from tabulate import tabulate

    rows = ", ".join(f"{n:,} {part} rows" for part, n in report.n_rows.items())
    columns = f", {len(report.columns):,} columns" if report.columns else ""
    yield f"{report.file}: {report.format}, {report.n_bytes:,} bytes: {rows}{columns}"
    table = [column_line(column) for column in report.columns[:MOST_COLUMNS]]
    if table:
        headers = ["column", "holds", "missing", "values", "becomes"]
        yield tabulate(table, headers, disable_numparse=True)
    if len(report.columns) > MOST_COLUMNS:
        yield f"and {len(report.columns) - MOST_COLUMNS:,} more columns; --format json shows all"
    if report.task is not None:
        yield from summary(report)
    for sentence in report.advice:
        yield f"  note         {sentence}"


def column_line(column: "ColumnReport") -> list[str]:
    """Return one line of the table of columns."""
    values = ""
    if column.holds == "numbers" and column.mean is not None:
        values = f"{column.least:g} to {column.greatest:g}, mean {column.mean:g}"
    elif column.words:
        shown = [f"{word} ({n:,})" for word, n in list(column.words.items())[:MOST_WORDS]]
        others = column.n_distinct - len(shown)
        values = ", ".join(shown) + (f" and {others:,} more" if others else "")
    becomes = column.becomes or {"feature": "", "target": "target", "dropped": "dropped"}[column.role]
    cells = (column.name, column.holds, f"{column.n_missing:,}", values, becomes)
    return [cut(plain(text)) for text in cells]


def cut(text: str) -> str:
    """Return a cell of the table, cut where it would make the table too wide."""
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def summary(report: "FileReport") -> Iterator[str]:
    """Yield what reading made of the file: task, classes, features, fingerprint."""
    if report.n_dropped:
        yield f"  left out     {report.n_dropped:,} rows with missing cells"
    yield f"  task         {report.task}"
    for part, counts in report.classes.items():
        shown = [plain(f"{label}: {n:,}") for label, n in list(counts.items())[:MOST_CLASSES]]
        more = f" and {len(counts) - MOST_CLASSES} more" if len(counts) > MOST_CLASSES else ""
        yield f"  {part:<12} {len(counts)} classes ({', '.join(shown)}{more})"
    sparse = "" if report.stored is None else f", kept sparse: {report.stored:.2%} of the values are stored"
    yield f"  features     {report.n_features:,}{sparse}"
    yield f"  fingerprint  {report.fingerprint}"
