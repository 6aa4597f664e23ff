"""Parquet, which pyarrow reads, as data frames."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kfeat.data.content import check_regular, most_content
from kfeat.data.reading import PACKED
from kfeat.errors import DataError


def read_parquet(path: Path) -> Any:
    """Return a Parquet file, which pyarrow reads."""
    with parquet_file(path) as file:
        return flat(file.read().to_pandas())


def parquet_blocks(path: Path, rows: int) -> Iterator[Any]:
    """Yield a Parquet file as data frames of at most `rows` rows, with one in memory at a time."""
    with parquet_file(path) as file:
        yield from (flat(batch.to_pandas()) for batch in file.iter_batches(batch_size=rows))


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """Open a Parquet file; raises DataError where the file or pyarrow is missing."""
    check_regular(path)
    if path.suffix.lower() in PACKED:
        raise DataError(f"{path}: a Parquet file is packed inside already; unpack it")
    try:
        import pyarrow.parquet as pq
    except ImportError:
        advice = "`pip install pyarrow` adds it"
        raise DataError(f"Parquet is read by pyarrow, which is not installed; {advice}") from None
    with path.open("rb") as content:
        file, most = pq.ParquetFile(content), most_content(path)
        size = max(8 * file.metadata.num_rows * file.metadata.num_columns, _unpacked(file.metadata))
        if size > most:
            raise DataError(f"expected {most:,} bytes of columns at most, got {size:,}")
        yield file


def _unpacked(metadata: Any) -> int:
    """Return the bytes of a Parquet file's columns before they were packed."""
    return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def flat(frame: Any) -> Any:
    """Return a frame whose columns are named by text, an index with a name among them."""
    if not len(frame):
        raise DataError("expected rows of data, got none")
    frame = frame.reset_index(drop=all(name is None for name in frame.index.names))
    frame.attrs = {}  # which a file may have; here they are levels
    return frame.set_axis([str(name) for name in frame.columns], axis="columns")
