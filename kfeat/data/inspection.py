"""A look at a file before it is used: what its columns hold, what is missing, what reading makes of it."""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml
from numpy.typing import NDArray

from kfeat.data.cache import Folder, cache_folder
from kfeat.data.coding import Coding
from kfeat.data.columns import advice_unnamed, as_numbers, is_number, listed, unnamed
from kfeat.data.dataset import Raw
from kfeat.data.files import check_regular
from kfeat.data.formats import MODULES
from kfeat.data.loading import load_files
from kfeat.data.models import Model, Task
from kfeat.data.reading import COLUMN_OPTIONS, OPTIONS, Reading, format_of
from kfeat.data.sources import FileSource
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable

MOST_WORDS = 10  # of a column that a report lists
MOST_STRAYS = 3
NUMBER_LIKE = re.compile(
    r"[-+]?[$€£]?\s?[-+]?\d[\d,.' ]*\s?[%$€£]?"
)  # with signs that are not part of a number
COUNTS_ROWS = "numbers that count the rows"  # why a column tells nothing
OWN_WORDS = 20  # a column of more words than this, and of more than half of the rows, names single rows


class ColumnReport(Model):
    """What one column of a table holds, in the rows of the training file.

    `role` is its part in what is read; `words` are the most frequent ones, with how often each is met. Where
    most cells of a column of words are numbers, `n_strays` cells are not written as such, and `strays` are
    the most frequent of them. `copies` are the other columns with the same cells, and `counts_rows` tells
    that it holds the whole numbers from one to another, each once.
    """

    name: str
    role: Literal["feature", "target", "dropped"]
    holds: Literal["numbers", "words", "dates", "nothing"]
    n_missing: int
    n_distinct: int
    least: float | None = None
    mean: float | None = None
    greatest: float | None = None
    words: Mapping[str, int] = {}
    n_strays: int = 0
    strays: Mapping[str, int] = {}
    copies: tuple[str, ...] = ()
    counts_rows: bool = False


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
        known["columns"] = columns = reports(frame, target, dropped)
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


def reports(frame: Any, target: str | None, dropped: Sequence[str]) -> tuple[ColumnReport, ...]:
    """Return a report on each column."""

    def role(name: str) -> Literal["feature", "target", "dropped"]:
        if name == target:
            return "target"
        return "dropped" if name in dropped else "feature"

    found = {name: contents_of(frame[name]) for name in frame.columns}
    copies = copies_in(frame, [name for name, contents in found.items() if contents["n_distinct"] > 1])
    return tuple(
        ColumnReport(name=name, role=role(name), **contents, copies=copies.get(name, ()))
        for name, contents in found.items()
    )


def copies_in(frame: Any, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of these names whose cells others have too, and which others."""
    from pandas.util import hash_pandas_object

    alike: dict[bytes, list[list[str]]] = {}
    for name in names:
        groups = alike.setdefault(hash_pandas_object(frame[name], index=False).to_numpy().tobytes(), [])
        group = next((group for group in groups if frame[group[0]].equals(frame[name])), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    several = (group for groups in alike.values() for group in groups if len(group) > 1)
    return {name: tuple(other for other in group if other != name) for group in several for name in group}


def contents_of(cells: Any) -> dict[str, Any]:
    """Return what a column holds, how much of it is missing, and its range or its words.

    Raises DataError for a column of lists or mappings, which Parquet can hold.
    """
    from kfeat.data.formats.learning import are_dates, are_numbers

    there = cells.dropna()
    try:
        found: dict[str, Any] = {"n_missing": int(cells.isna().sum()), "n_distinct": int(there.nunique())}
    except TypeError:  # they have no hash
        raise DataError(
            f"column {cells.name}: expected numbers or words, got {there.iloc[0]!r:.60}"
        ) from None
    if there.empty:
        return {**found, "holds": "nothing"}
    if are_numbers(there):
        values = as_numbers(there)
        found["counts_rows"] = not found["n_missing"] and count_rows(values)
        values = values[np.isfinite(values)]
        if len(values):
            found |= {"least": values.min(), "mean": values.mean(), "greatest": values.max()}
        return {**found, "holds": "numbers"}
    counts = {str(word): int(n) for word, n in there.map(str).value_counts().items()}
    found |= {"holds": "dates" if are_dates(there) else "words", "words": _first(counts, MOST_WORDS)}
    strays = {word: n for word, n in counts.items() if not is_number(word)}
    no_numbers = sum(n for word, n in strays.items() if not NUMBER_LIKE.fullmatch(word))
    if found["holds"] == "words" and 2 * no_numbers < len(there):
        found |= {"n_strays": sum(strays.values()), "strays": _first(strays, MOST_STRAYS)}
    return found


def count_rows(values: NDArray[np.float64]) -> bool:
    """Tell whether numbers, of more rows than a few, are the whole ones from the least to the greatest."""
    ordered = np.sort(values)
    return len(ordered) > OWN_WORDS and bool(
        (ordered == np.round(ordered[0]) + np.arange(len(ordered))).all()
    )


def _first(counts: Mapping[str, int], n: int) -> dict[str, int]:
    return dict(islice(counts.items(), n))


def advice(columns: Sequence[ColumnReport], reading: Reading, n_rows: int) -> list[str]:
    """Return sentences on what to set so that the file can be read, and read well."""
    from kfeat.data.formats.learning import comma_numbers

    used = [column for column in columns if column.role == "feature"]
    commas = [column.name for column in used if column.holds == "words" and comma_numbers(column.words)]
    strays = [column for column in used if column.n_strays and column.name not in commas]
    numbers = {*commas, *(column.name for column in strays)}
    words = [column.name for column in used if column.holds == "words" and column.name not in numbers]
    dates = [column.name for column in used if column.holds == "dates"]
    missing = [column.name for column in columns if column.role != "dropped" and column.n_missing]
    said = []
    if reading.target is None:
        said.append("name the target, the column of labels, by its name or number (-1: the last)")
    if words and reading.categorical is None:
        said.append(f"{listed(words)}: words; set `categorical` to one_hot or ordinal")
    if commas and reading.decimal is None:
        said.append(f"{listed(commas)}: numbers with a decimal comma; set `decimal: ','`")
    said += [
        f"{column.name}: {nearly_numbers(column)}; correct them, or leave them empty" for column in strays
    ]
    if dates:
        said.append(f"{listed(dates)}: dates or times, which are no features; set {drop(dates)}")
    if missing and reading.missing is None:
        said.append(f"{listed(missing)}: missing cells; set `missing` to drop, mean or most_frequent")
    said += [
        f"{column.name}: a word of its own in most rows; set {drop([column.name])}"
        for column in used
        if names_rows(column, n_rows) and column.name not in numbers
    ]
    said += [
        f"{column.name}: {why}; set {drop([column.name])}"
        for column in used
        if (why := tells_nothing(column)) is not None
    ]
    target = next((column.name for column in columns if column.role == "target"), None)
    said += [
        f"{copy}: the same in every row as {'the target ' * (first == target)}{first}; set {drop([copy])}"
        for copy, first in copies_of([column for column in columns if column.role != "dropped"], target)
    ]
    said += map(advice_unnamed, unnamed([column.name for column in used]))
    return said


def nearly_numbers(column: ColumnReport) -> str:
    """Say of a column of words with strays what it is."""
    shown = ", ".join(f"'{word}'" for word in column.strays)
    more = ", ..." * (sum(column.strays.values()) < column.n_strays)
    told = "1 cell is" if column.n_strays == 1 else f"{column.n_strays:,} cells are"
    return f"numbers, but {told} not written as such ({shown}{more})"


def names_rows(column: ColumnReport, n_rows: int) -> bool:
    """Tell whether most rows have a word of their own in a column, as the names of persons are."""
    return column.holds == "words" and column.n_distinct > max(OWN_WORDS, n_rows // 2)


def drop(names: Sequence[str]) -> str:
    """Return the option that leaves columns out, quoted as YAML needs it: a bare number is a position."""
    listing = yaml.safe_dump(list(names), default_flow_style=True, width=10**9, allow_unicode=True)
    return f"`drop: {listing.strip()}`"


def tells_nothing(column: ColumnReport) -> str | None:
    """Return why nothing can be learnt from a column of one value, or of numbers that count the rows."""
    if column.holds in ("numbers", "words") and column.n_distinct == 1 and not column.n_missing:
        return "one value in all rows"
    return COUNTS_ROWS if column.counts_rows else None


def copies_of(columns: Sequence[ColumnReport], target: str | None) -> list[tuple[str, str]]:
    """Return each of these columns that is a copy, and of which: the target, else the first of its kind."""
    names = [column.name for column in columns]
    found = []
    for column in columns:
        alike = [name for name in names if name == column.name or name in column.copies]
        first = target if target in alike else alike[0]
        if first is not None and column.name != first:
            found.append((column.name, first))
    return found


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
    named = [label_names[int(label)] if label_names else f"{label:g}" for label in labels]
    return dict(zip(named, counts.tolist(), strict=True))
