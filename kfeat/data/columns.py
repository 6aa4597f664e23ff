"""How a table is read, what the cells of its columns are, how each is coded, and how messages name them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import numpy as np
from annotated_types import Ge, Le, MinLen
from numpy.typing import NDArray
from pydantic import AfterValidator, model_validator

from kfeat.data.dataset import MOST_SIDE, Model
from kfeat.errors import DataError
from kfeat.text import in_yaml

Format = Literal["svmlight", "idx", "csv", "tsv", "arff", "parquet", "mat", "npz"]
ENDINGS = {f".{name}": name for name in get_args(Format)}
ENDINGS |= {".svm": "svmlight", ".libsvm": "svmlight", ".pq": "parquet"}
LATER = frozenset({"drop", "missing"})  # options that came after the first arrays were kept
SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
COLUMN_OPTIONS = frozenset({"target", "drop", "categorical", "levels", "missing"})
TEXT_OPTIONS = COLUMN_OPTIONS | {"header", "delimiter", "columns"}
OPTIONS: dict[str, frozenset[str]] = {
    "svmlight": frozenset({"n_features"}),
    "idx": frozenset(),
    "csv": TEXT_OPTIONS,
    "tsv": TEXT_OPTIONS,
    "arff": COLUMN_OPTIONS,
    "parquet": COLUMN_OPTIONS,
    "mat": frozenset({"variables", "samples_in_columns"}),
    "npz": frozenset({"variables"}),
}


def once_each(words: list[str]) -> list[str]:
    """Return the words; raises ValueError for a repeated one."""
    if several := repeated(words):
        raise ValueError(f"expected each word once, got more than one {', '.join(several)}")
    return words


class Variables(Model):
    """The names of the arrays in a .mat or .npz file; both test arrays may be missing."""

    X: str = "X"
    y: str = "y"
    X_test: str = "X_test"
    y_test: str = "y_test"


class Reading(Model):
    """A file format and its options; without `format`, the ending of the file's name decides.

    svmlight: `n_features`, the number of features, if the highest index of the file is smaller.
    csv, tsv, arff, parquet: `target`, the labels' column by name, or by number from 0 (-1: the last); `drop`,
    columns to leave out, named the same way; `categorical`, how columns of words are coded; `levels`, the
    words of a column in order (else sorted); `missing`, what to do about missing cells (see below). With
    one_hot, rare words share a feature. Dates such as 2020-01-31 or 2020-01-31 12:30 become year, month,
    weekday and the days since 1970-01-01.
    csv, tsv: `header`, whether the first line names the columns; `columns`, their names where it does not;
    `delimiter`, where it is not the format's own (`whitespace`: any run of blanks).
    mat, npz: `variables`, the names of the arrays; mat: `samples_in_columns`.
    All: `n_train`, the number of a single file's first rows that train, while the others test.

    `missing: drop` leaves out the rows with a missing cell, labels included. `mean` fills it with the mean of
    the column (for a date, of its parts), `most_frequent` with the most frequent value (of several, the
    smallest); words always get the most frequent word. Both are learnt from the rows of the training file
    that have the cell (only from the first `n_train` rows, if given) before a protocol splits them, so rows
    that the protocol draws from this file for testing are included. Missing labels are never filled: such
    rows are left out.
    """

    format: Format | None = None
    n_features: Annotated[int, Ge(1), Le(MOST_SIDE)] | None = None
    target: Annotated[int, Ge(-MOST_SIDE), Le(MOST_SIDE)] | str | None = None
    drop: list[int | str] | None = None
    categorical: Literal["ordinal", "one_hot"] | None = None
    levels: dict[str, Annotated[list[str], AfterValidator(once_each)]] | None = None
    missing: Literal["drop", "mean", "most_frequent"] | None = None
    header: bool | None = None
    columns: list[str] | None = None
    delimiter: Annotated[str, MinLen(1)] | None = None
    variables: Variables | None = None
    samples_in_columns: bool | None = None
    n_train: Annotated[int, Ge(1), Le(MOST_SIDE)] | None = None

    @property
    def as_set(self) -> dict[str, Any]:
        """The options, without those of LATER that are not set: the key of arrays that were kept before."""
        options = self.model_dump(mode="json")
        return {name: value for name, value in options.items() if value is not None or name not in LATER}

    @property
    def table(self) -> bool:
        """Whether the format given has named columns."""
        return self.format is not None and OPTIONS[self.format] >= COLUMN_OPTIONS

    @model_validator(mode="after")
    def only_options_of_the_format(self) -> "Reading":
        """Refuse an option that the format does not have, where the format is given."""
        if self.format is not None:
            self.check_options(self.format)
        return self

    def check_options(self, name: str) -> None:
        """Raise ValueError for an option that is set but has no meaning for the format."""
        options = frozenset().union(*OPTIONS.values())
        foreign = sorted(o for o in options - OPTIONS[name] if getattr(self, o) is not None)
        if foreign:
            known = ", ".join(sorted(OPTIONS[name])) or "none"
            raise ValueError(f"{', '.join(foreign)}: no option of the format {name} (its options: {known})")


def format_of(path: Path, reading: Reading) -> str:
    """Return the format given, or that of the file's ending; raises DataError when neither is known."""
    if reading.format is not None:
        return reading.format
    endings = [one.lower() for one in path.suffixes if one not in (".gz", ".bz2", ".xz")]
    name = ENDINGS.get(endings[-1]) if endings else None
    if endings and endings[-1] in SHEETS:
        raise DataError(f"{path}: spreadsheets cannot be read; save the sheet as `CSV UTF-8`")
    if name is None:
        formats = ", ".join(get_args(Format))
        raise DataError(f"{path}: its ending does not tell the format; give `format`: {formats}")
    try:
        reading.check_options(name)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    return name


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
