"""Parquet, read by pandas through pyarrow, which `pip install pyarrow` adds."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from kfeat.data.coding import Coding
from kfeat.data.files import check_regular
from kfeat.data.formats.contents import Contents
from kfeat.data.formats.tables import coded
from kfeat.data.reading import Reading
from kfeat.errors import DataError


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts of Parquet files, whose columns have names and types."""
    frames = {role: read_frame(path, reading) for role, path in files.items()}
    return coded(frames, reading, str(files["train"]))


def read_frame(path: Path, reading: Reading) -> Any:
    """Return one file as a data frame."""
    import pandas as pd

    check_installed(path)
    check_regular(path)
    with path.open("rb") as content:
        return flat(pd.read_parquet(content, engine="pyarrow"), path)


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Any, None]]:
    """Yield one file as data frames of at most so many rows, of which one is in memory at a time."""
    check_installed(path)
    check_regular(path)
    from pyarrow.parquet import ParquetFile

    with path.open("rb") as content:
        for batch in ParquetFile(content).iter_batches(batch_size=rows):
            yield flat(batch.to_pandas(), path), None


def flat(frame: Any, path: Path) -> Any:
    """Return a frame whose columns are named by text, an index with a name among them."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    if not len(frame):
        raise DataError(f"{path}: expected rows of data, got none")
    frame.columns = [str(name) for name in frame.columns]
    for name, cells in frame.items():
        there = cells.dropna()
        if len(there) and there.dtype == object and all(isinstance(value, Decimal) for value in there):
            frame[name] = cells.astype(float)
    return frame.reset_index(drop=True)


def check_installed(path: Path) -> None:
    """Raise DataError where pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401 (pandas takes it; its own words for a missing one are many)
    except ImportError:
        raise DataError(
            f"{path}: Parquet is read by pyarrow, which is not installed; `pip install pyarrow` adds it"
        ) from None
