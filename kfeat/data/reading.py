"""How a file is read: its format and the options of that format, for registered and for user files."""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, model_validator

from kfeat.data.columns import repeated
from kfeat.data.models import MOST_SIDE, Model
from kfeat.errors import DataError

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
