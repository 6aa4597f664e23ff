"""Tables of named columns (csv, tsv, arff, parquet) become a matrix, labels, and the coding of both."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kfeat.data.cells import are_durations
from kfeat.data.coders import kind_of, label_words, learn_coding
from kfeat.data.coding import Coding
from kfeat.data.content import naming
from kfeat.data.dataset import Contents
from kfeat.data.formats import cut
from kfeat.data.formats.arff import read_arff
from kfeat.data.formats.columns import column_called, numbers_by, roles, used_rows, with_labels
from kfeat.data.formats.declared import as_set
from kfeat.data.formats.delimited import delimited_blocks, read_delimited
from kfeat.data.formats.parquet import parquet_blocks, read_parquet
from kfeat.data.matrix import Part
from kfeat.data.reading import Reading, format_of
from kfeat.errors import DataError


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts of tables, whose labels are the target column or in files of their own.

    The coding is learnt from the training rows; test rows are read like any later rows.
    """
    path = files["train"]
    with naming(path):
        frame = read_frame(path, reading)
        target, dropped = roles(list(frame.columns), reading)
        reading = reading.model_copy(
            update={"levels": frame.attrs.get("levels", {}) | (reading.levels or {})}
        )
        rows = {"train": with_labels(frame, target, files.get("train_labels"))}
        if reading.n_train is not None:
            for name in rows["train"][0].columns.drop(dropped):
                kind_of(frame[name], reading)  # raises where test rows have words among numbers
            X, y = (cut({"train": side}, reading.n_train, path) for side in rows["train"])
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
    return Contents(parts, coding, "regression" if are_durations(used["train"][1]) else None)


def column_by(
    path: Path, labels: Path | None, reading: Reading, column: int | str, kind: str
) -> NDArray[Any]:
    """Return the group's number, the time or the weight of each used row, by a column that may be dropped."""
    frame = read_frame(path, reading)
    target, dropped = roles(list(frame.columns), reading)
    used, _ = used_rows(*with_labels(frame, target, labels), reading, dropped)
    if (name := column_called(column, list(frame.columns), kind)) == target:
        raise DataError(f"{kind}: expected another column than the target {target}")
    return numbers_by(used[name], kind)


def read_frame(path: Path, reading: Reading, coding: Coding | None = None) -> Any:
    """Return the data frame in one file, missing cells as pandas has them.

    `attrs` may have the `levels` that the file declares, and `remarks`: how columns were read.

    With a coding, its columns of words are read as text, even if they look like numbers.
    """
    read_one = {"arff": read_arff, "parquet": read_parquet}.get(format_of(path, reading))
    return (
        read_delimited(path, reading, coding) if read_one is None else as_set(read_one(path), reading, coding)
    )


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Any, None]]:
    """Yield one file as data frames of at most `rows` rows; an ARFF file is read as a whole."""
    kind = format_of(path, reading)
    frames: Iterator[Any]
    if kind == "arff":
        frame = as_set(read_arff(path), reading, coding)
        frames = (frame.iloc[start : start + rows] for start in range(0, len(frame), rows))
    elif kind == "parquet":
        frames = (as_set(frame, reading, coding) for frame in parquet_blocks(path, rows))
    else:
        frames = delimited_blocks(path, reading, coding, rows)
    yield from ((frame, None) for frame in frames)
