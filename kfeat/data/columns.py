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

Holds: TypeAlias = Literal["numbers", "words", "dates", "nothing"]
MOST_LISTED = 12  # names, words or rows that a message lists
LOOKED_AT = 1000  # words of a column that are checked for dates and for a decimal comma
MOST_CODES = 20  # different words that may be codes such as 1, 2 and X, even if most are numbers
FEW_STRAYS = 5  # cells that may be mistakes; in a long column, a hundredth of the cells
UNNAMED = "Unnamed: "  # what a column without a name is called, followed by its number
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2}"
_MONTH = r"\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?"
DATE = re.compile(rf"({_DAY}|{_MONTH})([T ]{_TIME})?")
TWO_NUMBERS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\b")  # the beginning of a date
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
COMMA_NUMBER = re.compile(r"[+-]?\d+(,\d+([eE][+-]?\d+)?)?")


def holds(cells: Any) -> Holds:
    """Return what the cells of a column are; raises DataError for lists, which Parquet can hold."""
    import pandas as pd

    present = cells.dropna()
    if present.empty:
        return "nothing"
    if are_numbers(present):
        return "numbers"
    try:
        some = present.unique()[:LOOKED_AT]
    except TypeError:  # they have no hash
        raise DataError(
            f"column {cells.name}: expected numbers or words, got {present.iloc[0]!r:.60}; leave the column "
            f"out with {drop([cells.name])}"
        ) from None
    return "dates" if 2 * as_dates(pd.Series(some)).notna().sum() > len(some) else "words"


def kind_of(cells: Any, reading: "Reading") -> str:
    """Return how a column is coded: "number", "date", "one_hot", "ordinal" or, one-hot too, "levels".

    Raises DataError for words where `categorical` is not set, and for a few words among numbers.
    """
    declared = str(cells.name) in (reading.levels or {})
    found = "words" if declared else holds(cells)
    if found != "words":
        return "date" if found == "dates" else "number"
    if declared and reading.categorical is not None:
        return "ordinal" if reading.categorical == "ordinal" else "levels"
    out = f"leave the column out with {drop([cells.name])}"
    if reading.categorical is None:
        advice = f"set `categorical` to ordinal or one_hot if it holds words, or {out}"
        raise words_error(cells, reading.decimal, advice)
    refuse_strays(cells, reading.decimal, f"{out}, ")
    return reading.categorical


def label_words(cells: Any, reading: "Reading") -> tuple[str, ...]:
    """Return the words behind the labels 0, 1, ..., declared or sorted; none where labels are numbers.

    Raises DataError for dates, and for a few words among numbers.
    """
    if levels := (reading.levels or {}).get(str(cells.name)):
        return tuple(levels)
    found = holds(cells)
    if found == "dates":
        raise DataError(
            f"column {cells.name}: expected numbers or words as labels, got dates such as "
            f"'{cells.dropna().iloc[0]}'; replace the dates by numbers"
        )
    if found != "words":
        return ()
    refuse_strays(cells, reading.decimal)
    return tuple(words_in(cells))


def refuse_strays(cells: Any, decimal: str | None, advice: str = "") -> None:
    """Raise DataError where all but a few cells of a column are numbers: the others count as mistakes."""
    n, of = int(no_numbers(cells, decimal).sum()), len(cells)
    if cells.nunique() > MOST_CODES and n <= max(FEW_STRAYS, of // 100) and 2 * n < of:
        advice = f"correct it or leave it empty, {advice}or declare all words of the column with `levels`"
        raise words_error(cells, decimal, advice)


def words_error(cells: Any, decimal: str | None, advice: str) -> DataError:
    """Return the error for words in a column of numbers, which names the first of them."""
    words = no_numbers(cells, decimal)
    row, n = int(np.argmax(words)), int(cells.notna().sum() - words.sum())
    share = f" ({n} of {len(cells)} rows are numbers)" if n else ""
    if decimal is None and comma_numbers(cells.dropna().map(str)[:LOOKED_AT]):
        advice = "set `decimal: ','`"
    return DataError(
        f"row {row + 1}, column {cells.name}: expected numbers, got '{cells.iloc[row]}'{share}; {advice}"
    )


def no_numbers(cells: Any, decimal: str | None) -> NDArray[np.bool_]:
    """Return which cells that are not missing spell no number."""
    return np.isnan(as_numbers(cells, decimal)) & cells.notna().to_numpy()


def are_numbers(cells: Any) -> bool:
    """Return whether all cells that are not missing are numbers; True and False are 1 and 0."""
    from pandas.api import types

    kinds = ("boolean", "decimal", "integer", "floating", "mixed-integer-float", "empty")
    of_objects = cells.dtype == object and types.infer_dtype(cells, skipna=True) in kinds
    return of_objects or types.is_numeric_dtype(cells)


def as_numbers(cells: Any, decimal: str | None = None) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is missing or is not a number.

    With a decimal comma, text with a point is not a number: 3.992 may be 3992.
    """
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(cells.dtype):
        cells = cells.astype(object)
        if decimal == ",":
            cells = cells.map(lambda cell: with_point(cell) if isinstance(cell, str) else cell)
        cells = pd.to_numeric(cells, errors="coerce")
    return np.array(cells.to_numpy(np.float64, na_value=np.nan))


def with_point(word: str) -> str:
    """Return a number with a decimal comma as one with a point; text with a point as no number."""
    return "" if "." in word else word.replace(",", ".")


def is_number(word: str, decimal: str | None = None) -> bool:
    """Return whether a word spells a number."""
    try:
        float(with_point(word) if decimal == "," else word)
    except ValueError:
        return False
    return True


def comma_numbers(words: Iterable[str]) -> bool:
    """Return whether all words are numbers, some with a comma that can only be the decimal sign.

    The comma of 1,234 may separate thousands.
    """
    words = list(words)
    with_comma = [word for word in words if "," in word]
    return all(map(COMMA_NUMBER.fullmatch, words)) and not all(map(THOUSANDS.fullmatch, with_comma))


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


def as_dates(cells: Any, day_first: bool = False) -> Any:
    """Return cells as points in time (UTC, without a zone), NaT where one is missing or no date.

    Of two numbers with which a date begins, the first is the month unless `day_first`.
    """
    import pandas as pd

    def date_of(cell: Any) -> str | None:
        word = str(cell).strip()
        if not DATE.fullmatch(word):
            return None
        return TWO_NUMBERS.sub(r"\3\2\1", word, count=1) if day_first and TWO_NUMBERS.match(word) else word

    if not pd.api.types.is_datetime64_any_dtype(cells):
        cells = cells.astype(object).map(date_of, na_action="ignore")
    return pd.to_datetime(cells, errors="coerce", format="mixed", utc=True).dt.tz_localize(None)


def is_day_first(cells: Any) -> bool:
    """Return whether dates begin with the day: by a number above 12, else by points between the numbers."""
    found = [
        match.groups() for word in cells.dropna().map(str).unique() if (match := TWO_NUMBERS.match(word))
    ]
    month_first = any(int(second) > 12 for _, _, second in found)
    return not month_first and any(int(first) > 12 or sign == "." for first, sign, _ in found)


def refuse(bad: Any, cells: Any, expected: str, start: int = 0, got: str = "", advice: str = "") -> None:
    """Raise DataError where some cells are bad, naming column and rows; `start` rows are before them."""
    rows = np.flatnonzero(bad)
    if len(rows):
        named = f"row{'s' * (len(rows) > 1)} {listed([str(start + row + 1) for row in rows.tolist()])}"
        got = got or listed([f"'{word}'" for word in cells.iloc[rows].map(str).unique()])
        raise DataError(f"{named}, column {cells.name}: expected {expected}, got {got}{advice}")


def finite_numbers(cells: Any, decimal: str, start: int) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where one is missing; raises DataError for words and infinity."""
    values = as_numbers(cells, decimal)
    comma = "; the decimal sign is a comma, and a number has no points" if decimal == "," else ""
    refuse(no_numbers(cells, decimal), cells, "a number", start, advice=comma)
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
