"""The cells of a column: what they are, as numbers, words or dates, and how messages name them."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import DataError

Holds: TypeAlias = Literal["numbers", "words", "dates", "lists", "nothing"]
MOST_LISTED = 12  # names, words or rows that a message lists
MOST_QUOTED = 100  # characters of each
LOOKED_AT = 1000  # words of a column that are checked for dates, or for numbers if there are more words
DATE = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"  # of ISO 8601


def holds(cells: Any) -> Holds:
    """Return what the cells of a column are; "lists" are what has no hash, which Parquet can hold."""
    import pandas as pd

    present = cells.dropna()
    if present.empty:
        return "nothing"
    if are_numbers(present):
        return "numbers"
    try:
        some = pd.Series(present.unique()[:LOOKED_AT])
    except TypeError:
        return "lists"
    return "dates" if as_dates(some).notna().mean() > 0.5 else "words"


def words_error(cells: Any, advice: str) -> DataError:
    """Return the error for words in a column of numbers, which names the first of them."""
    words = no_numbers(cells)
    row, n = int(np.argmax(words)), int(cells.notna().sum() - words.sum())
    share = f" ({n} of {len(cells)} rows are numbers)" if n else ""
    got = f"got '{cells.iloc[row]!s:.{MOST_QUOTED}}'{share}"
    return DataError(
        f"row {row + 1}, column {cells.name!s:.{MOST_QUOTED}}: expected numbers, {got}; {advice}"
    )


def no_numbers(cells: Any) -> NDArray[np.bool_]:
    """Return which cells that are not missing spell no number."""
    return np.isnan(as_numbers(cells)) & cells.notna().to_numpy()


def are_numbers(cells: Any) -> bool:
    """Return whether all cells that are not missing are numbers, truths (1 and 0) or durations (seconds)."""
    from pandas.api import types

    kinds = ("boolean", "decimal", "integer", "floating", "mixed-integer-float", "empty")
    of_objects = cells.dtype == object and types.infer_dtype(cells, skipna=True) in kinds
    return of_objects or types.is_numeric_dtype(cells) or are_durations(cells)


def are_durations(cells: Any) -> bool:
    """Return whether all cells that are not missing are durations, of NumPy, pandas or Arrow."""
    from pandas.api import types

    return types.infer_dtype(cells, skipna=True) in ("timedelta64", "timedelta")


def in_seconds(values: Any) -> Any:
    """Return values (n,), durations as their seconds (n,)."""
    import pandas as pd

    cells = pd.Series(np.ravel(values))
    return as_numbers(cells) if are_durations(cells) else values


def are_truths(cells: Any) -> bool:
    """Return whether all cells that are not missing are True or False."""
    from pandas.api import types

    return types.infer_dtype(cells, skipna=True) == "boolean"


def as_numbers(cells: Any) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is missing or is not a number; durations in seconds."""
    import pandas as pd

    if are_durations(cells):
        cells = pd.to_timedelta(cells).dt.total_seconds()
    if not pd.api.types.is_numeric_dtype(cells.dtype):
        cells = pd.to_numeric(cells.astype(object), errors="coerce")
    return np.array(cells.to_numpy(np.float64, na_value=np.nan))


def as_words(cells: Any, known: Iterable[str] = ()) -> Any:
    """Return cells as text, NaN where one is missing; 1.0 becomes the word 1 if that is a known word."""
    import pandas as pd

    known = set(known)

    def word_of(value: Any) -> str:
        word = str(value)
        short = word.removesuffix(".0")
        return short if word not in known and short in known else word

    which, met = pd.factorize(cells)
    words = np.array([*map(word_of, met), np.nan], dtype=object)
    return pd.Series(words[which], index=cells.index, dtype=object, name=cells.name)


def words_in(cells: Any) -> list[str]:
    """Return the different words of a column, sorted."""
    return sorted(as_words(cells).dropna().unique())


def as_dates(cells: Any) -> Any:
    """Return cells as points in time (UTC, without a zone), NaT where one is missing or no ISO date."""
    import pandas as pd

    if not pd.api.types.is_datetime64_any_dtype(cells):
        words = cells.astype("string").str.strip()
        cells = words.where(words.str.fullmatch(DATE, na=False))
    return pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True).dt.tz_localize(None)


def check_cells(bad: Any, cells: Any, expected: str, start: int = 0, got: str = "", advice: str = "") -> None:
    """Raise DataError where some cells are bad, naming column and rows; `start` rows are before them."""
    rows = np.flatnonzero(bad)
    if len(rows):
        named = f"row{'s' * (len(rows) > 1)} {listed([str(start + row + 1) for row in rows.tolist()])}"
        got = got or listed([f"'{word:.{MOST_QUOTED - 2}}'" for word in cells.iloc[rows].map(str).unique()])
        raise DataError(f"{named}, column {cells.name}: expected {expected}, got {got}{advice}")


def finite_numbers(cells: Any, start: int) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where one is missing; raises DataError for words and infinity."""
    values = as_numbers(cells)
    check_cells(no_numbers(cells), cells, "a number", start)
    check_cells(np.isinf(values), cells, "a finite number", start)
    return values


def listed(names: Sequence[str]) -> str:
    """Return names for a message, a dozen at most, each cut to MOST_QUOTED characters."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(f"{name:.{MOST_QUOTED}}" for name in names[:MOST_LISTED]) + more
