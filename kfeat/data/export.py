"""A dataset as a CSV file: a header, a line for each row, the target as the last column."""

from collections.abc import Iterator
from io import StringIO
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices
from kfeat.errors import DataError

MOST_BYTES = 200_000_000
SAMPLE = 200  # rows from which the size of a file is estimated
WHOLE = 2.0**53  # below it doubles hold all whole numbers


def write_csv(raw: Raw, rows: Indices, file: TextIO) -> None:
    """Write rising rows of a dataset, whose numbers a reader gets back as they are.

    The columns are the features as kfeat reads them, then the names of the classes, or the targets.
    """
    whole = _whole_columns(raw, rows)
    for number, frame in enumerate(_frames(raw, rows, whole)):
        frame.to_csv(file, index=False, header=number == 0, lineterminator="\n")


def check_csv_size(raw: Raw) -> None:
    """Raise DataError, with the estimated size, where a CSV file of all rows would take more than 200 MB."""
    rows = np.arange(0, len(raw.y), max(1, len(raw.y) // SAMPLE))
    text = StringIO()
    write_csv(raw, rows, text)
    size = len(text.getvalue()) / len(rows) * len(raw.y)
    if size > MOST_BYTES:
        raise DataError(
            f"{raw.name}: a CSV file of {len(raw.y):,} rows x {raw.n_features:,} features would take about "
            f"{size / 1e6:,.0f} MB, more than {MOST_BYTES / 1e6:.0f} MB; a config reads the data without "
            f"a file: `dataset: {raw.name}`"
        )


def column_names(raw: Raw) -> tuple[list[str], str]:
    """Return the names of the features and of the target.

    Without names in the files they are x0, x1, ... and `label`, or `target` in a regression.
    """
    named = [name for name in (*raw.columns, raw.target or "0") if not name.isdigit()]
    if len(named) > len(raw.columns):
        return [*raw.columns], str(raw.target)
    return [f"x{j}" for j in range(raw.n_features)], "target" if raw.task == "regression" else "label"


def _whole_columns(raw: Raw, rows: Indices) -> NDArray[np.bool_]:
    """Return which columns have whole numbers alone, which are then written without a point."""
    whole = np.ones(raw.n_features, dtype=bool)
    for block in raw.blocks(rows, np.arange(raw.n_features)):
        X = _dense(block)
        whole &= ((np.floor(X) == X) & (np.abs(X) < WHOLE)).all(axis=0)
    return whole


def _frames(raw: Raw, rows: Indices, whole: NDArray[np.bool_]) -> Iterator[Any]:
    """Yield data frames of consecutive rows, which are small where the data are sparse, too."""
    import pandas as pd  # here, since its import takes a third of a second

    names, target = column_names(raw)
    y = raw.y[rows]
    labels = np.array(raw.label_names, dtype=object)[y] if raw.label_names else y
    if not raw.label_names and (y == np.floor(y)).all() and (np.abs(y) < WHOLE).all():
        labels = y.astype(np.int64)
    start = 0
    for block in raw.blocks(rows, np.arange(raw.n_features)):
        X = _dense(block)
        columns = [X[:, j].astype(np.int64) if whole[j] else X[:, j] for j in range(raw.n_features)]
        frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
        yield frame.assign(**{target: labels[start : start + len(X)]})
        start += len(X)


def _dense(block: Any) -> NDArray[np.float64]:
    return block if isinstance(block, np.ndarray) else block.toarray()
