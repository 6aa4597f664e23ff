"""What is known of a table before anything is said of it: how it is written, and what its columns hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kfeat.data.columns import comma_numbers, unnamed
from kfeat.data.files import open_content
from kfeat.data.formats.delimited import looks_like_data
from kfeat.data.formats.tables import roles
from kfeat.data.inspection import (
    COUNTS_ROWS,
    ColumnReport,
    copies_of,
    names_rows,
    nearly_numbers,
    reports,
    table_in,
    tells_nothing,
)
from kfeat.data.reading import Reading, format_of

DELIMITERS = {"csv": ",", "tsv": "\t"}
OTHERS = (";", "\t", ",", "|")
USUAL_TARGETS = ("target", "label", "labels", "class", "y", "outcome", "response")


@dataclass(frozen=True)
class Columns:
    """The columns of a table, and what has to be said so that it is read as it is written."""

    reports: tuple[ColumnReport, ...]
    n_rows: int
    reading: Reading

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, or their numbers where the first line does not name them."""
        return tuple(column.name for column in self.reports)

    @property
    def header(self) -> bool:
        """Whether the first line names the columns."""
        return self.reading.header is not False

    @property
    def likely_target(self) -> str | None:
        """The one column with a name that targets usually have; None where there is none, or several."""
        found = [name for name in self.names if name.strip().lower() in USUAL_TARGETS]
        return found[0] if len(found) == 1 else None

    def features(self, target: str | None) -> list[ColumnReport]:
        """Return the columns beside the target from which something can be learnt."""
        useless = self.useless(target)
        return [one for one in self._others(target) if one.name not in useless]

    def useless(self, target: str | None) -> dict[str, str]:
        """Return the columns from which nothing can be learnt as they are, and why each is left out."""
        others = self._others(target)
        found = {one.name: why for one in others for why in self._against(one)}
        found |= {one.name: f"the same as {target}" for one in others if target in one.copies}
        if len(found) == len(others):  # what counts the rows may be the time, where there is nothing else
            found = {name: why for name, why in found.items() if why != COUNTS_ROWS}
        kept = [one for one in others if one.name not in found]
        found |= {copy: f"the same as {first}" for copy, first in copies_of(kept, None)}
        return {one.name: found[one.name] for one in others if one.name in found}

    def wrong_with(self, target: str | None) -> str | None:
        """Return why a target is no column of numbers though most of its cells are; None where it is fine."""
        strays = [one for one in self.reports if one.name == target and one.n_strays]
        return nearly_numbers(strays[0]) if strays else None

    def _others(self, target: str | None) -> list[ColumnReport]:
        """Return the columns beside the target that nobody said to drop."""
        dropped = {target, *roles(self.names, self.reading)[1]}
        return [one for one in self.reports if one.name not in dropped]

    def _against(self, column: ColumnReport) -> Iterator[str]:
        """Yield the one reason to leave a column out, if there is one."""
        if column.name in unnamed(self.names[:1]):
            yield "no name, as a written index"
        elif column.holds == "dates":
            yield "dates or times"
        elif column.holds == "nothing":
            yield "no value"
        elif names_rows(column, self.n_rows):
            yield nearly_numbers(column) if column.n_strays else "a word of its own in most rows"
        elif why := tells_nothing(column):
            yield why


def columns_of(path: Path, reading: Reading) -> Columns | None:
    """Return the columns of a table; None for a format whose files tell their targets themselves.

    Delimiter, header and decimal sign are found out where `reading` leaves them open. Raises DataError where
    the file cannot be read.
    """
    kind = format_of(path, reading)
    if kind in DELIMITERS:
        if reading.delimiter is None:
            reading = reading.model_copy(update={"delimiter": _delimiter(path, DELIMITERS[kind])})
        if reading.header is None and reading.columns is None:
            named = table_in(path, reading.model_copy(update={"header": True}))
            if looks_like_data(named):
                reading = reading.model_copy(update={"header": False})
    frame = table_in(path, reading)
    if frame is None:
        return None
    found = reports(frame, None, [], reading.decimal)
    if kind in DELIMITERS and reading.decimal is None and any(map(_has_decimal_commas, found)):
        reading = reading.model_copy(update={"decimal": ","})
        frame = table_in(path, reading)
        found = reports(frame, None, [], ",")
    return Columns(found, len(frame), reading)


def _has_decimal_commas(column: ColumnReport) -> bool:
    return column.holds == "words" and comma_numbers(column.words)


def _delimiter(path: Path, usual: str) -> str | None:
    """Return the delimiter of the first line where the format's own is not in it; None where it is.

    Runs of blanks are one where no other is there and the first two lines have as many words, two or more.
    """
    with open_content(path) as content:
        line, second = (content.readline(1 << 20).decode("utf-8-sig", "replace") for _ in range(2))
    if usual in line:
        return None
    if found := max((one for one in OTHERS if one in line), key=line.count, default=None):
        return found
    return "whitespace" if 1 < len(line.split()) == len(second.split()) else None
