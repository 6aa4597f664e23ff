"""How the columns of files became features and labels: learnt when they are read, applied to new rows."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kfeat.data.columns import Column, listed, repeated
from kfeat.data.finite import check_finite_labels, check_finite_matrix
from kfeat.data.models import Matrix, Model, Task
from kfeat.errors import DataError


class Coding(Model):
    """What reading made of a dataset's columns, so that the same can be made of rows met later.

    `columns` are the columns that became features, in order; it is empty where the format has no names
    (svmlight, idx, mat, npz), and `width` is then all that is known. `target` is the name of the column of
    labels, None where labels were no column; `label_names` are the words behind the labels 0, 1, ..., empty
    where labels are numbers. `dropped` names the columns that were left out, `n_dropped` counts the rows left
    out for a missing cell. `decimal` is the decimal sign of numbers in text. `sparse` says whether the
    features are kept as CSR. JSON keeps a coding:
    `Coding.model_validate_json(coding.model_dump_json()) == coding`.
    """

    task: Task
    width: int
    columns: tuple[Column, ...] = ()
    target: str | None = None
    label_names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    n_dropped: int = 0
    decimal: Literal[".", ","] = "."
    sparse: bool = False

    @classmethod
    def of_numbers(cls, task: Task, width: int, names: Sequence[str] = ()) -> "Coding":
        """Return the coding of columns that are numbers already, matched by name where there are `names`."""
        return cls(task=task, width=width, columns=tuple(Column(name=name) for name in names))

    @property
    def n_features(self) -> int:
        """The number d of features after coding."""
        return sum(column.width for column in self.columns) if self.columns else self.width

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns that become features, in order; empty where there are none."""
        return [column.name for column in self.columns]

    @cached_property
    def feature_names(self) -> list[str]:
        """The names of the d features, `column=word` for 0/1 columns; empty where columns have no names."""
        return [name for column in self.columns for name in column.feature_names]

    def matrix(self, X: Any, start: int = 0) -> Matrix:
        """Return the features (n, d), float64, of n rows: what training did to the same cells.

        X is a pandas frame, whose columns are matched by name, whatever their order (those that the file had
        beside the features may be missing), or an array (n, width) of the columns in the order of training.
        Where there are no names, X is (n, width), dense or sparse, and is taken as it is. `start` is the
        number of rows before X, for messages. Raises DataError for missing or unknown columns, for a word
        that training did not meet, and for missing cells where nothing stands for them.
        """
        import pandas as pd

        if not self.columns:
            coded = plain_matrix(X.to_numpy() if isinstance(X, pd.DataFrame) else X, self.width)
        else:
            coded = coded_matrix(self.frame(X), self.columns, start, self.decimal)
        coded = in_form(coded, self.sparse)
        check_finite_matrix(coded, "", start)
        return coded

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

    def labels(self, frame: Any, start: int = 0) -> NDArray[Any]:
        """Return the labels or targets (n,) in the target column of a pandas frame.

        Words become their positions in `label_names`. Raises DataError where there is no such column, and
        for an unknown word or a missing or foreign cell.
        """
        found = {str(name): name for name in frame.columns}
        if self.target is None or self.target not in found:
            raise DataError(
                f"expected the labels in a column {self.target}, got the columns {listed(list(found))}"
                if self.target is not None
                else "expected labels in a column, but those that were learnt from had a file of their own"
            )
        cells = frame[found[self.target]]
        missing = np.asarray(cells.isna())
        if missing.any():
            raise DataError(Column(name=self.target).told_missing(missing, start))
        if self.label_names:
            return Column(name=self.target, kind="ordinal", words=self.label_names).codes(cells, start)
        return self.typed_labels(Column(name=self.target).numbers(cells, start, self.decimal), start)

    def typed_labels(self, y: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return numbers (n,) in the type that labels or targets have; raises DataError for infinity."""
        check_finite_labels(y, "", start)
        return as_labels(y) if self.task == "classification" else y.astype(np.float64)


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


def coded_matrix(frame: Any, columns: Sequence[Column], start: int = 0, decimal: str = ".") -> Matrix:
    """Return the features of a frame that has these columns, in order: dense if each is, CSR otherwise."""
    from pandas.api.types import is_numeric_dtype
    from scipy.sparse import csr_array, hstack

    plain = all(column.kind == "number" for column in columns) and all(map(is_numeric_dtype, frame.dtypes))
    if plain and not frame.isna().any(axis=None):
        return frame.to_numpy(np.float64)
    blocks = [column.block(frame[column.name], start, decimal) for column in columns]
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.hstack(blocks)
    return csr_array(hstack(blocks, format="csr"))


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
