"""Inspecting a file before it is used: what its columns hold and become, and which of them are useless."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cache import Folder, cache_folder, check_regular, naming
from kfeat.data.coding import (
    UNNAMED,
    are_numbers,
    as_numbers,
    check_mistakes,
    has_thousands,
    holds,
    listed,
)
from kfeat.data.dataset import COLUMN_OPTIONS, OPTIONS, Raw, Reading, format_of
from kfeat.data.loading import load_own
from kfeat.data.sources import FileSource
from kfeat.errors import DataError, KfeatError
from kfeat.text import plain, printable

MOST_WORDS = 4  # of a column that a report lists
FEW_ROWS = 20  # that may hold consecutive numbers by chance
OWN_WORDS = 20  # a column of more different words, and of more than half of the rows, names single rows
COUNTS_ROWS = "numbers that count the rows"
MANY_ROWS = 200  # in which whole numbers that differ in every row are an id, if they do not follow the target
OWN_NUMBER = "a number of its own in every row"


def inspect(source: FileSource, cache: Folder = None) -> dict[str, Any]:
    """Return what a file holds and what reading makes of it, as JSON has it.

    `columns` are those of `columns_of`, none for formats without named columns, and what each `becomes`.
    If the file was read as a whole, there are `task`, `n_features`, `classes` (the rows of each class, by
    part), `sparse`, `n_dropped` rows and the `fingerprint`; if it cannot be read, the `problem`. Raises
    DataError where it cannot be read in its format at all.
    """
    from kfeat.data.formats.tables import roles

    reading, path = source.reading, source.files["train"]
    frame, reading, remarks = table_of(path, reading)
    source, columns = source.model_copy(update=dict(reading)), None
    known: dict[str, Any] = {"file": str(path), "format": format_of(path, reading)}
    known |= {"n_bytes": path.stat().st_size, "columns": [], "remarks": remarks}
    if frame is not None:
        with naming(path):
            target, dropped = roles(list(frame.columns), reading)
            columns = columns_of(frame, target, dropped)
        known |= {"n_rows": {"train": len(frame)}, "target": target, "columns": columns.to_dict("records")}
        if target is None and source.labels is None:
            return known
    try:
        raw = load_own(source, cache_folder(cache))
        if columns is not None and raw.coding is not None:
            columns["becomes"] = columns["name"].map(raw.coding.kinds).fillna(columns["becomes"])
            known["columns"] = columns.to_dict("records")
    except KfeatError as error:
        if frame is None:
            raise
        return {**known, "problem": printable(error)}
    classes = raw.parts if raw.task == "classification" else {}
    return known | {
        "n_rows": {role: len(part.y) for role, part in raw.parts.items()},
        "task": raw.task,
        "n_features": raw.n_features,
        "classes": {role: class_counts(raw, part.y) for role, part in classes.items()},
        "sparse": raw.sparse,
        "fingerprint": raw.fingerprint,
        "n_dropped": raw.n_dropped,
    }


def table_of(path: Path, reading: Reading) -> tuple[Any, Reading, list[str]]:
    """Return the frame in a file, None without named columns, how it is read, and remarks on that.

    Delimiter and header are found where `reading` does not set them. Raises DataError if the file cannot
    be read.
    """
    from kfeat.data.formats.tables import NoHeaderError, likely_delimiter, named_by_numbers

    check_regular(path)
    if format_of(path, reading) not in ("csv", "tsv"):
        return table_in(path, reading), reading, []
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
    if commas := [name for name, cells in frame.items() if has_thousands(cells)]:
        reading = reading.model_copy(update={"thousands": ","})
        frame = table_in(path, reading)
        remarks.append(f"Commas between thousands are left out (`thousands`): {listed(commas)}.")
    read = frame.attrs.get("remarks", {})
    return frame, reading, remarks + [f"{what}: {listed(names)}." for what, names in read.items()]


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


def class_counts(raw: Raw, y: Any) -> dict[str, int]:
    """Return the number of rows of each class among the labels y (n,) of a dataset, by its label."""
    labels, counts = np.unique(y, return_counts=True)
    named = [raw.label_names[int(label)] if raw.label_names else f"{label:.16g}" for label in labels]
    return dict(zip(named, counts.tolist(), strict=True))


def columns_of(frame: Any, target: str | None, dropped: Sequence[str]) -> Any:
    """Return a frame with a row for each column of a table: what it holds, and what it is for.

    `role` is feature, target or dropped; `values` is the range of numbers, or the most frequent words.
    """
    import pandas as pd

    rows = []
    for name, cells in frame.items():
        role = "target" if name == target else "dropped" if name in dropped else "feature"
        present, kind = cells.dropna(), holds(cells)
        values = present.value_counts() if kind != "lists" else ()
        rows.append(
            {
                "name": name,
                "role": role,
                "holds": kind,
                "n_missing": len(cells) - len(present),
                "n_distinct": len(values),
                "values": _values(as_numbers(present) if kind == "numbers" else values),
                "becomes": "" if role == "feature" else role,
            }
        )
    return pd.DataFrame(rows)


def _values(values: Any) -> str:
    """Return the range of numbers, or the most frequent words with their counts."""
    if isinstance(values, np.ndarray):
        finite = values[np.isfinite(values)]
        return f"{finite.min():g} to {finite.max():g}, mean {finite.mean():g}" if len(finite) else ""
    shown = [f"{plain(str(word))} ({n:,})" for word, n in dict(values[:MOST_WORDS]).items()]
    return ", ".join(shown) + f" and {len(values) - MOST_WORDS:,} more" * (len(values) > MOST_WORDS)


def useless(frame: Any, columns: Any, target: str | None) -> dict[str, str]:
    """Return the columns beside the target from which nothing can be learnt, each with the reason."""
    from pandas.util import hash_pandas_object

    def cells_of(name: str) -> bytes:
        return hash_pandas_object(frame[name], index=False).to_numpy().tobytes()

    features = columns[(columns["role"] != "dropped") & (columns["name"] != target)]
    seen = {} if target is None else {cells_of(target): target}
    reasons = {}
    for column in features.itertuples():
        if column.name.startswith(UNNAMED):
            reasons[column.name] = "no name, probably an index"
        elif column.holds in ("nothing", "lists"):
            reasons[column.name] = "no value" if column.holds == "nothing" else "lists"
        elif column.holds == "words" and column.n_distinct > max(OWN_WORDS, len(frame) // 2):
            with suppress(DataError):  # numbers with a few slips, which are worth a message
                check_mistakes(frame[column.name])
                reasons[column.name] = "a different word in almost every row"
        elif column.n_distinct == 1 and not column.n_missing:
            reasons[column.name] = "one value in all rows"
        elif (first := seen.setdefault(cells_of(column.name), column.name)) != column.name:
            reasons[column.name] = f"the same as {first}"
        elif column.holds == "numbers" and len(frame) > FEW_ROWS:
            steps = np.diff(np.sort(as_numbers(frame[column.name])))
            named = re.search(r"(^|[^A-Za-z])[iI][dD]$|[a-z]I[dD]$", column.name)
            own = column.n_distinct == len(frame) and (steps % 1 == 0).all()
            many = target is not None and len(frame) >= MANY_ROWS
            if own and (named or (many and not follows(frame[column.name], frame[target]))):
                reasons[column.name] = OWN_NUMBER
            reasons |= {column.name: COUNTS_ROWS} if (steps == 1).all() else {}
    if len(reasons) == len(features):  # row numbers may be times, if there is no other column
        reasons = {name: why for name, why in reasons.items() if why not in (COUNTS_ROWS, OWN_NUMBER)}
    return reasons


def follows(cells: Any, labels: Any) -> bool:
    """Return whether numbers rise or fall with the labels: their ranks' correlation is beyond 3 / sqrt(n)."""
    from pandas import factorize
    from scipy.stats import spearmanr

    y = as_numbers(labels) if are_numbers(labels) else factorize(labels, sort=True)[0]
    return not abs(spearmanr(as_numbers(cells), y).statistic) < 3 / np.sqrt(len(y))
