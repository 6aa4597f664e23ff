"""Tables of named columns (csv, tsv, arff, parquet) become a matrix, labels, and the coding of both."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kfeat.data.coding import Coding, label_words, learn_coding
from kfeat.data.columns import listed, rows_listed
from kfeat.data.dataset import Contents, Part
from kfeat.data.files import check_regular, open_content
from kfeat.data.formats import cut, delimited
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts of tables, whose labels are the target column or have files beside.

    All is learnt from the training rows; test rows are read as any others that are met later.
    """
    path, beside = files["train"], files.get("train_labels")
    frame = read_frame(path, reading)
    target, dropped = roles(list(frame.columns), reading, beside is not None, str(path))
    reading = reading.model_copy(update={"levels": frame.attrs | (reading.levels or {})})
    whole = with_labels(frame, target, beside, path)
    parts = {"train": whole}
    if reading.n_train is not None:
        X, y = (cut({"train": each}, reading.n_train, str(path)) for each in whole)
        parts = {part: (X[part], y[part]) for part in X}
    X, y = used_rows(*parts["train"], reading, dropped, str(path))
    if empty := [name for name in X if name not in dropped and X[name].isna().all()]:
        raise DataError(
            f"{path}, column {empty[0]}: expected a value in some training row, got missing cells only; "
            f"leave the column out with {drop(empty[:1])}"
        )
    coding = naming(
        path, learn_coding, X.drop(columns=dropped), reading, target=str(y.name),
        label_names=naming(path, label_words, y, reading), dropped=tuple(dropped),
    )  # fmt: skip
    arrays = {}
    for part in ("train", "test"):
        file = files.get(part, path)
        if part in files and part not in parts:
            frame = read_frame(file, reading, coding)
            parts[part] = with_labels(frame, target, files.get("test_labels"), file)
        if part in parts:
            n = len(parts[part][1])
            X, y = used_rows(*parts[part], reading, dropped, str(file))
            labels = naming(file, coding.labels, y.to_frame())
            arrays[part] = Part(naming(file, coding.matrix, X), labels)
            coding.n_dropped += n - len(y)
    coding.target = target
    return Contents(arrays, coding)


def with_labels(frame: Any, target: str | None, beside: Path | None, path: Path) -> tuple[Any, Any]:
    """Return the rows of one file and their labels: a column of theirs, or those of a file beside."""
    if target is not None:
        if target not in frame:
            raise DataError(
                f"{path}: expected the labels in a column {target}, got {named(list(frame.columns))}"
            )
        return frame.drop(columns=target), frame[target]
    if beside is None:
        raise DataError(f"{path}: expected a file of labels for the test file too")
    labels = delimited.read_labels(beside)
    if len(labels) != len(frame):
        raise DataError(
            f"{path}: expected a label for each of its {len(frame)} rows, got {len(labels)} labels"
        )
    return frame, labels


def naming(file: str | Path, do: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Return what a function does; what it raises names the file."""
    try:
        return do(*given, **options)
    except DataError as error:
        raise DataError(f"{file}, {error}") from None


def used_rows(
    frame: Any, labels: Any, reading: Reading, dropped: Sequence[str], file: str
) -> tuple[Any, Any]:
    """Return the rows that are used: those with a label, and with `missing: drop` without a missing cell.

    Raises DataError naming rows where cells or labels are missing and nothing is said of them, and a column
    without any value.
    """
    missing = frame.drop(columns=dropped, errors="ignore").isna()
    lacking, unlabelled = missing.any(axis=1).to_numpy(), labels.isna().to_numpy()
    if not lacking.any() and not unlabelled.any():
        return frame, labels
    if reading.missing is None:
        name = missing.any().idxmax() if lacking.any() else labels.name
        rows = missing[name] if lacking.any() else labels.isna()
        raise DataError(
            f"{file}, {rows_listed(rows.to_numpy())}, column {name}: expected a number or word in every cell, "
            "got a missing value (empty, ?, NA, None or the like); set `missing` to drop, mean or "
            "most_frequent, or fill them in"
        )
    keep = ~(lacking | unlabelled) if reading.missing == "drop" else ~unlabelled
    if not keep.any():
        what = "with a label" if unlabelled.all() else "without missing cells"
        raise DataError(f"{file}: expected rows {what}, got none")
    return frame[keep].reset_index(drop=True), labels[keep].reset_index(drop=True)


def roles(
    columns: Sequence[str], reading: Reading, beside: bool = True, file: str = "the file"
) -> tuple[str | None, list[str]]:
    """Return the target, None where none is named, and the columns to leave out.

    Raises DataError for a column that is not there, and where labels have two places or, unless they may be
    in a file beside, none.
    """
    target = None if reading.target is None else column_called(reading.target, columns, "a target", file)
    dropped = [column_called(given, columns, "`drop`", file) for given in reading.drop or []]
    if target is None and not beside:
        raise DataError(f"{file}: expected `target`, the column with the labels; it has {named(columns)}")
    if target in dropped:
        raise DataError(f"{file}: expected the target to be kept, got it in `drop`")
    for name in reading.levels or {}:
        if name not in columns and (target is not None or name != "labels"):
            near = did_you_mean(name, list(columns))
            raise DataError(f"{file}: levels: no column '{name}'{near}; it has {named(columns)}")
    return target, dropped


def column_called(given: int | str, columns: Sequence[str], option: str, file: str) -> str:
    """Return the name of the column given by name, or by number from 0 (-1: the last)."""
    if isinstance(given, int):
        if not -len(columns) <= given < len(columns):
            raise DataError(f"{file}: expected {option} below {len(columns)}, its columns, got {given}")
        return columns[given]
    if given not in columns:
        near = did_you_mean(given, list(columns))
        raise DataError(f"{file}: no column '{given}'{near}; it has {named(columns)}")
    return given


def named(columns: Sequence[str]) -> str:
    """Return the names of columns for a message, cut to a dozen."""
    return f"the columns {listed(columns)}"


def read_frame(path: Path, reading: Reading, coding: Coding | None = None) -> Any:
    """Return the data frame in one file, missing cells as pandas has them; `attrs` has declared levels.

    With a coding, its columns of words are read as text, whatever they look like.
    """
    read_one = {"arff": read_arff, "parquet": read_parquet}.get(format_of(path, reading))
    return delimited.read_frame(path, reading, coding) if read_one is None else read_one(path)


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Any, None]]:
    """Yield one file as data frames of at most so many rows; an ARFF file is read as a whole."""
    kind = format_of(path, reading)
    if kind == "arff":
        frame = read_arff(path)
        frames = (frame.iloc[start : start + rows] for start in range(0, len(frame), rows))
    else:
        frames = (
            parquet_blocks(path, rows) if kind == "parquet" else delimited.blocks(path, reading, coding, rows)
        )
    yield from ((frame, None) for frame in frames)


def read_arff(path: Path) -> Any:
    """Return an ARFF file, the format of Weka and OpenML; `?` is a missing cell."""
    import pandas as pd
    from scipy.io.arff import ArffError, loadarff

    try:
        with open_content(path) as content, io.TextIOWrapper(content, encoding="utf-8") as text:
            rows, meta = loadarff(text)
    except ArffError as error:
        raise DataError(f"{path}: cannot be read as arff ({error})") from None
    frame = pd.DataFrame({name: rows[name] for name in meta.names()})
    for name, kind in zip(meta.names(), meta.types(), strict=True):
        if kind == "nominal":
            frame[name] = frame[name].str.decode("utf-8").replace("?", None)
            frame.attrs[name] = list(meta[name][1])
        elif kind != "numeric":
            raise DataError(f"{path}, column {name}: expected a numeric or nominal attribute, got {kind}")
    return frame


def read_parquet(path: Path) -> Any:
    """Return a Parquet file, which pyarrow reads."""
    import pandas as pd

    check_pyarrow(path)
    with path.open("rb") as content:
        return flat(pd.read_parquet(content, engine="pyarrow"), path)


def parquet_blocks(path: Path, rows: int) -> Iterator[Any]:
    """Yield a Parquet file as data frames of at most so many rows, of which one is in memory at a time."""
    check_pyarrow(path)
    from pyarrow.parquet import ParquetFile

    with path.open("rb") as content:
        for batch in ParquetFile(content).iter_batches(batch_size=rows):
            yield flat(batch.to_pandas(), path)


def flat(frame: Any, path: Path) -> Any:
    """Return a frame whose columns are named by text, an index with a name among them."""
    if not len(frame):
        raise DataError(f"{path}: expected rows of data, got none")
    frame = frame.reset_index(drop=all(name is None for name in frame.index.names))
    frame.attrs = {}  # which a file may have; here they are levels
    return frame.set_axis([str(name) for name in frame.columns], axis="columns")


def check_pyarrow(path: Path) -> None:
    """Raise DataError where the file or pyarrow is missing, of which pandas' own words are many."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise DataError(
            f"{path}: Parquet is read by pyarrow, which is not installed; `pip install pyarrow` adds it"
        ) from None
    check_regular(path)
