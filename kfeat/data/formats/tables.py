"""Tables of named columns, numbers or words, become a matrix and labels."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.dataset import Matrix, Part
from kfeat.data.reading import Reading
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean

Frames = Mapping[str, Any]  # pandas data frames by part


def coded(frames: Frames, reading: Reading, file: str) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Return the parts of tables whose target is one of the columns, and the words behind label codes."""
    columns = list(frames["train"].columns)
    for frame in frames.values():
        if list(frame.columns) != columns:
            raise DataError(f"{file}: expected the test file to have the same columns as the training file")
    target = target_column(columns, reading, file)
    y, label_names = coded_labels(
        {part: frame[target] for part, frame in frames.items()}, reading, target, file
    )
    X = coded_features(frames, [column for column in columns if column != target], reading, file)
    return {part: Part(X[part], y[part]) for part in frames}, label_names


def target_column(columns: list[str], reading: Reading, file: str) -> str:
    """Return the name of the target column; raises DataError when it is not given or does not exist."""
    target = reading.target
    if target is None:
        raise DataError(f"{file}: expected `target`, the column with the labels; it has {listed(columns)}")
    if isinstance(target, int):
        if not -len(columns) <= target < len(columns):
            raise DataError(f"{file}: expected a target below {len(columns)}, its columns, got {target}")
        return columns[target]
    if target not in columns:
        near = did_you_mean(target, columns)
        raise DataError(f"{file}: no column '{target}'{near}; it has {listed(columns)}")
    return target


def listed(columns: list[str]) -> str:
    """Return the names of columns for a message, cut to a dozen."""
    more = f" and {len(columns) - 12} more" if len(columns) > 12 else ""
    return "the columns " + ", ".join(columns[:12]) + more


def coded_labels(
    labels: Mapping[str, Any], reading: Reading, name: str, file: str
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return labels as numbers: as they are, or words as codes 0, 1, ... beside the words."""
    if not holds_words(labels.values(), reading, name):
        return {part: np.asarray(values, np.float64) for part, values in labels.items()}, ()
    levels = levels_of(labels, reading, name)
    return {part: codes_of(values, levels, name, file) for part, values in labels.items()}, tuple(levels)


def coded_features(frames: Frames, names: list[str], reading: Reading, file: str) -> dict[str, Matrix]:
    """Return the matrix of each part; columns of words become one ordinal or several 0/1 columns."""
    words = [name for name in names if holds_words([frame[name] for frame in frames.values()], reading, name)]
    if not words:
        return {part: frame[names].to_numpy(np.float64) for part, frame in frames.items()}
    if reading.categorical is None:
        example = next(value for value in frames["train"][words[0]] if not is_number(value))
        raise DataError(
            f"{file}, column {words[0]}: expected numbers, got '{example}'; "
            "set `categorical` to ordinal or one_hot if it holds words"
        )
    blocks: dict[str, list[Matrix]] = {part: [] for part in frames}
    for name in names:
        values = {part: frame[name] for part, frame in frames.items()}
        levels = levels_of(values, reading, name) if name in words else []
        for part, column in values.items():
            blocks[part].append(column_block(column, levels, name, reading, file))
    return {part: joined(block) for part, block in blocks.items()}


def column_block(column: Any, levels: list[str], name: str, reading: Reading, file: str) -> Matrix:
    """Return one column of a table as the columns of a matrix, sparse for 0/1 columns."""
    from scipy.sparse import csc_array

    if not levels:
        return np.asarray(column, np.float64)[:, None]
    codes = codes_of(column, levels, name, file)
    if reading.categorical == "ordinal":
        return codes.astype(np.float64)[:, None]
    n = len(codes)
    return csc_array((np.ones(n), (np.arange(n), codes)), shape=(n, len(levels)))


def joined(blocks: list[Matrix]) -> Matrix:
    """Return the blocks side by side: dense if all are, CSR otherwise."""
    from scipy.sparse import csr_array, hstack

    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.hstack(blocks)
    return csr_array(hstack(blocks, format="csr"))


def levels_of(columns: Mapping[str, Any], reading: Reading, name: str) -> list[str]:
    """Return the words of a column in the order given, or sorted."""
    if reading.levels and name in reading.levels:
        return reading.levels[name]
    return sorted({str(value) for values in columns.values() for value in values})


def codes_of(values: Any, levels: list[str], name: str, file: str) -> NDArray[np.int64]:
    """Return the position of each word among the levels; raises DataError for one that is not there."""
    position = {level: code for code, level in enumerate(levels)}
    words = [str(value) for value in values]
    codes = np.array([position.get(word, -1) for word in words], np.int64)
    if (codes < 0).any():
        row = int(np.argmin(codes))
        allowed = ", ".join(levels)
        raise DataError(
            f"{file}, row {row + 1}, column {name}: expected one of {allowed}, got '{words[row]}'"
        )
    return codes


def holds_words(columns: Iterable[Any], reading: Reading, name: str) -> bool:
    """Return whether a column holds words in any part, or is declared to by its levels."""
    declared = reading.levels is not None and name in reading.levels
    return declared or any(np.asarray(values).dtype.kind not in "biuf" for values in columns)


def is_number(value: Any) -> bool:
    """Return whether one value of a column is, or spells, a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
