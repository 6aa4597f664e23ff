"""What is learnt of a column when files are read: whether it holds words, which, and what fills its gaps."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from kfeat.data.columns import Column, as_numbers, drop, is_number
from kfeat.data.reading import Reading
from kfeat.errors import DataError

MOST_CODES = 20  # words of a column, most of them numbers, that may be meant as words
FEW_STRAYS = 5  # cells that may be mistakes in a short column; of a long one a hundredth
LOOKED_AT = 1000  # words of a column that tell whether it holds dates, or numbers with a decimal comma
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2}"
_MONTH = r"\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?"
DATE = re.compile(rf"(({_DAY}|{_MONTH})([T ]{_TIME})?|{_TIME})")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
NUMBER = re.compile(r"[+-]?\d[\d.,]*")
COMMA_NUMBER = re.compile(r"[+-]?\d{1,3}(\.?\d{3})*,\d+|[+-]?\d+,\d+([eE][+-]?\d+)?|[+-]?\d+")


def learn_column(name: str, cells: Mapping[str, Any], reading: Reading, file: str) -> Column:
    """Return the coding of one column, given its cells by part.

    The words are those of all parts; what fills missing cells is learnt from the part "train" alone. Raises
    DataError for words where `categorical` is not set, for dates, and for a column without any value.
    """
    if not holds_words(cells, reading, name):
        return Column(name=name, fill=number_fill(cells["train"], reading, name, file))
    try:
        words = levels_of(cells, reading, name)
    except TypeError:  # they have no hash
        raise nested_error(chain(*cells.values()), name, f"{file}, ") from None
    refuse_dates(cells, reading, name, file)
    refuse_mixed(cells, reading, name, file)
    if reading.categorical is None:
        raise words_error(cells["train"], reading, name, file)
    refuse_strays(cells, words, reading, name, file)
    fill = word_fill(cells["train"], reading, name, file)
    return Column(name=name, kind=reading.categorical, words=tuple(words), fill=fill)


def holds_words(cells: Mapping[str, Any], reading: Reading, name: str) -> bool:
    """Return whether a column holds words in any part, or is declared to by its levels."""
    return is_declared(reading, name) or not all(map(are_numbers, cells.values()))


def is_declared(reading: Reading, name: str) -> bool:
    """Return whether the words of a column are given."""
    return reading.levels is not None and name in reading.levels


def are_numbers(cells: Any) -> bool:
    """Return whether cells hold numbers; True and False beside missing cells are 1 and 0."""
    truths = cells.dtype == object and all(isinstance(value, bool) for value in cells.dropna())
    return truths or is_numeric_dtype(cells)


def are_dates(cells: Any) -> bool:
    """Return whether cells that are not missing are dates or times, or most of their words spell some."""
    some = cells.dropna().drop_duplicates()[:LOOKED_AT].map(str)
    spelt = sum(DATE.fullmatch(word.strip()) is not None for word in some)
    return is_datetime64_any_dtype(cells) or 2 * spelt > len(some)


def levels_of(cells: Mapping[str, Any], reading: Reading, name: str) -> list[str]:
    """Return the words of a column in the order given, or sorted."""
    if reading.levels and name in reading.levels:
        return reading.levels[name]
    return sorted({str(value) for column in cells.values() for value in column.dropna().unique()})


def number_fill(cells: Any, reading: Reading, name: str, file: str) -> float | None:
    """Return what stands for missing numbers: the mean or the most frequent one (of several, the least)."""
    if reading.missing not in ("mean", "most_frequent"):
        return None
    import pandas as pd

    values = pd.Series(as_numbers(cells, reading.decimal)).dropna()
    if values.empty:
        raise nothing_there(name, file)
    return float(values.mean() if reading.missing == "mean" else values.mode()[0])


def word_fill(cells: Any, reading: Reading, name: str, file: str) -> str | None:
    """Return what stands for missing words: the most frequent one (of several, the first in the alphabet)."""
    if reading.missing not in ("mean", "most_frequent"):
        return None
    words = cells.dropna().map(str)
    if words.empty:
        raise nothing_there(name, file)
    return str(words.mode()[0])


def nothing_there(name: str, file: str) -> DataError:
    """Return the error for a column without any value in the training rows."""
    return DataError(
        f"{file}, column {name}: expected a value in some training row, got missing cells only; "
        f"leave the column out with {drop([name])}"
    )


def nested_error(cells: Iterable[Any], name: str, place: str = "") -> DataError:
    """Return the error for a column of lists or mappings, which Parquet can hold."""
    nested = next(cell for cell in cells if not isinstance(cell, Hashable))
    return DataError(
        f"{place}column {name}: expected numbers or words, got {nested!r:.60}; leave the column out with "
        f"{drop([name])}"
    )


def words_error(cells: Any, reading: Reading, name: str, file: str) -> DataError:
    """Return the error for a column of words where nothing is said of them."""
    numbers = as_numbers(cells, reading.decimal)
    row = first_word(cells, reading)
    value, known = cells.iloc[row], sum(numbers == numbers)
    place = f"{file}, row {row + 1}, column {name}: expected numbers, got '{value}'"
    some = list(cells.dropna().map(str)[:LOOKED_AT])
    if reading.decimal is None and comma_numbers(some):
        return DataError(f"{place}; where the decimal sign is a comma, set `decimal: ','`")
    has_commas = any("," in word for word in some)
    if reading.decimal != "," and has_commas and all(map(COMMA_NUMBER.fullmatch, some)):
        return DataError(
            f"{place}; set `decimal: ','` where the comma is the decimal sign; where it separates thousands, "
            "take it out of the file"
        )
    if reading.decimal == "," and NUMBER.fullmatch(value):
        return DataError(
            f"{place}; the decimal sign is a comma (`decimal: ','`), and a number has no points: leave "
            "`decimal` out where the point is the sign, and take points between thousands out of the file"
        )
    share = f" ({known} of {len(cells)} rows are numbers)" if known else ""
    return DataError(
        f"{place}{share}; set `categorical` to ordinal or one_hot if it holds words, "
        f"or leave the column out with {drop([name])}"
    )


def first_word(cells: Any, reading: Reading) -> int:
    """Return the place of the first cell that is no number and not missing; 0 where there is none."""
    numbers, missing = as_numbers(cells, reading.decimal), cells.isna().to_numpy()
    return int(np.argmax((numbers != numbers) & ~missing))


def refuse_mixed(cells: Mapping[str, Any], reading: Reading, name: str, file: str) -> None:
    """Raise DataError for numbers in some parts and words in others, unless the words are declared."""
    numbers = [part for part, some in cells.items() if some.notna().any() and are_numbers(some)]
    if numbers and not is_declared(reading, name):
        raise mixed_error(cells, numbers, reading, name, file)


def refuse_strays(
    cells: Mapping[str, Any], words: Sequence[str], reading: Reading, name: str, file: str,
    target: bool = False,
) -> None:  # fmt: skip
    """Raise DataError where all but a few cells of a column are numbers, unless the words are declared.

    Up to 20 words may be codes such as 1, 2 and X; of more, a few cells that spell no numbers are mistakes.
    """
    if is_declared(reading, name) or len(words) <= MOST_CODES:
        return
    strays = {word for word in words if not is_number(word, reading.decimal)}
    marked = {part: some.map(str).isin(strays) for part, some in cells.items()}
    n, of = sum(int(some.sum()) for some in marked.values()), sum(map(len, cells.values()))
    if 0 < n <= max(FEW_STRAYS, of // 100) and 2 * n < of:
        part = next(part for part, some in marked.items() if some.any())
        row = int(np.argmax(marked[part]))
        out = "" if target else f"leave the column out with {drop([name])}, "
        raise DataError(
            f"{file}, column {name}: all but {n:,} of {of:,} cells are numbers, and {part} row {row + 1} is "
            f"'{cells[part].iloc[row]}'; correct it or leave it empty, {out}or declare all words of the "
            "column with `levels`"
        )


def mixed_error(
    cells: Mapping[str, Any], numbers: Sequence[str], reading: Reading, name: str, file: str
) -> DataError:
    """Return the error for a column that holds numbers in some parts and words in others."""
    part, words = next((part, some) for part, some in cells.items() if not are_numbers(some))
    row = first_word(words, reading)
    return DataError(
        f"{file}, column {name}: the {' and the '.join(numbers)} rows hold numbers, and {part} row {row + 1} "
        f"'{words.iloc[row]}'; correct it, or declare all words of the column with `levels`"
    )


def comma_numbers(words: Iterable[str]) -> bool:
    """Return whether all words are numbers, some with a comma that can only be the decimal sign.

    That of 1,234 may separate thousands.
    """
    words = list(words)
    with_comma = [word for word in words if "," in word]
    return all(map(COMMA_NUMBER.fullmatch, words)) and not all(map(THOUSANDS.fullmatch, with_comma))


def refuse_dates(cells: Mapping[str, Any], reading: Reading, name: str, file: str) -> None:
    """Raise DataError for a column of dates or times, unless its words are declared by `levels`."""
    if is_declared(reading, name):
        return
    if any(map(are_dates, cells.values())):
        words = cells["train"].dropna().map(str)
        dates = [word for word in words if DATE.match(word.strip())]
        raise DataError(
            f"{file}, column {name}: expected numbers or words, got dates or times such as "
            f"'{next(iter(dates), '')}'; write what matters of them as numbers (the days since some "
            f"day, the month, the hour) into columns of their own, and leave this one out with "
            f"{drop([name])}"
        )
