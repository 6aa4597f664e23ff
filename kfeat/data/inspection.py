"""Inspecting a file before it is used: what its columns hold and become, and which of them are useless."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cache import Folder, cache_folder
from kfeat.data.coding import (
    UNNAMED,
    Spelling,
    are_numbers,
    are_truths,
    as_numbers,
    check_mistakes,
    holds,
    listed,
    spelt_numbers,
)
from kfeat.data.content import check_regular, naming
from kfeat.data.dataset import Raw
from kfeat.data.loading import load_own
from kfeat.data.reading import COLUMN_OPTIONS, OPTIONS, Reading, format_of
from kfeat.data.sources import FileSource
from kfeat.errors import DataError, KfeatError
from kfeat.text import in_yaml, plain, printable

MOST_WORDS = 4  # of a column that a report lists
FEW_ROWS = 20  # that may hold consecutive numbers by chance
OWN_WORDS = 20  # a column of more different words, and of more than half of the rows, names single rows
COUNTS_ROWS = "numbers that count the rows"
MARKS = {",": "Commas", ".": "Points", " ": "Blanks", "'": "Apostrophes"}
FAR_CODES = frozenset(sign * (10**digits - 1) for sign in (-1, 1) for digits in (2, 3, 4, 5))
MANY_ROWS = 200  # in which whole numbers that differ in every row are an id, if they do not follow the target
MOST_LOOKED_AT = 20_000  # rows by which it is judged whether they do
MOST_CLASSES = 50  # whose words are looked at one by one
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
        values = present.value_counts() if kind in ("words", "dates") else ()
        rows.append(
            {
                "name": name,
                "role": role,
                "holds": kind,
                "n_missing": len(cells) - len(present),
                "n_distinct": 0 if kind == "lists" else present.nunique(),
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
            values = as_numbers(frame[column.name])
            steps = np.diff(np.sort(values[np.isfinite(values)]))
            named = re.search(r"(^|[^A-Za-z])[iI][dD]$|[a-z]I[dD]$", column.name)
            own = column.n_distinct == len(frame) and (steps % 1 == 0).all()
            many = target is not None and len(frame) >= MANY_ROWS
            if own and (named or (many and not follows(frame[column.name], frame[target]))):
                reasons[column.name] = OWN_NUMBER
            if (steps == 1).all() and (column.name not in reasons or named):
                reasons[column.name] = COUNTS_ROWS
    if len(reasons) == len(features):  # row numbers may be times, if there is no other column
        reasons = {name: why for name, why in reasons.items() if why not in (COUNTS_ROWS, OWN_NUMBER)}
    return reasons


def follows(cells: Any, labels: Any) -> bool:
    """Return whether labels depend on numbers, whatever the form of the dependence.

    Either the correlation of their ranks is beyond 3 / sqrt(n), or trees on the numbers alone predict the
    labels of held-out rows better than their mean does: shallow ones see broad bands, others narrow ones.
    """
    from pandas import factorize, get_dummies
    from scipy.stats import spearmanr
    from sklearn.model_selection import cross_val_predict
    from sklearn.tree import DecisionTreeRegressor

    rows = np.random.default_rng(0).permutation(len(labels))[:MOST_LOOKED_AT]
    x, labels = as_numbers(cells)[rows], labels.iloc[rows]
    numbers = are_numbers(labels)
    y = as_numbers(labels) if numbers else factorize(labels, sort=True)[0].astype(float)
    x, y, labels = x[np.isfinite(y)], y[np.isfinite(y)], labels[np.isfinite(y)]
    if not abs(spearmanr(x, y).statistic) < 3 / np.sqrt(len(y)):
        return True
    few = not numbers and labels.nunique() <= MOST_CLASSES
    Y = np.asarray(get_dummies(labels), float) if few else y.reshape(-1, 1)
    leaf = max(5, len(y) // 200)
    trees = [DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf) for depth in (3, None)]
    predicted = [cross_val_predict(tree, x.reshape(-1, 1), Y, cv=5).reshape(Y.shape) for tree in trees]
    return any(((Y - Z) ** 2).sum() < ((Y - Y.mean(axis=0)) ** 2).sum() for Z in predicted)
