"""How a file is read: its format and the options of the format."""

import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, Discriminator, Tag, model_validator

from kfeat.data.base import MOST_SIDE, Model
from kfeat.data.content import zipped_name
from kfeat.errors import DataError
from kfeat.files import SUFFIXES

Format = Literal["svmlight", "idx", "csv", "tsv", "arff", "parquet", "mat", "npz"]
ENDINGS = {f".{name}": name for name in get_args(Format)}
ENDINGS |= {".svm": "svmlight", ".libsvm": "svmlight", ".pq": "parquet"}
LATER = frozenset(  # options that came after the first arrays were kept
    {"drop", "missing", "missing_values", "thousands", "decimal", "encoding"}
)
SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
READ_BY_PANDAS = {  # other files with tables, and the function of pandas that reads them
    ".feather": "read_feather", ".arrow": "read_feather", ".orc": "read_orc", ".json": "read_json",
    ".dta": "read_stata", ".sav": "read_spss", ".sas7bdat": "read_sas", ".h5": "read_hdf",
}  # fmt: skip
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
COLUMN_OPTIONS = frozenset(
    {"target", "drop", "categorical", "levels", "missing", "missing_values", "decimal", "thousands"}
)
TEXT_OPTIONS = COLUMN_OPTIONS | {"header", "delimiter", "columns", "encoding"}
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


def known_encoding(name: str) -> str:
    """Return the name of an encoding of text; raises ValueError if Python does not know it."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise ValueError(f"expected an encoding such as latin-1 or utf-16, got {name!r}") from None
    return name


Mark: TypeAlias = Literal[",", ".", " ", "'"]  # between thousands
MissingCode: TypeAlias = str | int | float  # of a missing cell: a word or a number


def by_column(value: Any) -> str:
    """Return whether an option names columns, so that errors are reported for that form only."""
    return "columns" if isinstance(value, dict) else "all"


T = TypeVar("T")
ForColumns = Annotated[
    Annotated[T, Tag("all")] | Annotated[dict[str, T], Tag("columns")], Discriminator(by_column)
]


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
    `delimiter`, where it is not the format's own (`whitespace`: any run of blanks); `encoding`, such as
    latin-1 or utf-16, where it is not UTF-8.
    mat, npz: `variables`, the names of the arrays; mat: `samples_in_columns`.
    All: `n_train`, the number of a single file's first rows that train, while the others test.

    `missing: drop` leaves out the rows with a missing cell, labels included. `mean` fills it with the mean of
    the column (for a date, of its parts), `most_frequent` with the most frequent value (of several, the
    smallest); words always get the most frequent word. `word` makes a missing cell the word `missing` among
    words, and is `mean` for numbers. Both are learnt from the rows of the training file
    that have the cell (only from the first `n_train` rows, if given) before a protocol splits and weighs
    them, so rows that the protocol draws from this file for testing are included. Missing labels are never
    filled: such rows are left out.

    `missing_values` are words and numbers that stand for a missing cell, such as ['-', 'n.k.', -999]; empty
    cells, `?`, NA, NaN, None, null and their variants are missing anyway. `decimal: ','` is the comma in 2,5,
    and `thousands` the mark in 1,250 or 1.250,00; a blank stands for any space there, an apostrophe for both
    kinds. Each of the three applies to all columns, or, as a mapping, to those that it names, as in
    `missing_values: {age: [-999]}`.
    """

    format: Format | None = None
    n_features: Annotated[int, Ge(1), Le(MOST_SIDE)] | None = None
    target: Annotated[int, Ge(-MOST_SIDE), Le(MOST_SIDE)] | str | None = None
    drop: list[int | str] | None = None
    categorical: Literal["ordinal", "one_hot"] | None = None
    levels: dict[str, Annotated[list[str], AfterValidator(once_each)]] | None = None
    missing: Literal["drop", "mean", "most_frequent", "word"] | None = None
    missing_values: (
        Annotated[
            Annotated[list[MissingCode], Tag("all")]
            | Annotated[dict[str, list[MissingCode]], Tag("columns")],
            Discriminator(by_column),
        ]
        | None
    ) = None
    header: bool | None = None
    columns: list[str] | None = None
    delimiter: Annotated[str, MinLen(1)] | None = None
    thousands: ForColumns[Mark] | None = None
    decimal: ForColumns[Literal[","]] | None = None
    encoding: Annotated[str, AfterValidator(known_encoding)] | None = None
    variables: Variables | None = None
    samples_in_columns: bool | None = None
    n_train: Annotated[int, Ge(1), Le(MOST_SIDE)] | None = None

    @property
    def as_set(self) -> dict[str, Any]:
        """The options, without those of LATER that are not set: the key of arrays that were kept before."""
        options = self.model_dump(mode="json")
        return {name: value for name, value in options.items() if value is not None or name not in LATER}

    def codes(self, column: str) -> list[MissingCode]:
        """Return the words and numbers that stand for a missing cell of a column; `levels` are none."""
        given = self.missing_values or []
        codes = given.get(column, []) if isinstance(given, dict) else given
        levels = (self.levels or {}).get(column, ())
        return [code for code in codes if str(code) not in levels]

    def spelling(self, column: str) -> tuple[str, str | None]:
        """Return the decimal mark of a column's numbers, and the mark between thousands or None."""
        marks = (self.decimal, self.thousands)
        decimal, thousands = (mark.get(column) if isinstance(mark, dict) else mark for mark in marks)
        return decimal or ("," if thousands == "." else "."), thousands

    @model_validator(mode="after")
    def one_meaning_of_a_comma(self) -> "Reading":
        """Refuse a comma that is both decimal mark and the mark between thousands."""
        options = (self.decimal, self.thousands)
        for column in ("", *(name for option in options if isinstance(option, dict) for name in option)):
            if self.spelling(column) == (",", ","):
                raise ValueError("`decimal` and `thousands`: expected different marks, got a comma for both")
        return self

    def of_format(self, name: Format) -> "Reading":
        """Return how a file of this format is read, if one of the format given is read so.

        Another format has the options that both have; its delimiter is its own.
        """
        if name == self.format:
            return self
        shared = set(OPTIONS[name]) - {"delimiter"}
        return Reading.model_validate({"format": name, **self.model_dump(include=shared)})

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


def format_of(path: Path, reading: Reading) -> Format:
    """Return the format given, or that of the file's ending; raises DataError when neither is known."""
    if reading.format is not None:
        return reading.format
    endings = [ending for one in path.suffixes if (ending := one.lower()) not in PACKED]
    if not endings and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            endings = [one.lower() for one in Path(zipped_name(path, archive)).suffixes]
    ending = endings[-1] if endings else ""
    name = ENDINGS.get(ending)
    if ending in SHEETS:
        raise DataError(f"{path}: spreadsheets cannot be read; save the sheet as `CSV UTF-8`")
    if path.suffix in SUFFIXES:
        raise DataError(f"{path}: is a config; a file of data is expected")
    if ending in READ_BY_PANDAS:
        parquet = f"`pandas.{READ_BY_PANDAS[ending]}(FILE).to_parquet(FILE)`"
        raise DataError(
            f"{path}: {ending} files cannot be read; save it as CSV, or as Parquet with {parquet}"
        )
    if name is None:
        formats = ", ".join(get_args(Format))
        raise DataError(f"{path}: its ending does not tell the format; give `format`: {formats}")
    try:
        reading.check_options(name)
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    return name


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once, each once, sorted."""
    return sorted(name for name, n in Counter(names).items() if n > 1)
