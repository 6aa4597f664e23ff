"""How a column is coded, from its cells and the reading options, or why it cannot be."""

import re
from typing import Any

import numpy as np

from kfeat.data.columns import LOOKED_AT, as_numbers, as_words, drop, holds, stray_words, words_in
from kfeat.data.reading import Reading
from kfeat.errors import DataError

MOST_CODES = 20  # different words that may be codes, even if most are numbers
FEW_STRAYS = 5  # cells that may be mistakes; in a long column, a hundredth of the cells
GROUPED = re.compile(r"[+-]?\d+([.,]\d+)+")  # a number with some decimal sign, or signs between thousands


def kind_of(cells: Any, reading: Reading) -> str:
    """Return how a column is coded: "number", "date", "one_hot", "ordinal" or, one-hot too, "levels".

    Raises DataError for words where `categorical` is not set, and for a few words among numbers.
    """
    declared = str(cells.name) in (reading.levels or {})
    found = "words" if declared else holds(cells)
    if found != "words":
        return "date" if found == "dates" else "number"
    if reading.categorical is None:
        raise words_error(cells, reading.decimal)
    if declared:
        return "ordinal" if reading.categorical == "ordinal" else "levels"
    refuse_strays(cells, reading.decimal, f"leave the column out with {drop([cells.name])}, ")
    return reading.categorical


def label_words(cells: Any, reading: Reading) -> tuple[str, ...]:
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
    """Raise DataError where all but a few cells of a column are numbers.

    Up to 20 different words may be codes such as 1, 2 and X. With more, a few cells that are not numbers
    count as mistakes.
    """
    strays, words = stray_words(cells, decimal), as_words(cells)
    n, of = strays.total(), len(cells)
    if words.nunique() > MOST_CODES and 0 < n <= max(FEW_STRAYS, of // 100) and 2 * n < of:
        row = int(np.argmax(words.isin(strays.keys())))
        raise DataError(
            f"column {cells.name}: all but {n:,} of {of:,} cells are numbers, and row {row + 1} is "
            f"'{words.iloc[row]}'; correct it or leave it empty, {advice}or declare all words of the column "
            "with `levels`"
        )


def words_error(cells: Any, decimal: str | None) -> DataError:
    """Return the error for a column of words where `categorical` is not set."""
    numbers = as_numbers(cells, decimal)
    row, n = int(np.argmax(np.isnan(numbers) & cells.notna())), int(np.sum(~np.isnan(numbers)))
    value, some = str(cells.iloc[row]), [word for word in cells.dropna().map(str)[:LOOKED_AT] if "," in word]
    share = f" ({n} of {len(cells)} rows are numbers)" if n else ""
    advice = f"{share}; set `categorical` to ordinal or one_hot if it holds words, or leave the column out "
    advice += f"with {drop([cells.name])}"
    if decimal == "," and GROUPED.fullmatch(value):
        advice = (
            "; the decimal sign is a comma (`decimal: ','`): remove points between thousands from the file"
        )
    elif decimal != "," and some and all(map(GROUPED.fullmatch, some)):
        advice = "; set `decimal: ','` if the comma is the decimal sign; remove it if it separates thousands"
    return DataError(f"row {row + 1}, column {cells.name}: expected numbers, got '{value}'{advice}")
