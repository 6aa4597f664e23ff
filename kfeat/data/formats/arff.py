"""ARFF, the format of Weka and OpenML: a header of typed attributes, then comma-separated rows."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kfeat.data.coding import Coding
from kfeat.data.files import open_content
from kfeat.data.formats.contents import Contents
from kfeat.data.formats.tables import coded
from kfeat.data.reading import Reading
from kfeat.errors import DataError


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts of ARFF files; nominal attributes are coded in the order the header declares."""
    frames, levels = {}, dict(reading.levels or {})
    for role, path in files.items():
        frames[role], declared = read_typed(path)
        levels = {**declared, **levels}
    return coded(frames, reading.model_copy(update={"levels": levels}), str(files["train"]))


def read_frame(path: Path, reading: Reading) -> Any:
    """Return one file as a data frame, NaN where a cell is missing (`?`)."""
    return read_typed(path)[0]


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Any, None]]:
    """Yield one file as data frames of at most so many rows; the file is read as a whole."""
    frame = read_typed(path)[0]
    yield from ((frame.iloc[start : start + rows], None) for start in range(0, len(frame), rows))


def read_typed(path: Path) -> tuple[Any, dict[str, list[str]]]:
    """Return one file as a data frame, and the declared words of its nominal attributes."""
    from pandas import DataFrame
    from scipy.io.arff import ArffError, loadarff

    try:
        with open_content(path) as content, io.TextIOWrapper(content, encoding="utf-8") as text:
            rows, meta = loadarff(text)
    except ArffError as error:
        raise DataError(f"{path}: cannot be read as arff ({error})") from None
    columns: dict[str, Any] = {}
    levels = {}
    for name, kind in zip(meta.names(), meta.types(), strict=True):
        columns[name] = rows[name]
        if kind == "nominal":
            levels[name] = list(meta[name][1])
            words = (word.decode() for word in rows[name])
            columns[name] = [None if word == "?" else word for word in words]
        elif kind != "numeric":
            raise DataError(f"{path}, column {name}: expected a numeric or nominal attribute, got {kind}")
    return DataFrame(columns), levels
