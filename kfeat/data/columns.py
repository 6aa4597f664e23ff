"""The columns of a table: what their cells are, how each is coded, and how messages name them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import DataError
from kfeat.saying import in_yaml

if TYPE_CHECKING:
    from kfeat.data.reading import Reading

Holds: TypeAlias = Literal["numbers", "words", "dates", "lists", "nothing"]
MOST_LISTED = 12  # names, words or rows that a message lists
LOOKED_AT = 1000  # words of a column that are checked for dates
MOST_CODES = 20  # different words that may be codes such as 1, 2 and X, even if most are numbers
FEW_STRAYS = 5  # cells that may be mistakes; in a long column, a hundredth of the cells
UNNAMED = "Unnamed: "  # what a column without a name is called, followed by its number
DATE = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"  # of ISO 8601
COMMA_NUMBER = re.compile(r"[+-]?\d+(,\d+)?")


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


def kind_of(cells: Any, reading: "Reading") -> str:
    """Return how a column is coded: "number", "date", "one_hot", "ordinal" or, one-hot too, "levels".

    Raises DataError for words where `categorical` is not set, a few words among numbers, and lists.
    """
    declared = str(cells.name) in (reading.levels or {})
    found = "words" if declared else holds(cells)
    out = f"leave the column out with {drop([cells.name])}"
    if found == "lists":
        cell = cells.dropna().iloc[0]
        raise DataError(f"column {cells.name}: expected numbers or words, got {cell!r:.60}; {out}")
    if found != "words":
        return "date" if found == "dates" else "number"
    if declared and reading.categorical is not None:
        return "ordinal" if reading.categorical == "ordinal" else "levels"
    refuse_mistakes(cells, f"{out}, ")
    if reading.categorical is None:
        raise words_error(cells, f"set `categorical` to ordinal or one_hot if it holds words, or {out}")
    return reading.categorical


def label_words(cells: Any, reading: "Reading") -> tuple[str, ...]:
    """Return the words behind the labels 0, 1, ..., declared or sorted; none where labels are no words.

    Raises DataError for a few words among numbers.
    """
    if levels := (reading.levels or {}).get(str(cells.name)):
        return tuple(levels)
    if holds(cells) != "words":
        return ()
    refuse_mistakes(cells)
    return tuple(words_in(cells))


def refuse_mistakes(cells: Any, advice: str = "") -> None:
    """Raise DataError for a column of numbers with a decimal comma, or of numbers and a few other cells."""
    words = words_in(cells)
    if all(map(COMMA_NUMBER.fullmatch, words)) and any("," in word for word in words):
        raise words_error(cells, "write a decimal point, not a comma")
    n, of = int(no_numbers(cells).sum()), len(cells)
    if len(words) > MOST_CODES and n <= max(FEW_STRAYS, of // 100) and 2 * n < of:
        advice = f"correct it or leave it empty, {advice}or declare all words of the column with `levels`"
        raise words_error(cells, advice)


def has_mistakes(cells: Any) -> bool:
    """Return whether `refuse_mistakes` refuses a column."""
    try:
        refuse_mistakes(cells)
    except DataError:
        return True
    return False


def words_error(cells: Any, advice: str) -> DataError:
    """Return the error for words in a column of numbers, which names the first of them."""
    words = no_numbers(cells)
    row, n = int(np.argmax(words)), int(cells.notna().sum() - words.sum())
    share = f" ({n} of {len(cells)} rows are numbers)" if n else ""
    return DataError(
        f"row {row + 1}, column {cells.name}: expected numbers, got '{cells.iloc[row]}'{share}; {advice}"
    )


def no_numbers(cells: Any) -> NDArray[np.bool_]:
    """Return which cells that are not missing spell no number."""
    return np.isnan(as_numbers(cells)) & cells.notna().to_numpy()


def are_numbers(cells: Any) -> bool:
    """Return whether all cells that are not missing are numbers; True and False are 1 and 0."""
    from pandas.api import types

    kinds = ("boolean", "decimal", "integer", "floating", "mixed-integer-float", "empty")
    of_objects = cells.dtype == object and types.infer_dtype(cells, skipna=True) in kinds
    return of_objects or types.is_numeric_dtype(cells)


def as_numbers(cells: Any) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is missing or is not a number."""
    import pandas as pd

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


def refuse(bad: Any, cells: Any, expected: str, start: int = 0, got: str = "", advice: str = "") -> None:
    """Raise DataError where some cells are bad, naming column and rows; `start` rows are before them."""
    rows = np.flatnonzero(bad)
    if len(rows):
        named = f"row{'s' * (len(rows) > 1)} {listed([str(start + row + 1) for row in rows.tolist()])}"
        got = got or listed([f"'{word}'" for word in cells.iloc[rows].map(str).unique()])
        raise DataError(f"{named}, column {cells.name}: expected {expected}, got {got}{advice}")


def finite_numbers(cells: Any, start: int) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where one is missing; raises DataError for words and infinity."""
    values = as_numbers(cells)
    refuse(no_numbers(cells), cells, "a number", start)
    refuse(np.isinf(values), cells, "a finite number", start)
    return values


def check_columns(found: Sequence[str], expected: Sequence[str], beside: set[str | None]) -> None:
    """Raise DataError unless each expected column is found once, and others only if they are in `beside`."""
    if several := repeated(found):
        raise DataError(f"columns: expected each name once, got more than one column {listed(several)}")
    present, allowed = set(found), {*expected, *beside}
    missing = [name for name in expected if name not in present]
    extra = [name for name in found if name not in allowed]
    if missing or extra:
        problems = [f"missing: {listed(missing)}"] if missing else []
        problems += [f"not known: {listed(extra)}; leave them out"] if extra else []
        raise DataError(
            f"columns: expected those of the training rows, {listed(expected)}; {'; '.join(problems)}"
        )


def listed(names: Sequence[str]) -> str:
    """Return names for a message, cut to a dozen."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once, each once, sorted."""
    return sorted(name for name, n in Counter(names).items() if n > 1)


def drop(names: Sequence[str]) -> str:
    """Return the option that leaves columns out, quoted as YAML needs it: a bare number is a position."""
    return f"`drop: {in_yaml(list(names))}`"
