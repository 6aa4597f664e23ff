"""Inspecting a file before it is used: what its columns hold and become, and which options to set."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kfeat.data.cache import Folder, cache_folder
from kfeat.data.coding import Coding, gaps_of
from kfeat.data.columns import (
    Holds,
    advice_unnamed,
    as_numbers,
    as_words,
    comma_numbers,
    drop,
    holds,
    listed,
    stray_words,
    unnamed,
)
from kfeat.data.dataset import Raw
from kfeat.data.files import check_regular, naming
from kfeat.data.loading import load_files
from kfeat.data.models import Model, Task
from kfeat.data.reading import COLUMN_OPTIONS, OPTIONS, Reading, format_of
from kfeat.data.sources import FileSource
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable

MOST_WORDS = 10  # of a column that a report lists
MOST_STRAYS = 3
FEW_ROWS = 20  # that may hold consecutive numbers by chance
OWN_WORDS = 20  # a column of more different words, and of more than half of the rows, names single rows
COUNTS_ROWS = "numbers that count the rows"  # why a column is useless
# Digits with signs that are not part of a number.
NUMBER_LIKE = re.compile(r"[-+]?[$€£]?\s?[-+]?\d[\d,.' ]*\s?[%$€£]?")


class ColumnReport(Model):
    """What one column of a table holds, in the rows of the training file.

    `role` is its role in the dataset, and `becomes` is how its cells are coded, where that is known; `words`
    are the most frequent words with their counts. Where most cells of a column of words are numbers,
    `n_strays` cells are not, and `strays` are the most frequent of them. `copies` are the other columns with
    the same cells, and `counts_rows` is true if it holds consecutive whole numbers, each once.
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
    n_strays: int = 0
    strays: Mapping[str, int] = {}
    copies: tuple[str, ...] = ()
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
            columns = reports(frame, target, dropped, reading.decimal)
        notes = tuple(advice(columns, reading, len(frame)))
        known |= {"n_rows": {"train": len(frame)}, "target": target, "columns": columns, "advice": notes}
        if target is None and source.labels is None:
            return FileReport(**known)
    try:
        raw = load_files(source, cache_folder(cache))
        known["columns"] = with_coding(columns, raw.coding)
    except KfeatError as error:
        if frame is None:
            raise
        return FileReport(**known, problem=printable(error))
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
    """Return reports with what each column becomes: the number of features, the kind, and what fills gaps."""
    if coding is None:
        return columns
    gaps, becomes = gaps_of(coding), {}
    for name, kind in coding.kinds.items():
        n, gap = len(coding.features[name]), gaps.get(name)
        fill = "" if gap is None else f", missing: {gap:g}" if isinstance(gap, float) else f", missing: {gap}"
        becomes[name] = f"{n} feature{'s' * (n != 1)} ({kind}{fill})"
    return tuple(one.model_copy(update={"becomes": becomes.get(one.name)}) for one in columns)


def of_raw(raw: Raw) -> dict[str, Any]:
    """Return the fields of a report that are known once a file is read."""
    X, classes = raw.parts["train"].X, {}
    if raw.task == "classification":
        for part, each in raw.parts.items():
            labels, counts = np.unique(each.y, return_counts=True)
            named = [raw.label_names[int(one)] if raw.label_names else f"{one:.16g}" for one in labels]
            classes[part] = dict(zip(named, counts.tolist(), strict=True))
    return {
        "n_rows": {part: len(each.y) for part, each in raw.parts.items()},
        "task": raw.task,
        "n_features": raw.n_features,
        "classes": classes,
        "stored": None if isinstance(X, np.ndarray) else X.nnz / (X.shape[0] * X.shape[1]),
        "fingerprint": raw.fingerprint,
        "n_dropped": raw.n_dropped,
    }


def reports(
    frame: Any, target: str | None, dropped: Sequence[str], decimal: str | None = None
) -> tuple[ColumnReport, ...]:
    """Return a report on each column; `decimal` is the decimal sign of numbers in text."""
    roles: dict[Any, Any] = dict.fromkeys(frame, "feature")
    roles |= dict.fromkeys(dropped, "dropped") | {target: "target"}
    found = {name: contents_of(frame[name], decimal, name in dropped) for name in frame.columns}
    copies = copies_in(frame, [name for name, contents in found.items() if contents["n_distinct"] > 1])
    return tuple(
        ColumnReport(name=name, role=roles[name], **contents, copies=copies.get(name, ()))
        for name, contents in found.items()
    )


def contents_of(cells: Any, decimal: str | None, dropped: bool) -> dict[str, Any]:
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
        count = np.round(values[0]) + np.arange(len(values))
        found["counts_rows"] = not n_missing and len(values) > FEW_ROWS and bool((values == count).all())
        values = values[np.isfinite(values)]
        if len(values):
            found |= {"least": values[0], "mean": values.mean(), "greatest": values[-1]}
    elif kind != "nothing":
        found["words"] = as_words(present).value_counts().head(MOST_WORDS).to_dict()
        strays = stray_words(present, decimal)
        no_numbers = sum(n for word, n in strays.items() if not NUMBER_LIKE.fullmatch(word))
        if kind == "words" and 2 * no_numbers < len(present):
            found |= {"n_strays": strays.total(), "strays": dict(strays.most_common(MOST_STRAYS))}
    return found


def copies_in(frame: Any, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of these names whose cells others have too, and which others."""
    from pandas.util import hash_pandas_object

    alike: dict[bytes, list[str]] = {}
    for name in names:
        group = alike.setdefault(hash_pandas_object(frame[name], index=False).to_numpy().tobytes(), [])
        if not group or frame[group[0]].equals(frame[name]):
            group.append(name)
    pairs = [(name, group) for group in alike.values() for name in group]
    return {name: tuple(one for one in group if one != name) for name, group in pairs if len(group) > 1}


def advice(columns: Sequence[ColumnReport], reading: Reading, n_rows: int) -> Iterator[str]:
    """Yield sentences on what to set so that the file can be read, and read well."""
    read = [one for one in columns if one.role != "dropped"]
    used = [one for one in read if one.role == "feature"]
    target = next((one.name for one in read if one.role == "target"), None)
    with_commas = [one.name for one in read if one.holds == "words" and comma_numbers(one.words)]
    commas = with_commas if reading.decimal is None else []
    strays = [one for one in read if one.n_strays and one.name not in commas]
    numbers = {*commas, *(one.name for one in strays)}
    words = [one.name for one in used if one.holds == "words" and one.name not in numbers]
    dates = [one.name for one in used if one.holds == "dates"]
    missing = [one.name for one in read if one.n_missing]
    if reading.target is None:
        yield "name the target, the column of labels, by its name or number (-1: the last)"
    if words and reading.categorical is None:
        yield f"{listed(words)}: words; set `categorical` to one_hot or ordinal"
    if commas:
        yield f"{listed(commas)}: numbers with a decimal comma; set `decimal: ','`"
    for one in strays:
        yield f"{one.name}: {nearly_numbers(one)}; correct them, or leave them empty"
    if dates:
        yield f"{listed(dates)}: dates; each becomes year, month, weekday and the days since 1970-01-01"
    if missing and reading.missing is None:
        yield f"{listed(missing)}: missing cells; set `missing` to drop, mean or most_frequent"
    for one in read:
        if names_rows(one, n_rows) and one.name not in numbers:
            what = "too many for classes" if one.name == target else f"set {drop([one.name])}"
            comma = "," if one.name == target else ";"
            yield f"{one.name}: a different word in almost every row{comma} {what}"
    for one in used:
        if (why := tells_nothing(one)) is not None:
            yield f"{one.name}: {why}; set {drop([one.name])}"
    for one in read:
        if (alike := spelt_alike(one)) is not None:
            yield f"{one.name}: {alike}"
    for copy, first in copies_of(read, target):
        what = f"the target {first}" if first == target else first
        yield f"{copy}: the same in every row as {what}; set {drop([copy])}"
    yield from map(advice_unnamed, unnamed([one.name for one in used]))


def nearly_numbers(column: ColumnReport) -> str:
    """Return the description of a column of words that are mostly numbers."""
    shown = ", ".join(f"'{word}'" for word in column.strays)
    more = ", ..." * (sum(column.strays.values()) < column.n_strays)
    cells = "1 cell is" if column.n_strays == 1 else f"{column.n_strays:,} cells are"
    return f"numbers, but {cells} not written as such ({shown}{more})"


def names_rows(column: ColumnReport, n_rows: int) -> bool:
    """Return whether a column has a different word in almost every row, like the names of persons."""
    return column.holds == "words" and column.n_distinct > max(OWN_WORDS, n_rows // 2)


def spelt_alike(column: ColumnReport) -> str | None:
    """Return a sentence on words of a report that differ only in case or blanks; None without such words."""
    groups: dict[str, list[str]] = {}
    for word in column.words:
        groups.setdefault(word.strip().casefold(), []).append(f"'{word}'")
    alike = [listed(group) for group in groups.values() if len(group) > 1]
    if not alike:
        return None
    return f"{'; '.join(alike)} differ in case or blanks only, and count as different words"


def tells_nothing(column: ColumnReport) -> str | None:
    """Return why nothing can be learnt from a column of one value, or of numbers that count the rows."""
    if column.holds in ("numbers", "words") and column.n_distinct == 1 and not column.n_missing:
        return "one value in all rows"
    return COUNTS_ROWS if column.counts_rows else None


def copies_of(columns: Sequence[ColumnReport], target: str | None) -> Iterator[tuple[str, str]]:
    """Yield each of these columns that is a copy, and its original: the target, else the first one."""
    names = [column.name for column in columns]
    for column in columns:
        alike = [name for name in names if name == column.name or name in column.copies]
        first = target if target in alike else alike[0]
        if first is not None and column.name != first:
            yield column.name, first
