"""The IDX format of MNIST."""

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.data.coding import Coding
from kfeat.data.content import open_content
from kfeat.data.dataset import Contents
from kfeat.data.matrix import Matrix, Part
from kfeat.data.reading import Reading
from kfeat.errors import DataError

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return dense parts: one row of pixels per image, the labels from the file beside it."""
    parts = {}
    for role in ("train", "test"):
        if role not in files:
            continue
        if f"{role}_labels" not in files:
            raise DataError(
                f"{files[role]}: the idx format keeps labels in a file of their own; give `labels` too"
            )
        X = read_array(files[role])
        y = read_array(files[f"{role}_labels"])
        if y.ndim != 1 or X.ndim < 2:
            raise DataError(f"{files[role]}: expected an array and a label per row, got {X.shape}, {y.shape}")
        parts[role] = Part(X.reshape(len(X), prod(X.shape[1:])), y)
    return Contents(parts)


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Matrix, None]]:
    """Yield the rows of pixels, `rows` at a time; the file is read as a whole."""
    X = read_array(path)
    if X.ndim < 2:
        raise DataError(f"{path}: expected an array of two axes or more, got {X.shape}")
    for start in range(0, len(X), rows):
        yield X[start : start + rows].reshape(-1, prod(X.shape[1:])), None


def read_array(path: Path) -> NDArray[Any]:
    """Return the array of one IDX file; raises DataError when its header or length is not right."""
    with open_content(path, archive=True) as content:
        head = content.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in TYPES or not head[3]:
            raise DataError(
                f"{path}: expected an IDX header (0 0 type axes), got {head.hex(' ') or 'nothing'}"
            )
        lengths = content.read(4 * head[3])
        values = content.read()
    shape = tuple(int(n) for n in np.frombuffer(lengths[: len(lengths) // 4 * 4], ">u4"))
    dtype = np.dtype(TYPES[head[2]])
    expected = prod(shape) * dtype.itemsize
    if len(shape) != head[3] or len(values) != expected:
        raise DataError(f"{path}: expected {expected} bytes of values for shape {shape}, got {len(values)}")
    return np.frombuffer(values, dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)
