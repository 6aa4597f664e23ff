"""How the columns of a table became features and labels: learnt from training rows, applied to any rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.arrays import DENSE_FROM
from kfeat.data.columns import (
    LOOKED_AT,
    as_dates,
    as_numbers,
    as_words,
    comma_numbers,
    drop,
    holds,
    is_day_first,
    is_number,
    listed,
    refuse,
    repeated,
)
from kfeat.data.finite import check_finite_labels, check_finite_matrix
from kfeat.data.models import Matrix, Task
from kfeat.data.reading import Reading
from kfeat.errors import DataError

MOST_CODES = 20  # words of a column, most of them numbers, that may be meant as words
FEW_STRAYS = 5  # cells that may be mistakes in a short column; of a long one a hundredth
RARE = 10  # rows that a word needs for a feature of its own; rarer ones share one
RARE_WORDS = "(rare)"
DATE_PARTS = ("year", "month", "weekday", "days")
GROUPED = re.compile(r"[+-]?\d[\d.,]*")  # a number with some decimal sign, or signs between thousands
NOT_LEARNT = (
    "; fill it in or leave the row out: what stands for missing cells of this column was not learnt "
    "(`missing: mean` or `most_frequent` does that)"
)


@dataclass(eq=False)
class Coding:
    """What reading made of a dataset's columns, so that the same can be made of rows met later.

    `names` are the columns that become features, in order; it is empty where the format has no names
    (svmlight, idx, mat, npz), and `width`, the number of columns, is then all that is known. `kinds` says how
    each is coded: as a number, a date, by one_hot, ordinal, or by declared `levels`. `words` are the known
    words of columns that have some, `features` the names of what each column becomes, `day_first` the columns
    whose dates begin with the day. `columns` codes the cells; it is None where all are numbers. `missing` is
    what stands for missing cells, which are refused where it is None.

    `target` is the name of the column of labels, None where labels were no column; `label_names` are the
    words behind the labels 0, 1, ..., empty where labels are numbers. `dropped` names the columns that were
    left out, `n_dropped` counts the rows left out for a missing cell. `sparse` says whether the features are
    kept as CSR.
    """

    task: Task
    width: int
    names: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    features: dict[str, list[str]] = field(default_factory=dict)
    day_first: list[str] = field(default_factory=list)
    columns: Any = None
    missing: str | None = None
    decimal: str = "."
    target: str | None = None
    label_names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    n_dropped: int = 0
    sparse: bool = False

    @classmethod
    def of_numbers(cls, task: Task, width: int, names: Sequence[str] = (), sparse: bool = False) -> "Coding":
        """Return the coding of columns that are numbers already, with names or without."""
        kinds = dict.fromkeys(names, "number")
        features = {name: [name] for name in names}
        return cls(task, width, list(names), kinds, features=features, sparse=sparse)

    @property
    def n_features(self) -> int:
        """The number d of features after coding."""
        return len(self.feature_names) if self.names else self.width

    @property
    def feature_names(self) -> list[str]:
        """The names of the d features, such as `column=word`; empty where columns have no names."""
        return [*chain.from_iterable(self.features.values())]

    def matrix(self, X: Any, start: int = 0) -> Matrix:
        """Return the features (n, d), float64, of n rows: what training did to the same cells.

        X is a pandas frame, whose columns are matched by name, whatever their order (those that the file had
        beside the features may be missing), or an array (n, width) of the columns in the order of training.
        Where there are no names, X is (n, width), dense or sparse, and is taken as it is. `start` is the
        number of rows before X, for messages. Raises DataError naming missing or unknown columns, and rows
        and columns of cells that cannot be coded.
        """
        import pandas as pd
        from pandas.api.types import is_numeric_dtype

        if not self.names:
            coded = plain_matrix(X.to_numpy() if isinstance(X, pd.DataFrame) else X, self.width)
            check_finite_matrix(coded, "", start)
            return in_form(coded, self.sparse)
        frame = self.frame(X)
        plain = set(self.kinds.values()) == {"number"} and all(map(is_numeric_dtype, frame.dtypes))
        if plain and not frame.isna().any(axis=None):
            values = frame.to_numpy(np.float64)
            if np.isfinite(values).all():
                return in_form(values, self.sparse)
        cells = self.cells(frame, start)
        return in_form(cells if self.columns is None else self.columns.transform(cells), self.sparse)

    def frame(self, X: Any) -> Any:
        """Return the columns that become features, in order, as a frame; raises DataError for wrong ones."""
        import pandas as pd
        from scipy.sparse import issparse

        if not isinstance(X, pd.DataFrame):
            X = plain_matrix(X, self.width, words=True)
            return pd.DataFrame(X.toarray() if issparse(X) else X, columns=self.names)
        found = [str(name) for name in X.columns]
        check_columns(found, self.names, beside={self.target, *self.dropped})
        return X.set_axis(found, axis="columns")[self.names]

    def cells(self, frame: Any, start: int = 0) -> Any:
        """Return a frame's cells as numbers, words and dates, missing where they are; raises for bad ones."""
        import pandas as pd

        return pd.DataFrame({name: self._cells_of(frame[name], start) for name in self.names})

    def _cells_of(self, cells: Any, start: int) -> Any:
        name, missing = str(cells.name), np.asarray(cells.isna())
        kind = self.kinds[name]
        if self.missing is None:
            refuse(missing, cells, "a value", start, "a missing cell", NOT_LEARNT)
        if kind == "number":
            return finite_numbers(cells, start, self.decimal)
        if kind == "date":
            dates = as_dates(cells, name in self.day_first)
            if self.missing is None:
                refuse(np.asarray(dates.isna()), cells, "a date", start)
            return dates
        words = as_words(cells, self.words.get(name, ()))
        if kind != "one_hot":
            unknown = np.asarray(~words.isin(self.words[name])) & ~missing
            refuse(unknown, cells, f"one of {listed(self.words[name])}", start)
        return words

    def labels(self, frame: Any, start: int = 0) -> NDArray[Any]:
        """Return the labels or targets (n,) in the target column of a pandas frame.

        Words become their positions in `label_names`. Raises DataError where there is no such column, and
        for an unknown word or a missing or foreign cell.
        """
        import pandas as pd

        found = {str(name): name for name in frame.columns}
        if self.target is None or self.target not in found:
            raise DataError(
                f"expected the labels in a column {self.target}, got the columns {listed(list(found))}"
                if self.target is not None
                else "expected labels in a column, but those that were learnt from had a file of their own"
            )
        cells = frame[found[self.target]]
        refuse(
            np.asarray(cells.isna()), cells, "a value", start, "a missing cell",
            "; fill it in or leave the row out",
        )  # fmt: skip
        if not self.label_names:
            return self.typed_labels(finite_numbers(cells, start, self.decimal), start)
        codes = pd.Index(self.label_names).get_indexer(as_words(cells, self.label_names))
        refuse(codes < 0, cells, f"one of {listed(self.label_names)}", start)
        return np.asarray(codes, np.int64)

    def typed_labels(self, y: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return numbers (n,) in the type that labels or targets have; raises DataError for infinity."""
        check_finite_labels(y, "", start)
        return as_labels(y) if self.task == "classification" else y.astype(np.float64)

    def gaps(self) -> dict[str, float | str]:
        """Return what stands for a missing cell in each column of numbers or words."""
        if self.columns is None or self.missing is None:
            return {}
        found = {}
        for _, coder, run in self.columns.transformers_:
            if self.kinds[run[0]] != "date":
                found |= dict(zip(run, coder[0].statistics_.tolist(), strict=True))
        return found


def learn_coding(
    frame: Any, reading: Reading, *, task: Task = "classification", target: str | None = None,
    label_names: tuple[str, ...] = (), dropped: tuple[str, ...] = (), n_dropped: int = 0,
) -> Coding:  # fmt: skip
    """Return how the columns of a pandas frame of training rows become features.

    Numbers stay as they are; missing ones become what `reading.missing` says. Words become features of 0 and
    1 (`one_hot`; a word of fewer rows than 10, or than a hundredth of all where that is less, shares one with
    the other rare ones and with words met later), or their positions (`ordinal`), among the declared `levels`
    where a column has some. A date becomes year, month, weekday and the days since 1970-01-01. Raises
    DataError for columns that cannot be coded.
    """
    names = [str(name) for name in frame.columns]
    check_columns(names, names, set())
    if not names:
        raise DataError("columns: expected some beside the labels, got 0 columns")
    frame = frame.set_axis(names, axis="columns")
    levels = reading.levels or {}
    coding = Coding(
        task, len(names), names, {name: kind_of(frame[name], reading) for name in names},
        {name: levels[name] for name in names if name in levels},
        missing=None if reading.missing == "drop" else reading.missing, decimal=reading.decimal or ".",
        target=target, label_names=label_names, dropped=dropped, n_dropped=n_dropped,
    )  # fmt: skip
    for name, kind in coding.kinds.items():
        if kind == "ordinal" and name not in levels:
            coding.words[name] = sorted(as_words(frame[name]).dropna().unique())
        elif kind == "date" and is_day_first(frame[name]):
            coding.day_first.append(name)
    if coding.missing is not None or set(coding.kinds.values()) != {"number"}:
        coding.columns = column_transformer(coding, len(frame)).fit(coding.cells(frame))
        coding.sparse = coding.columns.sparse_output_
    coding.features = features_of(coding)
    return coding


def column_transformer(coding: Coding, n_rows: int) -> Any:
    """Return what codes the cells, in the order of the columns; neighbours of one kind are coded at once."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

    rare = min(RARE, max(1, n_rows // 100))
    coders = []
    for kind, group in groupby(coding.names, coding.kinds.__getitem__):
        run = list(group)
        words = [np.array(coding.words.get(name, []), dtype=object) for name in run]
        strategy = coding.missing if kind in ("number", "date") else "most_frequent"
        fill = [SimpleImputer(strategy=strategy, keep_empty_features=True)] if coding.missing else []
        steps = {
            "number": fill,
            "date": [FunctionTransformer(date_numbers), *fill],
            "ordinal": [*fill, OrdinalEncoder(categories=words)],
            "levels": [*fill, OneHotEncoder(categories=words)],
            "one_hot": [*fill, OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=rare)],
        }[kind]
        coders.append((run[0], make_pipeline(*steps) if steps else "passthrough", run))
    threshold = np.nextafter(DENSE_FROM, 1)
    return ColumnTransformer(coders, sparse_threshold=threshold).set_output(transform="default")


def date_numbers(dates: Any) -> NDArray[np.float64]:
    """Return year, month, weekday (0: Monday) and days since 1970-01-01 of each column of dates."""
    import pandas as pd

    found = []
    for name in dates:
        date = dates[name].dt
        days = (dates[name] - pd.Timestamp(0)).dt.total_seconds() / 86_400
        found += [date.year, date.month, date.day_of_week, days]
    return np.column_stack([part.to_numpy(np.float64, na_value=np.nan) for part in found])


def features_of(coding: Coding) -> dict[str, list[str]]:
    """Return the names of the features of each column, and note the words that one-hot encoders learnt."""
    own = dict(coding.words)  # words with a feature of their own
    for _, coder, run in coding.columns.transformers_ if coding.columns else ():
        if coding.kinds[run[0]] == "one_hot":
            encoder = coder[-1]
            for name, words, rare in zip(
                run, encoder.categories_, encoder.infrequent_categories_, strict=True
            ):
                coding.words[name] = words.tolist()
                own[name] = [*words] if rare is None else [*words[~np.isin(words, rare)], RARE_WORDS]
    return {
        name: [f"{name} {part}" for part in DATE_PARTS] if kind == "date"
        else [f"{name}={word}" for word in own[name]] if kind in ("one_hot", "levels")
        else [name]
        for name, kind in coding.kinds.items()
    }  # fmt: skip


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
    refuse_strays(cells, reading, f"leave the column out with {drop([cells.name])}, ")
    return reading.categorical


def label_words(cells: Any, reading: Reading) -> tuple[str, ...]:
    """Return the words behind the labels 0, 1, ..., declared or sorted; none where labels are numbers.

    Raises DataError for dates, and for a few words among numbers.
    """
    levels = (reading.levels or {}).get(str(cells.name))
    found = "words" if levels is not None else holds(cells)
    if found == "dates":
        raise DataError(
            f"column {cells.name}: expected numbers or words as labels, got dates such as "
            f"'{cells.dropna().iloc[0]}'; write what matters of them as numbers"
        )
    if found != "words":
        return ()
    if levels is None:
        refuse_strays(cells, reading)
    return tuple(levels or sorted(as_words(cells).dropna().unique()))


def refuse_strays(cells: Any, reading: Reading, advice: str = "") -> None:
    """Raise DataError where all but a few cells of a column are numbers.

    Up to 20 words may be codes such as 1, 2 and X; of more, a few cells that spell no numbers are mistakes.
    """
    words = as_words(cells)
    strays = [word for word in words.dropna().unique() if not is_number(word, reading.decimal)]
    marked = words.isin(strays).to_numpy()
    n, of, row = int(marked.sum()), len(cells), int(np.argmax(marked))
    if words.nunique() > MOST_CODES and 0 < n <= max(FEW_STRAYS, of // 100) and 2 * n < of:
        raise DataError(
            f"column {cells.name}: all but {n:,} of {of:,} cells are numbers, and row {row + 1} is "
            f"'{words.iloc[row]}'; correct it or leave it empty, {advice}or declare all words of the column "
            "with `levels`"
        )


def words_error(cells: Any, decimal: str | None) -> DataError:
    """Return the error for a column of words where nothing is said of them."""
    numbers = as_numbers(cells, decimal)
    row = int(np.argmax(np.isnan(numbers) & ~cells.isna().to_numpy()))
    value, n = str(cells.iloc[row]), int(np.sum(~np.isnan(numbers)))
    some = list(cells.dropna().map(str)[:LOOKED_AT])
    advice = f" ({n} of {len(cells)} rows are numbers)" if n else ""
    advice += "; set `categorical` to ordinal or one_hot if it holds words, or leave the column out with "
    advice += drop([cells.name])
    if decimal == "," and GROUPED.fullmatch(value):
        advice = (
            "; the decimal sign is a comma (`decimal: ','`): take points between thousands out of the file"
        )
    elif decimal is None and comma_numbers(some):
        advice = "; where the decimal sign is a comma, set `decimal: ','`"
    elif decimal != "," and "," in value and all(map(GROUPED.fullmatch, some)):
        advice = (
            "; if the comma is the decimal sign, set `decimal: ','`; if it separates thousands, take it out"
        )
    return DataError(f"row {row + 1}, column {cells.name}: expected numbers, got '{value}'{advice}")


def finite_numbers(cells: Any, start: int, decimal: str) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where one is missing; raises DataError for words and infinity."""
    values = as_numbers(cells, decimal)
    comma = "; the decimal sign is a comma, and a number has no points" if decimal == "," else ""
    refuse(np.isnan(values) & ~np.asarray(cells.isna()), cells, "a number", start, advice=comma)
    refuse(np.isinf(values), cells, "a finite number", start)
    return values


def check_columns(found: Sequence[str], wanted: Sequence[str], beside: set[str | None]) -> None:
    """Raise DataError unless the wanted columns are there, once each, and no others but those beside them."""
    if several := repeated(found):
        raise DataError(f"columns: expected each name once, got more of {listed(several)}")
    known, there = set(wanted), set(found)
    missing = [name for name in wanted if name not in there]
    extra = [name for name in found if name not in known and name not in beside]
    if missing or extra:
        told = [f"missing: {listed(missing)}"] if missing else []
        told += [f"not known: {listed(extra)}; leave them out"] if extra else []
        raise DataError(f"columns: expected those of the training rows, {listed(wanted)}; " + "; ".join(told))


def plain_matrix(X: Any, width: int, words: bool = False) -> Matrix:
    """Return X of two axes and this width: sparse as CSR, lists as an array; of numbers unless of words."""
    from scipy.sparse import csr_array, issparse

    X = csr_array(X) if issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[1] != width:
        got = f"{X.shape[1]}" if X.ndim == 2 else f"an array of {X.ndim} axes"
        raise DataError(f"columns: expected rows of {width} columns as in training, got {got}")
    if not words and X.dtype.kind not in "biuf":
        raise DataError(f"columns: expected real numbers, got {X.dtype}")
    return X


def in_form(X: Matrix, sparse: bool) -> Matrix:
    """Return X as float64, CSR where `sparse`, else dense."""
    from scipy.sparse import csr_array, issparse

    if sparse:
        return csr_array(X, dtype=np.float64)
    return np.asarray(X.toarray() if issparse(X) else X, np.float64)


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as int64 where all are whole numbers, as float64 otherwise."""
    if np.issubdtype(y.dtype, np.integer):
        return y.astype(np.int64)
    whole = np.all(np.isfinite(y)) and np.all(y == np.rint(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64 if whole else np.float64)
