"""Whether the first line of a table names its columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.cells import are_numbers, are_truths, as_numbers, words_in
from kfeat.data.formats.declared import MISSING
from kfeat.data.reading import repeated
from kfeat.errors import DataError

UNNAMED = "Unnamed: "  # what a column without a name is called, followed by its number


class NoHeaderError(DataError):
    """A first line that looks like data."""


def looks_like_data(frame: Any) -> bool:
    """Return whether the names of a table's columns, its first line, look like a row of data.

    A word above numbers is a name. Else columns of few words tell: most names are words of their own columns,
    or none is. Where there are none, numbers are data, unless they count or step evenly, as names do.
    """
    columns = [cells for name, cells in frame.items() if name not in MISSING and not nameless(name)]
    numeric = [cells for cells in columns if are_numbers(cells) and not are_truths(cells)]
    above = numbers_of(numeric)
    if np.isnan(above).any() or (nameless(frame.columns[0]) and counts(frame.iloc[:, 0])):
        return False
    words = [cells for cells in columns if not are_numbers(cells) or are_truths(cells)]
    votes = [str(cells.name).lower() in few for cells in words if (few := few_words(cells))]
    if 2 * sum(votes) > len(votes):
        return True
    if not len(above) or (votes and not any(votes) and not repeated(frame.columns)):
        return False
    return not are_headings(above, numeric)


def named_by_numbers(frame: Any) -> bool:
    """Return whether a table's columns of numbers all have numbers as names."""
    numeric = [cells for name, cells in frame.items() if are_numbers(cells) and not nameless(name)]
    return bool(numeric) and not np.isnan(numbers_of(numeric)).any()


def nameless(name: str) -> bool:
    """Return whether a column has no name of its own."""
    return name.startswith(UNNAMED)


def numbers_of(columns: Sequence[Any]) -> NDArray[np.float64]:
    """Return the names of columns as numbers, NaN where one is a word."""
    import pandas as pd

    return as_numbers(pd.Series([str(cells.name) for cells in columns], dtype=object))


def counts(cells: Any) -> bool:
    """Return whether cells number the rows, from 0 or 1."""
    values = as_numbers(cells)
    return bool(np.array_equal(values, values[0] + np.arange(len(values)))) and values[0] in (0, 1)


def few_words(cells: Any) -> set[str]:
    """Return the words of a column in lower case, none where they are too many to expect its name there."""
    words = words_in(cells)
    return {word.lower() for word in words} if 2 * len(words) <= cells.count() else set()


def are_headings(above: NDArray[np.float64], columns: Sequence[Any]) -> bool:
    """Return whether the numbers above columns of numbers count, are years or, if many, step evenly."""
    steps = np.diff(above)
    if not len(steps) or not steps[0] or not np.allclose(steps, steps[0]):
        return False
    counted = steps[0] == 1 and (above[0] == 0 or (above[0] == 1 and len(above) > 2))
    years = bool(np.isin(above, np.arange(1900, 2101)).all())
    own = all(np.isin(name, as_numbers(cells)) for name, cells in zip(above, columns, strict=True))
    return len(above) > 4 or ((counted or years) and not own)
