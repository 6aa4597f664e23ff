"""Finding the first value of a parsed file that is not a finite number."""

import numpy as np

from kfeat.data.models import Part
from kfeat.errors import DataError

BLOCK = 4096  # rows looked at together, so that a check costs no second copy of the data


def check_finite(part: Part, file: str) -> None:
    """Raise DataError naming the file, row and column (from 1) of the first NaN or infinity in X or y."""
    from scipy.sparse import issparse

    if issparse(part.X):
        bad = np.flatnonzero(~np.isfinite(part.X.data))
        if len(bad):
            row = int(np.searchsorted(part.X.indptr, bad[0], side="right"))
            raise not_finite(file, row, int(part.X.indices[bad[0]]) + 1, part.X.data[bad[0]])
    else:
        for start in range(0, len(part.X), BLOCK):
            places = np.argwhere(~np.isfinite(part.X[start : start + BLOCK]))
            if len(places):
                row, column = (int(i) for i in places[0])
                raise not_finite(file, start + row + 1, column + 1, part.X[start + row, column])
    bad = np.flatnonzero(~np.isfinite(part.y))
    if len(bad):
        raise not_finite(file, int(bad[0]) + 1, "of the labels", part.y[bad[0]])


def not_finite(file: str, row: int, column: int | str, value: float) -> DataError:
    """Return the error for one value that is not finite."""
    return DataError(
        f"{file}, row {row}, column {column}: expected a finite number, got {value}; "
        "fill in or drop missing values before kfeat reads the file"
    )
