"""Inspecting a file before it is used: what its columns hold and become, and which of them are useless."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kfeat.data.access import Access
from kfeat.data.cache import Folder
from kfeat.data.cells import as_numbers, holds
from kfeat.data.content import naming
from kfeat.data.dataset import Raw
from kfeat.data.detection import table_of
from kfeat.data.reading import format_of
from kfeat.data.sources import FileSource
from kfeat.errors import KfeatError
from kfeat.text import plain, printable

MOST_WORDS = 4  # of a column that a report lists


def inspect(source: FileSource, cache: Folder = None) -> dict[str, Any]:
    """Return what a file holds and what reading makes of it, as JSON has it.

    `columns` are those of `columns_of`, none for formats without named columns, and what each `becomes`.
    If the file was read as a whole, there are `task`, `n_features`, `classes` (the rows of each class, by
    part), `sparse`, `n_dropped` rows and the `fingerprint`; if it cannot be read, the `problem`. Raises
    DataError where it cannot be read in its format at all.
    """
    from kfeat.data.formats.columns import roles

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
        raw = source.load(Access(cache=cache))
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
