"""How the columns of a table become features and labels: learnt from training rows, applied to any rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.base import Task
from kfeat.data.cells import (
    are_truths,
    as_dates,
    as_words,
    check_cells,
    finite_numbers,
    holds,
    listed,
    words_error,
    words_in,
)
from kfeat.data.matrix import DENSE_FROM, Matrix, check_finite_labels, check_finite_matrix
from kfeat.data.reading import Reading, repeated
from kfeat.data.spelling import check_mistakes
from kfeat.errors import DataError
from kfeat.text import counted, in_yaml
from kfeat.weights import copies

MOST_COUNTED = 100_000  # rows that are repeated by their weights, at most


def kind_of(cells: Any, reading: Reading) -> str:
    """Return how a column is coded: "number", "date", "one_hot", "ordinal" or, one-hot too, "levels".

    Raises DataError for words where `categorical` is not set, a few words among numbers, and lists.
    """
    declared = str(cells.name) in (reading.levels or {})
    found = "words" if declared else holds(cells)
    if found in ("numbers", "nothing", "dates"):
        return "date" if found == "dates" else "number"
    out = f"leave the column out with {drop([cells.name])}"
    if found == "lists":
        cell = cells.dropna().iloc[0]
        raise DataError(f"column {cells.name}: expected numbers or words, got {cell!r:.60}; {out}")
    if declared and reading.categorical is not None:
        return "ordinal" if reading.categorical == "ordinal" else "levels"
    check_mistakes(cells, f"{out}, ")
    if reading.categorical is None:
        raise words_error(cells, f"set `categorical` to ordinal or one_hot if it holds words, or {out}")
    return reading.categorical


def label_words(cells: Any, reading: Reading) -> tuple[str, ...]:
    """Return the words behind the labels 0, 1, ..., declared or sorted; none where labels are no words.

    Raises DataError for a few words among numbers.
    """
    if levels := (reading.levels or {}).get(str(cells.name)):
        return tuple(levels)
    if holds(cells) != "words" and not are_truths(cells):
        return ()
    check_mistakes(cells)
    return tuple(words_in(cells))


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


def drop(names: Sequence[str]) -> str:
    """Return the option that leaves columns out, quoted as YAML needs it: a bare number is a position."""
    return f"`drop: {in_yaml(list(names))}`"


GAP = "missing"  # the word for a missing cell
RARE = 10  # rows that a word needs to get its own feature; rarer words share one
FILL_IN = "; fill it in or leave the row out"
NOT_LEARNT = (
    f"{FILL_IN}: no value for missing cells of this column was learnt (`missing: mean` or `most_frequent` "
    "learns one)"
)


@dataclass(eq=False)
class Coding:
    """How the columns of a dataset became features and labels, so that later rows can be coded alike.

    `names` are the columns that become features, in order; empty where the format has none (svmlight, idx,
    mat, npz), where `width`, their number, is all that is known. `kinds` says how each is coded: `number`,
    `date`, `one_hot`, `ordinal`, or one_hot by declared `levels`; `words` has the known words of a column.
    `coder`, a ColumnTransformer, codes the cells; it is None where all are numbers. It fills missing cells by
    `missing`; where that is None they are refused.

    `target` is the name of the column of labels, None where labels were no column; `label_names` are the
    words behind the labels 0, 1, ..., empty where labels are numbers. `dropped` columns and `n_dropped` rows
    were left out. `sparse` says whether the features are kept as CSR.
    """

    task: Task
    width: int
    names: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    coder: Any = None
    missing: str | None = None
    target: str | None = None
    label_names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    n_dropped: int = 0
    sparse: bool = False

    def matrix(self, X: Any, start: int = 0) -> Matrix:
        """Return the features (n, d), float64, of n rows, coded as in training.

        X is a pandas frame, whose columns are matched by name, whatever their order (those that the file had
        beside the features may be missing), or an array (n, width) of the columns in the order of training,
        which may be sparse. `start` is the number of rows before X, for messages. Raises DataError naming
        missing or unknown columns, and rows and columns of cells that cannot be coded.
        """
        import pandas as pd
        from pandas.api.types import is_numeric_dtype
        from scipy.sparse import csr_array, issparse

        if not isinstance(X, pd.DataFrame) or not self.names:
            X = array_of(X, self.width)
        if not self.names:
            if X.dtype.kind not in "biuf":
                raise DataError(f"columns: expected real numbers, got {X.dtype}")
            check_finite_matrix(X, "", start)
        else:
            if not isinstance(X, pd.DataFrame):
                X = pd.DataFrame(X.toarray() if issparse(X) else X, columns=self.names)
            found = [str(name) for name in X.columns]
            check_columns(found, self.names, beside={self.target, *self.dropped})
            X = X.set_axis(found, axis="columns")[self.names]
            # Numbers without gaps, the usual case, need no look at each column.
            numbers = set(self.kinds.values()) == {"number"} and all(map(is_numeric_dtype, X.dtypes))
            if not numbers or not np.isfinite(X.to_numpy(np.float64, na_value=np.nan)).all():
                X = self.cells(X, start)
                X = X if self.coder is None else self.coder.transform(X)
        if self.sparse:
            return csr_array(X, dtype=np.float64)
        return np.asarray(X.toarray() if issparse(X) else X, np.float64)

    def cells(self, frame: Any, start: int = 0) -> Any:
        """Return the cells of the coding's columns as numbers, words and dates; bad cells raise."""
        import pandas as pd

        return pd.DataFrame({name: self._cells_of(frame[name], start) for name in self.names})

    def _cells_of(self, cells: Any, start: int) -> Any:
        name = str(cells.name)
        kind, known = self.kinds[name], self.words.get(name, [])
        if self.missing is None:
            check_cells(cells.isna(), cells, "a value", start, "a missing cell", NOT_LEARNT)
        if kind == "number":
            return finite_numbers(cells, start)
        if kind == "date":
            dates = as_dates(cells)
            if self.missing is None:
                check_cells(dates.isna(), cells, "a date", start)
            return dates
        words = as_words(cells, known)
        if kind != "one_hot":
            check_cells(words.notna() & ~words.isin(known), cells, f"one of {listed(known)}", start)
        return words

    def labels(self, frame: Any, start: int = 0) -> NDArray[Any]:
        """Return the labels or targets (n,) in the target column of a pandas frame.

        Words become their positions in `label_names`. Raises DataError where there is no such column, and
        for an unknown word or a missing or foreign cell.
        """
        import pandas as pd

        frame = frame.set_axis([str(name) for name in frame.columns], axis="columns")
        if self.target not in frame:
            found = listed(list(frame.columns))
            raise DataError(f"expected the labels in a column {self.target}, got the columns {found}")
        cells = frame[self.target]
        check_cells(cells.isna(), cells, "a value", start, "a missing cell", FILL_IN)
        if not self.label_names:
            return self.typed_labels(finite_numbers(cells, start), start)
        codes = pd.Index(self.label_names).get_indexer(as_words(cells, self.label_names))
        check_cells(codes < 0, cells, f"one of {listed(self.label_names)}", start)
        return np.asarray(codes, np.int64)

    def typed_labels(self, y: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return numbers (n,) in the type that labels or targets have; raises DataError for infinity."""
        check_finite_labels(y, "", start)
        return as_labels(y) if self.task == "classification" else y.astype(np.float64)


def learn_coding(
    frame: Any, reading: Reading, *, task: Task = "classification", target: str | None = None,
    label_names: tuple[str, ...] = (), dropped: tuple[str, ...] = (),
    weights: NDArray[np.float64] | None = None,
) -> Coding:  # fmt: skip
    """Return how the columns of a pandas frame of training rows become features.

    Numbers stay as they are; missing ones become what `reading.missing` says. Words become features of 0 and
    1 (`one_hot`; words of fewer than 10 rows, or than a hundredth of all rows if that is less, share one
    feature with unknown words), or their positions (`ordinal`), among the declared `levels` of a column if
    there are any. A date becomes year, month, weekday and the days since 1970-01-01. A column without any
    value becomes 0. Rows count by their weights (n,) above 0, if there are any, in what missing cells become
    and in how rare a word is. Raises DataError for columns that cannot be coded.
    """
    names, levels = [str(name) for name in frame.columns], reading.levels or {}
    check_columns(names, names, set())
    if not names:
        raise DataError("columns: expected some beside the labels, got 0 columns")
    frame = frame.set_axis(names, axis="columns")
    kinds = {name: kind_of(frame[name], reading) for name in names}
    words = {
        name: levels[name] if name in levels else words_in(frame[name])
        for name, kind in kinds.items()
        if kind not in ("number", "date")
    }
    missing = None if reading.missing == "drop" else reading.missing
    if missing == "word":
        words = {name: [*known, *({GAP} - set(known))] for name, known in words.items()}
    coding = Coding(
        task, len(names), names, kinds, words,
        missing=missing, target=target, label_names=label_names, dropped=dropped,
    )  # fmt: skip
    if missing is not None or set(kinds.values()) != {"number"}:
        cells, n = coding.cells(frame), float(len(frame))
        if weights is not None:
            cells, n = cells.iloc[copies(weights, MOST_COUNTED)], max(n, float(weights.sum()))
        coding.coder = column_transformer(coding, int(n), len(cells) / n).fit(cells)
        coding.sparse = coding.coder.sparse_output_
    return coding


def column_transformer(coding: Coding, n_rows: int, times: float = 1.0) -> Any:
    """Return the transformer of cells, in the order of the columns; adjacent columns of numbers share one.

    It is to be fitted to so many times the `n_rows` rows that count.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

    coders = list[Any]()
    for _, group in groupby(coding.names, lambda name: coding.kinds[name] != "number" and name):
        run = list(group)
        kind, words = coding.kinds[run[0]], [np.array(coding.words.get(run[0], []), dtype=object)]
        usual = "mean" if coding.missing == "word" else coding.missing
        other = "constant" if coding.missing == "word" else "most_frequent"
        numeric = kind in ("number", "date")
        imputer = SimpleImputer(
            strategy=usual if numeric else other,
            fill_value=None if numeric or other != "constant" else GAP,
            keep_empty_features=True,
        )
        fill = [imputer] if coding.missing else []
        least = max(1, round(times * min(RARE, max(1, n_rows // 100))))
        rare = {"handle_unknown": "infrequent_if_exist", "min_frequency": least}
        steps = {
            "number": fill,
            "date": [FunctionTransformer(date_numbers), *fill],
            "ordinal": [*fill, OrdinalEncoder(categories=words)],
            "levels": [*fill, OneHotEncoder(categories=words)],
            "one_hot": [*fill, OneHotEncoder(**rare)],
        }[kind]
        coders.append((str(len(coders)), make_pipeline(*steps) if steps else "passthrough", run))
    threshold = float(np.nextafter(DENSE_FROM, 1))  # as for all arrays that are kept
    return ColumnTransformer(coders, sparse_threshold=threshold).set_output(transform="default")


def date_numbers(dates: Any) -> NDArray[np.float64]:
    """Return year, month, weekday (0: Monday) and days since 1970-01-01 of a column of dates."""
    import pandas as pd

    cells = dates.iloc[:, 0]
    days = (cells - pd.Timestamp(0).as_unit("us")).dt.total_seconds() / 86_400
    parts = pd.concat([cells.dt.year, cells.dt.month, cells.dt.day_of_week, days], axis=1)
    return np.asarray(parts, np.float64)


def array_of(X: Any, width: int) -> Matrix:
    """Return X, sparse as CSR, lists as an array; raises DataError unless it has two axes and this width."""
    from scipy.sparse import csr_array, issparse

    X = csr_array(X) if issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[1] != width:
        got = f"{X.shape[1]}" if X.ndim == 2 else f"an array of shape {X.shape}"
        raise DataError(f"columns: expected rows of {counted(width, 'columns')} as in training, got {got}")
    return X


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as int64 where all are whole numbers, as float64 otherwise."""
    if np.issubdtype(y.dtype, np.integer):
        return y.astype(np.int64)
    whole = np.all(np.isfinite(y)) and np.all(y == np.rint(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64 if whole else np.float64)
