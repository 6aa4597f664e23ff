"""A look at a file before it is used: what its columns hold, what is missing, what reading makes of it."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.advice import advice
from kfeat.data.cache import Folder, cache_folder
from kfeat.data.coding import Coding
from kfeat.data.column_reports import ColumnReport, reports
from kfeat.data.dataset import Raw
from kfeat.data.files import check_regular
from kfeat.data.formats import MODULES
from kfeat.data.loading import load_files
from kfeat.data.models import Model, Task
from kfeat.data.reading import COLUMN_OPTIONS, OPTIONS, Reading, format_of
from kfeat.data.sources import FileSource
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable


class FileReport(Model):
    """What a file holds and what reading makes of it.

    `columns` is empty for formats without named columns. `problem` is the sentence with which reading fails,
    and `advice` are sentences on what to set. The fields from `task` on are None or empty where the file was
    not read as a whole: it cannot be, or no target is named. `classes` counts the rows of each class by part;
    `stored` is the share of the features' values that are not zero, where they are kept sparse.
    """

    file: str
    format: str
    n_bytes: int
    n_rows: dict[str, int]
    columns: tuple[ColumnReport, ...] = ()
    advice: tuple[str, ...] = ()
    problem: str | None = None
    target: str | None = None
    task: Task | None = None
    n_features: int | None = None
    classes: Mapping[str, Mapping[str, int]] = {}
    stored: float | None = None
    fingerprint: str | None = None
    coding: Coding | None = None


def inspect(source: FileSource, cache: Folder = None) -> FileReport:
    """Return what a file holds; raises DataError where it cannot be read in its format at all."""
    reading, path = source.reading, source.files["train"]
    frame, name = table_in(path, reading), format_of(path, reading)
    known: dict[str, Any] = {"file": str(path), "format": name, "n_bytes": path.stat().st_size}
    if frame is not None:
        target, dropped = roles(frame, reading, str(path))
        known["columns"] = columns = reports(frame, target, dropped, reading.decimal)
        known["n_rows"], known["target"] = {"train": len(frame)}, target
        known["advice"] = tuple(advice(columns, reading, len(frame)))
        if target is None and source.labels is None:
            return FileReport(**known)
    try:
        raw = load_files(source, cache_folder(cache))
    except KfeatError as error:
        if frame is None:
            raise
        return FileReport(**known, problem=printable(error))
    return FileReport(**known | of_raw(raw))


def table_in(path: Path, reading: Reading) -> Any:
    """Return the data frame in a file; None for a format without named columns.

    Raises DataError where the file cannot be read in its format.
    """
    check_regular(path)
    name = format_of(path, reading)
    if not OPTIONS[name] >= COLUMN_OPTIONS:
        return None
    reader = import_module(f"kfeat.data.formats.{MODULES.get(name, name)}")
    try:
        return reader.read_frame(path, reading)
    except KfeatError:
        raise
    except Exception as error:  # of a library, at a file that is damaged or holds what it does not read
        raise DataError(f"{path}: cannot be read as {name} ({printable(error)})") from None


def roles(frame: Any, reading: Reading, file: str) -> tuple[str | None, list[str]]:
    """Return the target, None where none is named, and the columns that are dropped."""
    from kfeat.data.formats.tables import dropped_columns, target_column

    names = list(frame.columns)
    target = None if reading.target is None else target_column(names, reading, file)
    return target, dropped_columns(names, reading, file)


def of_raw(raw: Raw) -> dict[str, Any]:
    """Return the fields of a report that are known once a file is read."""
    X = raw.parts["train"].X
    found: dict[str, Any] = {
        "n_rows": {part: len(each.y) for part, each in raw.parts.items()},
        "task": raw.task,
        "n_features": raw.n_features,
        "stored": None if isinstance(X, np.ndarray) else X.nnz / (X.shape[0] * X.shape[1]),
        "fingerprint": raw.fingerprint,
        "coding": raw.coding,
    }
    if raw.task == "classification":
        found["classes"] = {part: class_counts(each.y, raw.label_names) for part, each in raw.parts.items()}
    return found


def class_counts(y: Any, label_names: Sequence[str]) -> dict[str, int]:
    """Return how many rows each class has, by its word or number."""
    labels, counts = np.unique(y, return_counts=True)
    named = [label_names[int(label)] if label_names else f"{label:.16g}" for label in labels]
    return dict(zip(named, counts.tolist(), strict=True))
