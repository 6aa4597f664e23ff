"""The numbers and the missing cells that the options of a reading declare."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kfeat.data.cells import are_numbers, as_numbers, as_words, check_cells, no_numbers
from kfeat.data.coding import Coding
from kfeat.data.reading import MissingCode, Reading
from kfeat.data.spelling import PLAIN, spelt

# The words for a missing cell: `?` and those of pandas, whose own list depends on its version.
MISSING = frozenset(
    {
        *("", "?", "NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    }
)


def remark(frame: Any, what: str, name: str) -> None:
    """Note in the frame how a column was read."""
    frame.attrs.setdefault("remarks", {}).setdefault(what, []).append(name)


def as_set(frame: Any, reading: Reading, coding: Coding | None = None) -> Any:
    """Return a frame with the numbers and the missing cells that the options of the reading declare.

    A coding knows which columns are numbers: there, another spelling raises DataError.
    """
    for name, column in frame.items():
        cells, spelling = without_codes(column, reading.codes(name)), reading.spelling(name)
        if spelling != PLAIN and name not in (reading.levels or {}) and not are_numbers(cells):
            numbers = spelt(cells, *spelling)
            labels = coding is not None and name == coding.target and not coding.label_names
            if coding is not None and (labels or coding.kinds.get(name) == "number"):
                words = numbers.map(lambda cell: isinstance(cell, str))
                check_cells(words, cells, f"a number such as {example(*spelling)}", int(cells.index[0]))
            cells = without_codes(numbers if are_numbers(numbers) else cells, reading.codes(name))
        if cells is not column:  # `frame[name]` is a new object each time, and setting a column is slow
            frame[name] = cells
    return frame


def example(decimal: str, thousands: str | None) -> str:
    """Return a number in a spelling."""
    return f"1{thousands or ''}250{decimal}5"


def without_codes(cells: Any, codes: Sequence[MissingCode]) -> Any:
    """Return a column that is NaN where it has codes of missing cells, which may be words or numbers."""
    import pandas as pd

    if not codes:
        return cells
    values = as_numbers(pd.Series(codes, dtype=object))
    found = np.isin(as_numbers(cells), values[~np.isnan(values)])
    if not are_numbers(cells):
        found |= as_words(cells).isin([*map(str, codes)]).to_numpy()
    return as_column(cells.mask(found), cells.mask(found)) if found.any() else cells


def as_column(numbers: Any, words: Any) -> Any:
    """Return a column of numbers if all cells that are not missing spell some, the words otherwise."""
    import pandas as pd

    values = as_numbers(numbers)
    return (
        words
        if no_numbers(numbers).any() or np.isnan(values).all()
        else pd.Series(values, numbers.index, name=numbers.name)
    )
