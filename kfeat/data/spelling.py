"""Numbers that are spelt with a decimal comma, marks between thousands, or codes of missing cells."""

import re
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from kfeat.data.cells import LOOKED_AT, as_numbers, as_words, listed, no_numbers, words_error, words_in
from kfeat.text import in_yaml

MOST_CODES = 20  # different words that may be codes such as 1, 2 and X, even if most are numbers
FEW_STRAYS = 5  # cells that may be mistakes; in a long column, a hundredth of the cells
OTHER_SPELLINGS = {
    re.compile(r"[-+\u2212]?[$€£]? ?[-+\u2212]?[\d_]+(\.\d+)? ?[%$€£]?"): "write plain numbers such as -1.5",
    re.compile(r"\d{1,2}/\d{1,2}/\d{4}"): "write dates as 2020-01-31",
}
PLAIN = (".", None)  # decimal mark and mark between thousands of the numbers that pandas reads
# Of a column with three digits after every comma, it does not matter which of the first two is taken.
SPELLINGS = (PLAIN, (".", ","), (",", None), (",", "."), *product((".", ","), (" ", "'")))
SAME_MARKS = {
    " ": "[ \N{NO-BREAK SPACE}\N{THIN SPACE}\N{NARROW NO-BREAK SPACE}]",
    "'": "['\N{RIGHT SINGLE QUOTATION MARK}]",
}
# Words for a missing cell among numbers, in small letters. Empty cells, `?`, NA and so on are missing anyway.
CODES = frozenset(
    {
        *("-", "--", "---", "\N{EN DASH}", "\N{EM DASH}", ".", "..", "...", "*", "/"),
        *(
            "n.k.",
            "n.a.",
            "n.a",
            "na.",
            "n.d.",
            "n/d",
            "n.v.",
            "n.b.",
            "k.a.",
            "k. a.",
            "nk",
            "nd",
            "n.r.",
            "na",
        ),
        *("unknown", "unk", "missing", "not available", "not known", "not reported", "no data", "(null)"),
        *("#value!", "#ref!", "#div/0!", "unbekannt", "fehlt", "keine angabe", "inconnu", "desconocido"),
    }
)
MOST_OTHER_CODES = 3  # other words in a column of many different numbers, each more than once


def check_mistakes(cells: Any, advice: str = "") -> None:
    """Raise DataError for a column of numbers with a decimal comma, or of numbers and a few other cells."""
    if (spelt := spelt_numbers(cells)) is not None:
        options = spelt.options(str(cells.name))
        what = f"if {listed([repr(code) for code in spelt.codes])} is a missing cell, " * bool(spelt.codes)
        told = " and ".join(f"`{key}: {in_yaml(value)}`" for key, value in options.items())
        raise words_error(cells, f"{what}set {told}, {advice}or declare its words with `levels`")
    words = words_in(cells)
    for spelling, plain_form in OTHER_SPELLINGS.items():
        if all(map(spelling.fullmatch, words)) and no_numbers(cells).any():
            raise words_error(cells, f"{plain_form}, {advice}or declare its words with `levels`")
    n, of = int(no_numbers(cells).sum()), len(cells)
    if len(words) > MOST_CODES and 0 < n <= max(FEW_STRAYS, of // 100) and 2 * n < of:
        advice = (
            f"correct it, leave it empty or name it in `missing_values`, {advice}or declare all words of the "
            "column with `levels`"
        )
        raise words_error(cells, advice)


@dataclass(frozen=True)
class Spelling:
    """How a column of words spells numbers: decimal mark, mark between thousands, codes of missing cells."""

    decimal: str
    thousands: str | None
    codes: tuple[str, ...]

    def options(self, column: str) -> dict[str, Any]:
        """Return the options of a `Reading` that make numbers of the column."""
        codes: Any = {column: list(self.codes)} if self.codes else None
        comma = "," if self.decimal == "," else None
        given = {"decimal": comma, "thousands": self.thousands, "missing_values": codes}
        return {key: value for key, value in given.items() if value is not None}


def spelt_numbers(cells: Any) -> Spelling | None:
    """Return how words spell numbers, if all of them do but for codes of missing cells; None otherwise."""
    counts = as_words(cells).value_counts()
    some = counts.index[:LOOKED_AT]
    if len(counts) > LOOKED_AT and some.str.contains(r"^[+-]?\d[\d.,]").mean() < 0.5:
        return None
    for allowed in (False, True):  # codes
        for decimal, thousands in SPELLINGS:
            values = as_numbers(spelt(counts.index.to_series(), decimal, thousands))
            rest = counts[np.isnan(values)]
            if not len(rest) and (decimal, thousands) == PLAIN:
                return None
            if not len(rest) or (allowed and are_codes(rest, counts[~np.isnan(values)])):
                return Spelling(decimal, thousands, tuple(sorted(rest.index)))
    return None


def are_codes(words: Any, numbers: Any) -> bool:
    """Return whether words are codes of missing cells among numbers, by the rows of each.

    They are if they are known as such, or few and frequent, and less so than the many numbers.
    """
    if len(numbers) > 1 and CODES.issuperset(words.index.str.lower()):
        return True
    few = len(words) <= MOST_OTHER_CODES and words.min() > 1 and not words.index.str.contains(r"\d").any()
    return bool(few and len(numbers) > MOST_CODES and words.sum() < numbers.sum())


def spelt(cells: Any, decimal: str, thousands: str | None) -> Any:
    """Return cells whose words that spell a number in this way are numbers; others stay."""
    if (decimal, thousands) == PLAIN:
        return cells
    mark = SAME_MARKS.get(thousands, re.escape(thousands)) if thousands else ""
    whole = rf"(?:[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|\d+)" if thousands else r"\d+"
    number = re.compile(rf"[+-]?{whole}(?:{re.escape(decimal)}\d+)?(?:[eE][+-]?\d+)?")

    def number_of(cell: Any) -> Any:
        if not isinstance(cell, str) or not number.fullmatch(cell):
            return cell
        digits = re.sub(mark, "", cell) if thousands else cell
        return float(digits.replace(decimal, "."))

    return cells.astype(object).map(number_of)
