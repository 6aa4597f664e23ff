"""ARFF, the format of Weka and OpenML: a header of typed attributes, then comma-separated rows."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kfeat.data.dataset import Part
from kfeat.data.files import open_content
from kfeat.data.formats.tables import coded
from kfeat.data.reading import Reading
from kfeat.errors import DataError


def read(files: Mapping[str, Path], reading: Reading) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Return the parts of ARFF files; nominal attributes are coded in the order the header declares."""
    frames, levels = {}, dict(reading.levels or {})
    for role, path in files.items():
        frames[role], declared = read_frame(path)
        levels = {**declared, **levels}
    return coded(frames, reading.model_copy(update={"levels": levels}), str(files["train"]))


def read_frame(path: Path) -> tuple[Any, dict[str, list[str]]]:
    """Return one file as a data frame, and the declared words of its nominal attributes."""
    from pandas import DataFrame
    from scipy.io.arff import ArffError, loadarff

    try:
        with open_content(path) as content, io.TextIOWrapper(content, encoding="utf-8") as text:
            rows, meta = loadarff(text)
    except ArffError as error:
        raise DataError(f"{path}: cannot be read as arff ({error})") from None
    columns, levels = {}, {}
    for name, kind in zip(meta.names(), meta.types(), strict=True):
        values = rows[name]
        if kind == "nominal":
            levels[name] = list(meta[name][1])
            values = [word.decode() for word in values]
            if "?" in values:
                row = values.index("?") + 1
                raise DataError(
                    f"{path}, row {row}, column {name}: expected a declared word, got '?' (missing)"
                )
        elif kind != "numeric":
            raise DataError(f"{path}, column {name}: expected a numeric or nominal attribute, got {kind}")
        columns[name] = values
    return DataFrame(columns), levels
