"""What the columns of a table hold: numbers, words or dates, how many, which are missing, which are alike."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kfeat.data.columns import as_numbers, is_number
from kfeat.data.models import Model

MOST_WORDS = 10  # of a column that a report lists
MOST_STRAYS = 3
FEW_ROWS = 20  # that may hold the numbers from one to another by chance
NUMBER_LIKE = re.compile(
    r"[-+]?[$€£]?\s?[-+]?\d[\d,.' ]*\s?[%$€£]?"
)  # with signs that are not part of a number


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


def reports(
    frame: Any, target: str | None, dropped: Sequence[str], decimal: str | None = None
) -> tuple[ColumnReport, ...]:
    """Return a report on each column; `decimal` is the decimal sign of numbers in text."""

    def role(name: str) -> Literal["feature", "target", "dropped"]:
        if name == target:
            return "target"
        return "dropped" if name in dropped else "feature"

    found = {name: contents_of(frame[name], decimal, name in dropped) for name in frame.columns}
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


def contents_of(cells: Any, decimal: str | None, dropped: bool) -> dict[str, Any]:
    """Return what a column holds, how much of it is missing, and its range or its words.

    Raises DataError for a column of lists or mappings, which Parquet can hold, unless it is dropped.
    """
    from kfeat.data.formats.learning import are_dates, are_numbers, nested_error

    there = cells.dropna()
    try:
        found: dict[str, Any] = {"n_missing": int(cells.isna().sum()), "n_distinct": int(there.nunique())}
    except TypeError:  # they have no hash
        if dropped:
            return {"n_missing": int(cells.isna().sum()), "n_distinct": 0, "holds": "words"}
        raise nested_error(there, str(cells.name)) from None
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
    strays = {word: n for word, n in counts.items() if not is_number(word, decimal)}
    no_numbers = sum(n for word, n in strays.items() if not NUMBER_LIKE.fullmatch(word))
    if found["holds"] == "words" and 2 * no_numbers < len(there):
        found |= {"n_strays": sum(strays.values()), "strays": _first(strays, MOST_STRAYS)}
    return found


def count_rows(values: NDArray[np.float64]) -> bool:
    """Tell whether numbers, of more rows than a few, are the whole ones from the least to the greatest."""
    ordered = np.sort(values)
    return len(ordered) > FEW_ROWS and bool((ordered == np.round(ordered[0]) + np.arange(len(ordered))).all())


def _first(counts: Mapping[str, int], n: int) -> dict[str, int]:
    return dict(islice(counts.items(), n))
