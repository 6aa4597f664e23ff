"""Printed numbers from a TSV or CSV file beside the config: `reported.files`."""

import csv
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from kfeat.errors import ConfigError
from kfeat.experiments.names import Strict
from kfeat.experiments.overrides import beside
from kfeat.experiments.quantities import SCORE
from kfeat.experiments.selectors import QuantityName, Selector
from kfeat.parameters import did_you_mean

Line = tuple[int, Mapping[str, str]]  # a row by its columns, and the number of its line
DELIMITERS = {".tsv": "\t", ".csv": ","}


class NumbersFile(Strict):
    """Printed numbers from a table in a file: which rows, and how its columns name a cell and its numbers.

    `file` is a .tsv or .csv (or .gz of one) in the config's folder, whose first line names the columns.
    `rows` has the values of columns that select its rows; a list means any of them. A row's cell has the keys
    of `for`, and for each key in `columns` the value of that column; `names` replaces words of a column by
    kfeat's, as in {data: {cadata: cal_housing}}. `mean` and `sd` name columns of numbers, `time` and
    `test_time` those of seconds. `where` may contain columns in braces, as in `Figure 2, {data}, R = {R}`.
    `unexplained` is that of each number: what was tried, where it differs.
    """

    file: str
    rows: dict[str, Any] = {}
    cell: Selector = Field(alias="for", default={})
    columns: Selector = {}
    names: dict[str, dict[str, Any]] = {}
    of: QuantityName = SCORE
    mean: str
    sd: str | None = None
    time: str | None = None
    test_time: str | None = None
    where: str
    unexplained: str | None = None

    def numbers(self, config: Path) -> list[dict[str, Any]]:
        """Return the printed numbers as `reported.numbers` has them; raises ValueError for a bad file."""
        try:
            path = beside(config, self.file)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        lines = [(i, row) for i, row in self._lines(path) if self._is_selected(row)]
        if not lines:
            raise ValueError(f"{self.file}: no row has {self.rows}")
        return [self._number(i, row) for i, row in lines]

    def _lines(self, path: Path) -> Iterator[Line]:
        """Yield the rows; raises ValueError for a file that cannot be read, or lacks a column."""
        kind = path.with_suffix("") if path.suffix == ".gz" else path
        if kind.suffix not in DELIMITERS:
            raise ValueError(f"{self.file}: expected a .tsv or .csv, or .gz of one")
        try:
            with (gzip.open if kind != path else open)(path, "rt", encoding="utf-8", newline="") as text:
                reader = csv.DictReader(text, delimiter=DELIMITERS[kind.suffix], strict=True)
                self._check_columns(list(reader.fieldnames or []))
                for row in reader:
                    if None in row or None in row.values():
                        raise ValueError(
                            f"{self.file}:{reader.line_num}: expected {len(reader.fieldnames or [])} fields"
                        )
                    yield reader.line_num, row
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{self.file}: cannot be read: {error}") from None

    def _check_columns(self, known: list[str]) -> None:
        """Raise ValueError for a column that the file does not have."""
        single = [name for name in (self.mean, self.sd, self.time, self.test_time) if name]
        for name in (*single, *self.rows, *self.columns.values(), *self.names):
            if name not in known:
                near = did_you_mean(str(name), known)
                raise ValueError(f"{self.file}: no column '{name}'{near}; there are {', '.join(known)}")

    def _is_selected(self, row: Mapping[str, str]) -> bool:
        wanted = {name: value if isinstance(value, list) else [value] for name, value in self.rows.items()}
        return all(_value(row[name]) in values for name, values in wanted.items())

    def _number(self, i: int, row: Mapping[str, str]) -> dict[str, Any]:
        """Return one printed number."""
        cell = dict(self.cell)
        for key, column in self.columns.items():
            value = _value(row[column])
            cell[key] = self.names.get(column, {}).get(str(value), value)
        try:
            where = self.where.format_map(row)
        except (KeyError, ValueError, IndexError) as error:
            raise ValueError(f"where: expected columns of {self.file} in braces (got {error})") from None
        number = {"for": cell, "of": self.of, "where": where, "mean": self._read(i, row, self.mean)}
        if self.unexplained is not None:
            number["unexplained"] = self.unexplained
        if self.sd is not None and row[self.sd]:
            number["sd"] = self._read(i, row, self.sd)
        times = {"time": self.time, "test_time": self.test_time}
        return number | {key: f"{row[name]} s" for key, name in times.items() if name and row[name]}

    def _read(self, i: int, row: Mapping[str, str], column: str) -> float:
        try:
            return float(row[column])
        except ValueError:
            raise ValueError(
                f"{self.file}:{i}: expected a number in '{column}' (got {row[column]!r})"
            ) from None


def _value(text: str) -> Any:
    """Return a field as a whole number, a number or a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
