"""Tables of named columns (csv, tsv, arff, parquet) become a matrix, labels, and the coding of both."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kfeat.data.cache import check_regular, naming, open_content
from kfeat.data.coding import Coding, learn_coding
from kfeat.data.columns import Reading, format_of, kind_of, label_words, listed, refuse
from kfeat.data.dataset import Contents, Part
from kfeat.data.formats import cut, delimited
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean

MISSING_VALUE = (
    "a missing value (empty, ?, NA, None or the like); set `missing` to drop, mean or most_frequent, or fill "
    "them in"
)


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts of tables, whose labels are the target column or in files of their own.

    The coding is learnt from the training rows; test rows are read like any later rows.
    """
    path = files["train"]
    with naming(path):
        frame = read_frame(path, reading)
        target, dropped = roles(list(frame.columns), reading)
        reading = reading.model_copy(update={"levels": frame.attrs | (reading.levels or {})})
        rows = {"train": with_labels(frame, target, files.get("train_labels"))}
        if reading.n_train is not None:
            for name in rows["train"][0].columns.drop(dropped):
                kind_of(frame[name], reading)  # raises where test rows have words among numbers
            X, y = (cut({"train": each}, reading.n_train, str(path)) for each in rows["train"])
            rows = {part: (X[part], y[part]) for part in X}
        used = {"train": used_rows(*rows["train"], reading, dropped)}
        X, y = used["train"]
        coding = learn_coding(
            X.drop(columns=dropped), reading, task="regression", target=str(y.name),
            label_names=label_words(y, reading), dropped=tuple(dropped),
        )  # fmt: skip
    test = files.get("test", path)
    with naming(test):
        if "test" in files:
            frame = read_frame(test, reading, coding)
            rows["test"] = with_labels(frame, target, files.get("test_labels"))
        if "test" in rows:
            used["test"] = used_rows(*rows["test"], reading, dropped)
    parts = {}
    for part, (X, y) in used.items():
        with naming(files.get(part, path)):
            parts[part] = Part(coding.matrix(X), coding.labels(y.to_frame()))
    coding.n_dropped = sum(len(rows[part][1]) - len(y) for part, (_, y) in used.items())
    coding.target = target
    return Contents(parts, coding)


def roles(columns: Sequence[str], reading: Reading) -> tuple[str | None, list[str]]:
    """Return the target, None where none is named, and the columns to leave out.

    Raises DataError for columns that do not exist.
    """
    target = None if reading.target is None else column_called(reading.target, columns, "a target")
    dropped = [column_called(given, columns, "`drop`") for given in reading.drop or []]
    if target in dropped:
        raise DataError("expected the target to be kept, got it in `drop`")
    for name in reading.levels or {}:
        if name != "labels" or target is not None:
            column_called(name, columns, "`levels`")
    return target, dropped


def column_called(given: int | str, columns: Sequence[str], option: str) -> str:
    """Return the name of the column given by name, or by number from 0 (-1: the last)."""
    if isinstance(given, int):
        if not -len(columns) <= given < len(columns):
            raise DataError(f"expected {option} below {len(columns)}, its columns, got {given}")
        return columns[given]
    if given not in columns:
        near = did_you_mean(given, list(columns))
        raise DataError(f"{option}: no column '{given}'{near}; it has the columns {listed(columns)}")
    return given


def with_labels(frame: Any, target: str | None, beside: Path | None) -> tuple[Any, Any]:
    """Return the rows of one file and their labels, from a column of the file or from a file of labels."""
    columns = f"the columns {listed(list(frame.columns))}"
    if target is not None and beside is not None:
        raise DataError("expected `target` or a file of labels, got both")
    if target is not None:
        if target not in frame:
            raise DataError(f"expected the labels in a column {target}, got {columns}")
        return frame.drop(columns=target), frame[target]
    if beside is None:
        raise DataError(
            f"expected `target`, the column with the labels, or a file of labels; it has {columns}"
        )
    labels = delimited.read_labels(beside)
    if len(labels) != len(frame):
        raise DataError(f"expected a label for each of its {len(frame)} rows, got {len(labels)} labels")
    return frame, labels


def used_rows(frame: Any, labels: Any, reading: Reading, dropped: Sequence[str]) -> tuple[Any, Any]:
    """Return the rows that are used: those with a label, and with `missing: drop` without a missing cell.

    Raises DataError naming rows where cells or labels are missing and `missing` is not set.
    """
    missing = frame.drop(columns=dropped, errors="ignore").isna()
    lacking, unlabelled = missing.any(axis=1).to_numpy(), labels.isna().to_numpy()
    if not lacking.any() and not unlabelled.any():
        return frame, labels
    if reading.missing is None:
        cells = frame[missing.any().idxmax()] if lacking.any() else labels
        refuse(cells.isna(), cells, "a number or word in every cell", got=MISSING_VALUE)
    keep = ~(lacking | unlabelled) if reading.missing == "drop" else ~unlabelled
    if not keep.any():
        what = "with a label" if unlabelled.all() else "without missing cells"
        raise DataError(f"expected rows {what}, got none")
    return frame[keep].reset_index(drop=True), labels[keep].reset_index(drop=True)


def read_frame(path: Path, reading: Reading, coding: Coding | None = None) -> Any:
    """Return the data frame in one file, missing cells as pandas has them; `attrs` has declared levels.

    With a coding, its columns of words are read as text, even if they look like numbers.
    """
    read_one = {"arff": read_arff, "parquet": read_parquet}.get(format_of(path, reading))
    return delimited.read_frame(path, reading, coding) if read_one is None else read_one(path)


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Any, None]]:
    """Yield one file as data frames of at most `rows` rows; an ARFF file is read as a whole."""
    kind = format_of(path, reading)
    frames: Iterator[Any]
    if kind == "arff":
        frame = read_arff(path)
        frames = (frame.iloc[start : start + rows] for start in range(0, len(frame), rows))
    elif kind == "parquet":
        frames = parquet_blocks(path, rows)
    else:
        frames = delimited.blocks(path, reading, coding, rows)
    yield from ((frame, None) for frame in frames)


def read_arff(path: Path) -> Any:
    """Return an ARFF file, the format of Weka and OpenML; `?` is a missing cell."""
    import pandas as pd
    from scipy.io.arff import ArffError, loadarff

    try:
        with open_content(path) as content, io.TextIOWrapper(content, encoding="utf-8") as text:
            rows, meta = loadarff(text)
    except ArffError as error:
        raise DataError(f"cannot be read as arff ({error})") from None
    frame = pd.DataFrame({name: rows[name] for name in meta.names()})
    for name, kind in zip(meta.names(), meta.types(), strict=True):
        if kind == "nominal":
            frame[name] = frame[name].str.decode("utf-8").replace("?", None)
            frame.attrs[name] = list(meta[name][1])
        elif kind != "numeric":
            raise DataError(f"column {name}: expected a numeric or nominal attribute, got {kind}")
    return frame


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
    try:
        import pyarrow.parquet as pq
    except ImportError:
        advice = "`pip install pyarrow` adds it"
        raise DataError(f"Parquet is read by pyarrow, which is not installed; {advice}") from None
    with path.open("rb") as content:
        yield pq.ParquetFile(content)


def flat(frame: Any) -> Any:
    """Return a frame whose columns are named by text, an index with a name among them."""
    if not len(frame):
        raise DataError("expected rows of data, got none")
    frame = frame.reset_index(drop=all(name is None for name in frame.index.names))
    frame.attrs = {}  # which a file may have; here they are levels
    return frame.set_axis([str(name) for name in frame.columns], axis="columns")
