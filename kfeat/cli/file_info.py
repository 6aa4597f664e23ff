"""The text that `kfeat data info` prints about a file."""

from collections.abc import Mapping, Sequence
from typing import Any

from kfeat.text import as_yaml, plain, plain_lines

MOST_COLUMNS = 40  # of a file that are shown; --format json shows all
NOT_SHOWN = ("file", "format", "n_bytes", "columns", "problem")  # below the table
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
    from kfeat.experiments.yaml import parse

    found = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {option}: expected KEY=VALUE, such as --set missing=mean")
        found[key] = value if key == "delimiter" else parse(value, f"--set {option}")  # YAML needs quotes
    return found


def text_of(report: Mapping[str, Any]) -> str:
    """Return the text that shows a report: a table of the columns, and what reading made of them."""
    from kfeat.render.table import Table, terminal_width

    columns = report["columns"]
    lines = [f"{report['file']}: {report['format']}, {report['n_bytes']:,} bytes"]
    if columns:
        keys = ("name", "holds", "n_missing", "values", "becomes")
        rows = [[_cell(one[key]) for key in keys] for one in columns[:MOST_COLUMNS]]
        table = Table(("column", "holds", "missing", "values", "becomes"), rows, words=range(5))
        lines.append(table.terminal(terminal_width()))
    if len(columns) > MOST_COLUMNS:
        lines.append(f"and {len(columns) - MOST_COLUMNS:,} more columns; --format json shows all")
    shown = {key: value for key, value in report.items() if key not in NOT_SHOWN and value not in (None, {})}
    lines.append(as_yaml(shown, default_flow_style=None).rstrip())
    if "task" not in report and "problem" not in report:
        lines.append("--target COLUMN names the column of labels, and shows what reading makes of the file")
    return plain_lines("\n".join(lines))


def _cell(value: Any) -> str:
    """Return a cell of the table, cut where it would make the table too wide."""
    text = plain(str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
