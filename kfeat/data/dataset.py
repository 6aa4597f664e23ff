"""A dataset: how its files are read, raw, as they have it, and ready for maps and solvers."""

import hashlib
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from annotated_types import Ge, Le, MinLen
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Tag, model_validator

from kfeat.errors import DataError
from kfeat.files import SUFFIXES

MOST_SIDE = 100_000_000  # rows or columns of a matrix; the widest data published as svmlight have 55 million
MOST_SEED = 2**64  # a seed is a number of 64 bits at most
DENSE_FROM = 0.2  # a sparse matrix with more non-zeros than this is kept dense: faster, and hardly larger
Task: TypeAlias = Literal["classification", "regression"]
Matrix: TypeAlias = Any  # a NumPy array or a scipy.sparse.csr_array, which has no types to check against


class Model(BaseModel):
    """A frozen record with no unknown keys and no silent conversions, hashable whatever its fields are."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    def __hash__(self) -> int:
        """Return a hash over the content, as equal records have equal content."""
        return hash((type(self), self.model_dump_json()))


Format = Literal["svmlight", "idx", "csv", "tsv", "arff", "parquet", "mat", "npz"]
ENDINGS = {f".{name}": name for name in get_args(Format)}
ENDINGS |= {".svm": "svmlight", ".libsvm": "svmlight", ".pq": "parquet"}
LATER = frozenset(  # options that came after the first arrays were kept
    {"drop", "missing", "missing_values", "thousands", "decimal", "encoding"}
)
SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
MOST_NAMED = 3  # files in an archive
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


def zipped_name(path: Path, archive: zipfile.ZipFile) -> str:
    """Return the name of the one file in a zip archive; raises DataError where there is none, or several."""
    files = [one.filename for one in archive.infolist() if not one.is_dir()]
    names = [name for name in files if not name.startswith("__MACOSX/")]  # what macOS adds
    if len(names) == 1:
        return names[0]
    if any(name.startswith(("xl/", "content.xml")) for name in names):
        raise DataError(f"{path}: spreadsheets cannot be read; save the sheet as `CSV UTF-8`")
    some = ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)
    got = f"{len(names)}: {some}" if names else "none"
    raise DataError(f"{path}: expected one file in the archive, got {got}; unpack it and give one of them")


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


def holds_strings(X: Matrix) -> bool:
    """Return whether X is a column of strings: rows for an ObjectKernel."""
    return bool(X.dtype.kind == "U" and X.shape[1:] == (1,))


CHECKED_ROWS = 4096  # checked together, so that a check needs no second copy of the data
ADVICE = "fill in or drop missing values before kfeat reads them"


def check_finite_matrix(X: Matrix, place: str, start: int = 0) -> None:
    """Raise DataError naming row and column (from 1) of the first NaN or infinity among the numbers X (n, d).

    `place` begins the message, and `start` is the number of rows before X.
    """
    from scipy.sparse import issparse
    from sklearn.utils import gen_batches

    if holds_strings(X):
        return
    if issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        if len(bad):
            row = int(np.searchsorted(X.indptr, bad[0], side="right"))
            raise not_finite(place, start + row, int(X.indices[bad[0]]) + 1, X.data[bad[0]])
        return
    for batch in gen_batches(len(X), CHECKED_ROWS):
        found = np.argwhere(~np.isfinite(X[batch]))
        if len(found):
            row, column = batch.start + int(found[0, 0]), int(found[0, 1])
            raise not_finite(place, start + row + 1, column + 1, X[row, column])


def check_finite_labels(y: NDArray[Any], place: str, start: int = 0) -> None:
    """Raise DataError naming the row (from 1) of the first NaN or infinity among n labels."""
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise not_finite(place, start + int(bad[0]) + 1, "of the labels", y[bad[0]])


def not_finite(place: str, row: int, column: int | str, value: float) -> DataError:
    """Return the error for one value that is not finite."""
    return DataError(f"{place}row {row}, column {column}: expected a finite number, got {value}; {ADVICE}")


Indices: TypeAlias = NDArray[np.int64]  # of rows, counted through the train and on through the test part
BLOCK_VALUES = 1 << 20  # values taken from a dataset at a time: 8 MB in float64
DIGEST_ROWS = 4096  # rows made sparse together for the fingerprint


@dataclass(frozen=True)
class Part:
    """Some rows of a dataset: X of shape (n, d), dense or CSR, and the n labels or targets y."""

    X: Matrix
    y: NDArray[Any]


@dataclass(frozen=True)
class Contents:
    """What a reader makes of files: their parts, and the coding of a table, whose columns have names.

    `task` is set where the type of the labels tells it.
    """

    parts: Mapping[str, Part]
    coding: Any = None
    task: Task | None = None


@dataclass(frozen=True)
class Raw:
    """A dataset as its files have it, before any protocol.

    `parts` has "train" and perhaps "test". Class labels are integers (or floats) as in the file; words are
    the codes 0, 1, ... of `label_names`. `recorded` is the fingerprint where it is known without reading the
    numbers. `verified` says that the files or the arrays equal pinned hashes. `columns` are the names of the
    columns that became features, none where the format has none, and `target` that of the labels' column.
    `n_dropped` rows were left out. `learn` returns how the columns became features and labels, and `column`
    the numbers by which a column of the files splits or weighs the rows.
    """

    name: str
    task: Task
    parts: Mapping[str, Part]
    label_names: tuple[str, ...] = ()
    recorded: str | None = None
    verified: bool = False
    columns: tuple[str, ...] = ()
    target: str | None = None
    n_dropped: int = 0
    learn: Callable[[], Any] | None = None
    column: Callable[[Any, str], NDArray[Any]] | None = None

    def cells(self, column: int | str | None, kind: str) -> NDArray[Any]:
        """Return the groups' numbers, times or weights in a column; raises DataError without columns."""
        if self.column is None:
            raise DataError(f"{self.name}: expected a table with named columns for `{kind}`")
        return self.column(column, kind)

    @cached_property
    def coding(self) -> Any:
        """How the columns became features and labels; None for data generated, or made from others."""
        return self.learn() if self.learn else None

    @cached_property
    def fingerprint(self) -> str:
        """The recorded fingerprint, or the one computed from the numbers."""
        return self.recorded or fingerprint_of(self.parts, self.label_names)

    @property
    def n_features(self) -> int:
        """The number of columns, the same in each part."""
        return int(self.parts["train"].X.shape[1])

    @cached_property
    def y(self) -> NDArray[Any]:
        """The labels or targets of all parts, one after the other."""
        return np.concatenate([part.y for part in self.parts.values()])

    @property
    def sparse(self) -> bool:
        """Whether any part is sparse; then blocks are CSR."""
        return not all(isinstance(part.X, np.ndarray) for part in self.parts.values())

    def consecutive(self, rows: Indices, dtype: str) -> Matrix | None:
        """Return consecutive rows of a dense part without a copy; None where they are not consecutive."""
        start = 0
        for part in self.parts.values():
            stop = start + len(part.y)
            if start <= rows[0] and rows[-1] < stop and rows[-1] - rows[0] == len(rows) - 1:
                X = part.X[int(rows[0]) - start : int(rows[-1]) + 1 - start]
                return X if isinstance(X, np.ndarray) and X.dtype == dtype else None
            start = stop
        return None

    def blocks(
        self, rows: Indices, columns: Indices, dtype: str = "float64", dense: bool = True
    ) -> Iterator[Matrix]:
        """Yield the given rising rows and columns of X in blocks of rows of one dtype.

        With `dense`, the blocks are small enough to be made dense.
        """
        from scipy.sparse import csr_array

        start = 0
        for part in self.parts.values():
            size = block_rows(part.X, len(columns), dense)
            stop = start + len(part.y)
            here = rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)] - start
            start = stop
            for begin in range(0, len(here), size):
                block = take(part.X, here[begin : begin + size])
                if len(columns) < self.n_features:
                    block = block[:, columns]
                yield csr_array(block.astype(dtype)) if self.sparse else np.asarray(block, dtype)


@dataclass(frozen=True)
class Dataset:
    """A dataset after its protocol, ready for maps and solvers.

    X_train (n_train, d) and X_test (n_test, d) are dense arrays or `scipy.sparse.csr_array`s of the
    protocol's dtype. Class labels are integers (or floats) as the file has them, +1 and -1 once binarised;
    targets are float64. `verified` says that the files or the parsed arrays equal pinned hashes. `learn`
    returns how the files' columns became features, before the protocol; None where no file was read.
    `preparation` turns other raw rows into rows like those of X_train. `by` has the groups or the times of
    the training rows, if the protocol splits by them; `weights` and `weights_test` are those of the rows.
    """

    name: str
    X_train: Matrix
    y_train: NDArray[Any]
    X_test: Matrix
    y_test: NDArray[Any]
    task: Task
    fingerprint: str
    verified: bool
    label_names: tuple[str, ...] = ()
    learn: Callable[[], Any] | None = None
    preparation: Any = None
    by: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    weights_test: NDArray[np.float64] | None = None

    @cached_property
    def coding(self) -> Any:
        """How the files' columns became features; learnt from the files when it is asked for."""
        return self.learn() if self.learn else None


def block_rows(X: Matrix, n_columns: int, dense: bool) -> int:
    """Return how many rows of so many columns are taken at a time; sparse ones by the values they store."""
    whole = isinstance(X, np.ndarray) or dense
    values = n_columns if whole else -(-X.nnz // max(1, X.shape[0]))
    return max(1, BLOCK_VALUES // max(1, values))


def take(X: Matrix, rows: Indices) -> Matrix:
    """Return some rising rows of a matrix, as a slice where they follow one another."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return X[int(rows[0]) : int(rows[-1]) + 1]
    return X[rows]


def fingerprint_of(parts: Mapping[str, Part], label_names: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 over the parts' shapes, labels and non-zero values, in hexadecimal.

    Per part ("train" before "test"): name, n, d, then hashes of the labels (float64), of the non-zeros per
    row (int64), their columns (int64) and their values (float64), row by row, little-endian. Dense arrays and
    CSR with the same numbers give the same fingerprint, whatever their dtypes; -0.0 counts as 0.
    """
    total = hashlib.sha256(b"kfeat dataset 1\n")
    total.update("\n".join(label_names).encode() + b"\n")
    for name in ("train", "test"):
        if name in parts:
            X, y = parts[name].X, parts[name].y
            total.update(f"{name} {X.shape[0]} {X.shape[1]}\n".encode())
            total.update(hashlib.sha256((y.astype("<f8") + 0.0).tobytes()).digest())
            total.update(matrix_digest(X))
    return total.hexdigest()


def matrix_digest(X: Matrix) -> bytes:
    """Return the three digests of a matrix's non-zeros: counts per row, columns, values; of strings, one."""
    from scipy.sparse import csr_array
    from sklearn.utils import gen_batches

    if holds_strings(X):
        return hashlib.sha256(json.dumps(X.tolist()).encode()).digest()
    counts, columns, values = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for batch in gen_batches(X.shape[0], DIGEST_ROWS):
        block = csr_array(X[batch], copy=True)
        block.sum_duplicates()
        block.eliminate_zeros()
        counts.update(np.diff(block.indptr).astype("<i8").tobytes())
        columns.update(block.indices.astype("<i8").tobytes())
        values.update(block.data.astype("<f8").tobytes())
    return counts.digest() + columns.digest() + values.digest()
