"""The text that `kfeat data info` prints about a file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kfeat.saying import plain

MOST_COLUMNS = 40  # of a file that are shown; --format json shows all
MOST_CLASSES = 12
WIDEST = 36  # characters of a cell of the table


def report_of(path: str, target: str | None, options: Sequence[str]) -> dict[str, Any]:
    """Return the report on a file; `options` are KEY=VALUE of its reading, with values in YAML."""
    from kfeat.data.inspection import inspect
    from kfeat.data.sources import FileSource, validated

    given = {"path": path, **said_of_reading(options)}
    if target is not None:  # a column's number (from 0, or -1 for the last) or its name
        given["target"] = int(target) if target.removeprefix("-").isdecimal() else target
    return inspect(validated(FileSource, given, "dataset"))


def said_of_reading(options: Sequence[str]) -> dict[str, Any]:
    """Return the KEY=VALUE options for reading a file as a mapping, with values in YAML."""
    from kfeat.errors import ConfigError
    from kfeat.experiments.yaml_file import parse

    found = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {option}: expected KEY=VALUE, such as --set missing=mean")
        found[key] = value if key == "delimiter" else parse(value, f"--set {option}")  # YAML needs quotes
    return found


def lines_of(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show a report."""
    from tabulate import tabulate

    columns, rows = report["columns"], report.get("n_rows", {})
    width = f", {len(columns):,} columns" if columns else ""
    shown = ", ".join(f"{n:,} {part} rows" for part, n in rows.items())
    yield f"{report['file']}: {report['format']}, {report['n_bytes']:,} bytes: {shown}{width}"
    if columns:
        keys = ("name", "holds", "n_missing", "values", "becomes")
        table = [[_cell(one[key]) for key in keys] for one in columns[:MOST_COLUMNS]]
        headers = ("column", "holds", "missing", "values", "becomes")
        yield tabulate(table, headers, disable_numparse=True)
    if len(columns) > MOST_COLUMNS:
        yield f"and {len(columns) - MOST_COLUMNS:,} more columns; --format json shows all"
    if "task" in report:
        yield from _summary(report)
    elif "problem" not in report:
        yield "  --target COLUMN names the column of labels, and shows what reading makes of the file"


def _cell(value: Any) -> str:
    """Return a cell of the table, cut where it would make the table too wide."""
    text = plain(str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def _summary(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield what reading made of the file: task, classes, features, fingerprint."""
    if report["n_dropped"]:
        yield f"  left out     {report['n_dropped']:,} rows with missing cells"
    yield f"  task         {report['task']}"
    for part, counts in report["classes"].items():
        shown = [plain(f"{label}: {n:,}") for label, n in list(counts.items())[:MOST_CLASSES]]
        more = f" and {len(counts) - MOST_CLASSES} more" if len(counts) > MOST_CLASSES else ""
        yield f"  {part:<12} {len(counts)} classes ({', '.join(shown)}{more})"
    yield f"  features     {report['n_features']:,}{', sparse' * report['sparse']}"
    yield f"  fingerprint  {report['fingerprint']}"
