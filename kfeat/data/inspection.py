"""Inspecting a file before it is used: what its columns hold and become, and which options to set."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kfeat.data.cache import Folder, cache_folder
from kfeat.data.coding import Coding
from kfeat.data.columns import UNNAMED, Holds, as_numbers, as_words, comma_numbers, drop, holds, listed
from kfeat.data.dataset import Raw
from kfeat.data.files import check_regular, naming
from kfeat.data.loading import load_files
from kfeat.data.models import Model, Task
from kfeat.data.reading import COLUMN_OPTIONS, OPTIONS, Reading, format_of
from kfeat.data.sources import FileSource
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable

MOST_WORDS = 10  # of a column that a report lists
FEW_ROWS = 20  # that may hold consecutive numbers by chance
OWN_WORDS = 20  # a column of more different words, and of more than half of the rows, names single rows
COUNTS_ROWS = "numbers that count the rows"


class ColumnReport(Model):
    """What one column of a table holds, in the rows of the training file.

    `role` is its role in the dataset, and `becomes` is how its cells are coded, where that is known; `words`
    are the most frequent words with their counts. `counts_rows` is true if it holds consecutive numbers.
    """

    name: str
    role: Literal["feature", "target", "dropped"]
    holds: Holds
    n_missing: int
    n_distinct: int
    least: float | None = None
    mean: float | None = None
    greatest: float | None = None
    words: Mapping[str, int] = {}
    counts_rows: bool = False
    becomes: str | None = None


class FileReport(Model):
    """What a file holds and what reading makes of it.

    `columns` is empty for formats without named columns. `problem` is the error message if reading fails, and
    `advice` are sentences on what to set. The fields from `task` on are None or empty if the file was not
    read as a whole (it cannot be, or no target is named). `classes` counts the rows of each class by part;
    `stored` is the share of the features' values that are not zero, where they are kept sparse; `n_dropped`
    rows were left out.
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
    n_dropped: int = 0


def inspect(source: FileSource, cache: Folder = None) -> FileReport:
    """Return what a file holds; raises DataError where it cannot be read in its format at all."""
    from kfeat.data.formats.tables import roles

    reading, path = source.reading, source.files["train"]
    frame, name = table_in(path, reading), format_of(path, reading)
    known: dict[str, Any] = {"file": str(path), "format": name, "n_bytes": path.stat().st_size}
    columns: tuple[ColumnReport, ...] = ()
    if frame is not None:
        with naming(path):
            target, dropped = roles(list(frame.columns), reading)
            columns = reports(frame, target, dropped)
        notes = tuple(advice(columns, reading, useless(frame, columns, target)))
        known |= {"n_rows": {"train": len(frame)}, "target": target, "columns": columns, "advice": notes}
        if target is None and source.labels is None:
            return FileReport(**known)
    try:
        raw = load_files(source, cache_folder(cache))
    except KfeatError as error:
        if frame is None:
            raise
        return FileReport(**known, problem=printable(error))
    known["columns"] = with_coding(columns, raw.coding)
    return FileReport(**known | of_raw(raw))


def table_in(path: Path, reading: Reading) -> Any:
    """Return the data frame in a file; None for a format without named columns.

    Raises DataError where the file cannot be read in its format.
    """
    from kfeat.data.formats import tables

    check_regular(path)
    name = format_of(path, reading)
    if not OPTIONS[name] >= COLUMN_OPTIONS:
        return None
    try:
        with naming(path):
            return tables.read_frame(path, reading)
    except KfeatError:
        raise
    except Exception as error:  # of a library, at a file that is damaged or holds what it does not read
        raise DataError(f"{path}: cannot be read as {name} ({printable(error)})") from None


def with_coding(columns: tuple[ColumnReport, ...], coding: Coding | None) -> tuple[ColumnReport, ...]:
    """Return reports with how each column is coded."""
    kinds = coding.kinds if coding else {}
    return tuple(one.model_copy(update={"becomes": kinds.get(one.name)}) for one in columns)


def of_raw(raw: Raw) -> dict[str, Any]:
    """Return the fields of a report that are known once a file is read."""
    X = raw.parts["train"].X
    return {
        "n_rows": {part: len(each.y) for part, each in raw.parts.items()},
        "task": raw.task,
        "n_features": raw.n_features,
        "classes": {part: class_counts(raw, part) for part in raw.parts if raw.task == "classification"},
        "stored": None if isinstance(X, np.ndarray) else X.nnz / (X.shape[0] * X.shape[1]),
        "fingerprint": raw.fingerprint,
        "n_dropped": raw.n_dropped,
    }


def class_counts(raw: Raw, part: str) -> dict[str, int]:
    """Return the number of rows of each class in a part, by its label."""
    labels, counts = np.unique(raw.parts[part].y, return_counts=True)
    named = [raw.label_names[int(one)] if raw.label_names else f"{one:.16g}" for one in labels]
    return dict(zip(named, counts.tolist(), strict=True))


def reports(frame: Any, target: str | None, dropped: Sequence[str]) -> tuple[ColumnReport, ...]:
    """Return a report on each column."""
    roles: dict[Any, Any] = dict.fromkeys(frame, "feature")
    roles |= dict.fromkeys(dropped, "dropped") | {target: "target"}
    return tuple(
        ColumnReport(name=name, role=roles[name], **contents_of(frame[name], roles[name] == "dropped"))
        for name in frame.columns
    )


def contents_of(cells: Any, dropped: bool) -> dict[str, Any]:
    """Return what a column holds, how much of it is missing, and its range or its words.

    Raises DataError for a column of lists or mappings, which Parquet can hold, unless it is dropped.
    """
    present, n_missing = cells.dropna(), int(cells.isna().sum())
    try:
        kind = holds(cells)
    except DataError:
        if dropped:
            return {"n_missing": n_missing, "n_distinct": 0, "holds": "words"}
        raise
    found: dict[str, Any] = {"n_missing": n_missing, "n_distinct": int(present.nunique()), "holds": kind}
    if kind == "numbers":
        values = np.sort(as_numbers(present))
        found["counts_rows"] = not n_missing and len(values) > FEW_ROWS and bool((np.diff(values) == 1).all())
        values = values[np.isfinite(values)]
        if len(values):
            found |= {"least": values[0], "mean": values.mean(), "greatest": values[-1]}
    elif kind != "nothing":
        found["words"] = as_words(present).value_counts().head(MOST_WORDS).to_dict()
    return found


def useless(frame: Any, columns: Sequence[ColumnReport], target: str | None) -> dict[str, str]:
    """Return the columns beside the target from which nothing can be learnt, each with the reason."""
    from pandas.util import hash_pandas_object

    def cells_of(name: str) -> bytes:
        return hash_pandas_object(frame[name], index=False).to_numpy().tobytes()

    features = [one for one in columns if one.role != "dropped" and one.name != target]
    seen = {} if target is None else {cells_of(target): target}
    found = {}
    for one in features:
        if one.name.startswith(UNNAMED):
            found[one.name] = "no name, probably an index"
        elif one.holds == "nothing":
            found[one.name] = "no value"
        elif one.holds == "words" and one.n_distinct > max(OWN_WORDS, len(frame) // 2):
            found[one.name] = "a different word in almost every row"
        elif one.n_distinct == 1 and not one.n_missing:
            found[one.name] = "one value in all rows"
        elif (first := seen.setdefault(cells_of(one.name), one.name)) != one.name:
            found[one.name] = f"the same as {first}"
        elif one.counts_rows:
            found[one.name] = COUNTS_ROWS
    if len(found) == len(features):  # row numbers may be times, if there is no other column
        found = {name: why for name, why in found.items() if why != COUNTS_ROWS}
    return found


def advice(columns: Sequence[ColumnReport], reading: Reading, left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on what to set so that the file can be read, and read well."""
    used = [one for one in columns if one.role != "dropped" and one.name not in left_out]
    commas = [one.name for one in used if one.holds == "words" and comma_numbers(one.words)]
    features = [one for one in used if one.role == "feature" and one.name not in commas]
    words = [one.name for one in features if one.holds == "words"]
    dates = [one.name for one in used if one.holds == "dates"]
    missing = [one.name for one in used if one.n_missing]
    if reading.target is None:
        yield "name the target, the column of labels, by its name or number (-1: the last)"
    if words and reading.categorical is None:
        yield f"{listed(words)}: words; set `categorical` to one_hot or ordinal"
    if commas and reading.decimal is None:
        yield f"{listed(commas)}: numbers with a decimal comma; set `decimal: ','`"
    if dates:
        yield f"{listed(dates)}: dates; each becomes year, month, weekday and the days since 1970-01-01"
    if missing and reading.missing is None:
        yield f"{listed(missing)}: missing cells; set `missing` to drop, mean or most_frequent"
    for name, why in left_out.items():
        yield f"{name}: {why}; set {drop([name])}"
