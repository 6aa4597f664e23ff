"""One column of a table: how its cells become numbers, learnt once and applied to any rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kfeat.data.models import Matrix, Model
from kfeat.errors import DataError
from kfeat.saying import in_yaml

MOST_LISTED = 12  # names, words or rows that a message lists
UNNAMED = "Unnamed: "  # what pandas calls a column without a name, followed by its number


class Column(Model):
    """What training made of one column: a number, the position of its word, or a 0/1 column for each word.

    `words` are the known words in order. `fill` stands for a missing cell (a number, or one of the words);
    where it is None, a missing cell is refused. `n_missing` counts the cells that were missing in the files.
    """

    name: str
    kind: Literal["number", "ordinal", "one_hot"] = "number"
    words: tuple[str, ...] = ()
    fill: float | str | None = None
    n_missing: int = 0

    @property
    def width(self) -> int:
        """The number of features that the column becomes."""
        return len(self.words) if self.kind == "one_hot" else 1

    @property
    def feature_names(self) -> list[str]:
        """The names of these features: the column's, or `column=word` for each word."""
        return [f"{self.name}={word}" for word in self.words] if self.kind == "one_hot" else [self.name]

    def block(self, cells: Any, start: int = 0, decimal: str = ".") -> Matrix:
        """Return the features (n, width) of n cells, a pandas series; sparse where there is one per word.

        `start` is the number of rows before them, `decimal` the decimal sign of text. Raises DataError naming
        row and column of an unknown word or a missing cell.
        """
        if self.kind == "number":
            return self.numbers(cells, start, decimal)[:, None]
        codes = self.codes(cells, start)
        if self.kind == "ordinal":
            return codes.astype(np.float64)[:, None]
        from scipy.sparse import csc_array

        n = len(codes)
        return csc_array((np.ones(n), (np.arange(n), codes)), shape=(n, len(self.words)))

    def numbers(self, cells: Any, start: int = 0, decimal: str = ".") -> NDArray[np.float64]:
        """Return n cells as numbers, missing ones filled."""
        values, missing = as_numbers(cells, decimal), np.asarray(cells.isna())
        words = np.isnan(values) & ~missing
        if words.any():
            raise DataError(
                f"{rows_listed(words, start)}, column {self.name}: expected a number, got "
                f"{quoted(cells[words].astype(str))}" + comma_wanted(decimal)
            )
        if missing.any():
            values = np.where(missing, self.filled(missing, start), values)
        return values

    def codes(self, cells: Any, start: int = 0) -> NDArray[np.int64]:
        """Return the positions of n words among the known ones, missing cells filled."""
        import pandas as pd

        position = {word: code for code, word in enumerate(self.words)}
        which, met = pd.factorize(cells, use_na_sentinel=True)
        known = np.array([position.get(word_of(value, position), -1) for value in met] + [-1], np.int64)
        codes, missing = known[which], which < 0
        if missing.any():
            codes = np.where(missing, position[str(self.filled(missing, start))], codes)
        if (codes < 0).any():
            unknown = [word_of(value, position) for value in cells[codes < 0]]
            raise DataError(
                f"{rows_listed(codes < 0, start)}, column {self.name}: expected one of {listed(self.words)}, "
                f"got {quoted(unknown)}"
            )
        return codes

    def filled(self, missing: NDArray[np.bool_], start: int) -> float | str:
        """Return what stands for missing cells; raises DataError naming their rows where nothing does."""
        if self.fill is None:
            raise DataError(
                f"{self.told_missing(missing, start)}: what stands for missing cells of this column was not "
                "learnt (`missing: mean` or `most_frequent` does that)"
            )
        return self.fill

    def told_missing(self, missing: NDArray[np.bool_], start: int) -> str:
        """Return the message for missing cells that nothing stands for."""
        return (
            f"{rows_listed(missing, start)}, column {self.name}: expected a value, got a missing cell; "
            "fill it in or leave the row out"
        )


def as_numbers(cells: Any, decimal: str | None = None) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is missing or is not a number.

    With a decimal comma, text with a point is none: 3.992 may be 3992.
    """
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(cells.dtype):
        cells = cells.astype(object)
        if decimal == ",":
            cells = cells.map(lambda cell: with_point(cell) if isinstance(cell, str) else cell)
        cells = pd.to_numeric(cells, errors="coerce")
    return np.array(cells.to_numpy(np.float64, na_value=np.nan))


def with_point(cell: str) -> str:
    """Return a number with a decimal comma as one with a point; text with a point as what is no number."""
    return "" if "." in cell else cell.replace(",", ".")


def comma_wanted(decimal: str | None) -> str:
    """Return what is said of cells that are no numbers where the decimal sign is a comma."""
    return "; the decimal sign is a comma, and a number has no points" if decimal == "," else ""


def word_of(value: Any, known: Any = ()) -> str:
    """Return a cell as a word; 1.0 also stands for the word 1 where that is the known one."""
    word = str(value)
    short = word.removesuffix(".0")
    return short if word not in known and short in known else word


def rows_listed(rows: NDArray[np.bool_], start: int = 0) -> str:
    """Return the numbers (from 1) of the rows that are marked, for a message."""
    numbers = [str(start + int(row) + 1) for row in np.flatnonzero(rows)]
    return f"{'row' if len(numbers) == 1 else 'rows'} {listed(numbers)}"


def listed(names: Sequence[str]) -> str:
    """Return names for a message, cut to a dozen."""
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once, each once, sorted."""
    return sorted(name for name, n in Counter(names).items() if n > 1)


def quoted(words: Iterable[str]) -> str:
    """Return the different words in quotes for a message, cut to a dozen."""
    return listed([f"'{word}'" for word in dict.fromkeys(words)])


def unnamed(names: Sequence[str]) -> list[str]:
    """Return the columns that a header leaves without a name, by the name that pandas gives them."""
    return [name for name in names if name.startswith(UNNAMED)]


def advice_unnamed(name: str) -> str:
    """Return the sentence on a column without a name."""
    return (
        f"{name}: this column has no name in the header, like the row numbers that spreadsheets and pandas "
        f"write; if it is no feature, leave it out with {drop([name])}"
    )


def drop(names: Sequence[str]) -> str:
    """Return the option that leaves columns out, quoted as YAML needs it: a bare number is a position."""
    return f"`drop: {in_yaml(list(names))}`"


def is_number(value: Any, decimal: str | None = None) -> bool:
    """Return whether one value of a column is, or spells, a number."""
    try:
        float(with_point(value) if decimal == "," and isinstance(value, str) else value)
    except (TypeError, ValueError):
        return False
    return True
