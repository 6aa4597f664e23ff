"""How a file is read where its options do not say: delimiter, header, spelling of numbers, missing cells."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cells import are_numbers, are_truths, as_numbers, holds, listed
from kfeat.data.content import check_regular, naming
from kfeat.data.reading import COLUMN_OPTIONS, OPTIONS, Reading, format_of
from kfeat.data.spelling import Spelling, spelt_numbers
from kfeat.text import in_yaml

MARKS = {",": "Commas", ".": "Points", " ": "Blanks", "'": "Apostrophes"}
FAR_CODES = frozenset(sign * (10**digits - 1) for sign in (-1, 1) for digits in (2, 3, 4, 5))


def table_of(path: Path, reading: Reading) -> tuple[Any, Reading, list[str]]:
    """Return the frame in a file, None without named columns, how it is read, and remarks on that.

    Delimiter and header are found where `reading` does not set them. Raises DataError if the file cannot
    be read.
    """
    from kfeat.data.formats.delimited import likely_delimiter
    from kfeat.data.formats.header import NoHeaderError, named_by_numbers

    check_regular(path)
    if format_of(path, reading) not in ("csv", "tsv"):
        frame = table_in(path, reading)
        return (None, reading, []) if frame is None else with_numbers(path, frame, reading)
    if reading.delimiter is None:
        with naming(path):
            reading = reading.model_copy(update={"delimiter": likely_delimiter(path, reading)})
    remarks = []
    try:
        frame = table_in(path, reading)
    except NoHeaderError:
        reading = reading.model_copy(update={"header": False})
        remarks.append("The first line looks like a row: `header: true` makes it the names.")
        frame = table_in(path, reading)
    if reading.header is None and reading.columns is None and named_by_numbers(frame):
        reading = reading.model_copy(update={"header": True})
        remarks.append("The first line has numbers as names: `header: false` makes it a row.")
    frame, reading, spellings = with_numbers(path, frame, reading)
    remarks += spellings
    read = frame.attrs.get("remarks", {})
    return frame, reading, remarks + [f"{what}: {listed(names)}." for what, names in read.items()]


def with_numbers(path: Path, frame: Any, reading: Reading) -> tuple[Any, Reading, list[str]]:
    """Return the frame and how it is read, so that numbers in other spellings and with codes are numbers.

    Also remarks on that. Options that `reading` sets stay as they are.
    """
    found = {
        str(name): spelling
        for name, cells in frame.items()
        if name not in (reading.levels or {})
        and holds(cells) == "words"
        and (spelling := spelt_numbers(cells))
    }
    codes = {name: list(spelling.codes) for name, spelling in found.items() if spelling.codes}
    if codes and reading.missing_values is None:
        reading = reading.model_copy(update={"missing_values": codes})
    if reading.decimal is None and reading.thousands is None:
        reading = with_marks(path, frame, reading, found)
    remarks = []
    for mark in MARKS:
        names = [name for name, spelling in found.items() if spelling.thousands == mark]
        if names or (found and reading.thousands == mark):
            where = listed(names or ["all columns"])
            remarks.append(f"{MARKS[mark]} between thousands are left out (`thousands`): {where}.")
    if commas := [name for name, spelling in found.items() if spelling.decimal == ","]:
        remarks.append(f"Numbers with a decimal comma (`decimal`): {listed(commas)}.")
    frame = table_in(path, reading) if found else frame
    if codes:
        counts = [f"{name} ({', '.join(map(repr, codes[name]))})" for name in codes]
        remarks.append(f"Codes of missing cells among numbers (`missing_values`): {listed(counts)}.")
    remarks += [
        f"Perhaps a missing cell, {code:g} in column {name}: then set `missing_values: "
        f"{in_yaml({name: [code]})}`."
        for name, code in far_codes(frame, reading)
    ]
    return frame, reading, remarks


def with_marks(path: Path, frame: Any, reading: Reading, found: Mapping[str, Spelling]) -> Reading:
    """Return the reading with the marks of numbers, of all columns if they are numbers then, or of some."""
    commas = {name: "," for name, spelling in found.items() if spelling.decimal == ","}
    marks = {name: spelling.thousands for name, spelling in found.items() if spelling.thousands}
    numbers = [name for name, cells in frame.items() if name in found or are_numbers(cells)]
    kinds = list[str | None](dict.fromkeys(marks.values())) or ([None, "."] if commas else [])
    alike = (len(kinds) == 1 or not marks) and not (commas and "," in kinds)
    for mark in kinds if alike else ():
        everywhere = reading.model_copy(update={"decimal": "," if commas else None, "thousands": mark})
        read = table_in(path, everywhere)
        if all(are_numbers(read[name]) for name in numbers):
            return everywhere
    return reading.model_copy(update={"decimal": commas or None, "thousands": marks or None})


def far_codes(frame: Any, reading: Reading) -> Iterator[tuple[str, int]]:
    """Yield columns of numbers with a usual code of missing cells that is far from the other numbers.

    It is the end of the column's range, comes more than once, and is farther away than the others span.
    """
    for name, cells in frame.items():
        if not are_numbers(cells) or are_truths(cells) or reading.codes(str(name)):
            continue
        values = as_numbers(cells)
        values = values[np.isfinite(values)]
        for code in FAR_CODES.intersection((values.min(), values.max()) if len(values) else ()):
            others = values[values != code]
            if len(values) // 2 < len(others) < len(values) - 1:
                span = others.max() - others.min()
                if np.abs(others - code).min() > span > 0:
                    yield str(name), int(code)


def table_in(path: Path, reading: Reading) -> Any:
    """Return the data frame in a file; None for a format without named columns.

    Raises DataError where the file cannot be read in its format.
    """
    from kfeat.data.formats import as_data_errors, tables

    check_regular(path)
    name = format_of(path, reading)
    if not OPTIONS[name] >= COLUMN_OPTIONS:
        return None
    with as_data_errors(path, name), naming(path):
        return tables.read_frame(path, reading)
