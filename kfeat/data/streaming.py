"""Reading rows for a model that exists: block by block, coded as the model's training data were."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kfeat.data.coding import Coding
from kfeat.data.formats import MODULES
from kfeat.data.models import Matrix
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError, KfeatError
from kfeat.saying import printable

ROWS = 8192  # of a block


@dataclass(frozen=True)
class Rows:
    """A block of a file's rows: features X (n, d) as training had them, labels y (n,) or None without them.

    `start` is the number of rows before the block.
    """

    X: Matrix
    y: NDArray[Any] | None
    start: int


def read_rows(path: Path, reading: Reading, coding: Coding, size: int = ROWS) -> Iterator[Rows]:
    """Yield the rows of a file in blocks of at most `size`, coded as `coding` says, whatever their number.

    The file may lack the target column, and its columns may have another order. One block is in memory at a
    time for csv, tsv, svmlight and parquet; arff, idx, mat and npz files are read as a whole.
    Raises DataError naming the file, and row and column of an unknown word or a missing cell.
    """
    name = format_of(path, reading)
    module = import_module(f"kfeat.data.formats.{MODULES.get(name, name)}")
    start = 0
    try:
        for X, y in module.blocks(path, reading, coding, size):
            yield coded_rows(X, y, coding, start)
            start += X.shape[0]
    except KfeatError as error:
        told = printable(error)
        raise DataError(told if told.startswith(str(path)) else f"{path}, {told}") from error
    # The readers are other libraries' parsers: what they raise on damaged bytes is open-ended.
    except Exception as error:
        raise DataError(f"{path}: cannot be read as {name} ({printable(error)})") from error
    if not start:
        raise DataError(f"{path}: expected rows of data, got none")


def coded_rows(X: Any, y: Any, coding: Coding, start: int) -> Rows:
    """Return one block of a frame, which may have the labels as a column, or of a matrix and its labels."""
    if y is None and coding.target is not None and coding.target in getattr(X, "columns", ()):
        y = coding.labels(X, start)
    elif y is not None:
        y = coding.typed_labels(y, start)
    return Rows(coding.matrix(X, start), y, start)
