"""How the columns of a table become features and labels: learnt from training rows, applied to any rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.base import Task
from kfeat.data.cells import (
    as_dates,
    as_words,
    check_cells,
    finite_numbers,
    listed,
)
from kfeat.data.matrix import Matrix, check_finite_labels, check_finite_matrix
from kfeat.data.reading import repeated
from kfeat.errors import DataError
from kfeat.text import counted


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
