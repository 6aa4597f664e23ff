"""Named arrays of one file as parts: what .npz and .mat files share."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from kfeat.data.cells import listed
from kfeat.data.coding import Coding
from kfeat.data.dataset import Contents
from kfeat.data.matrix import Matrix, Part, holds_strings
from kfeat.data.reading import Reading, Variables, format_of
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean
from kfeat.text import counted

Load: TypeAlias = Callable[[Path, list[str], Reading], dict[str, Any]]  # returns the arrays of these names


def read_arrays(load: Load, files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts that are arrays of one file."""
    path, names = files["train"], reading.variables or Variables()
    if len(files) > 1:
        kind = format_of(path, reading)
        raise DataError(f"{path}: a .{kind} file holds the test rows too; name their arrays in `variables`")
    arrays = load(path, sorted(set(names.model_dump().values())), reading)
    return Contents(parts_of(arrays, names, str(path)))


def array_blocks(
    load: Load, path: Path, reading: Reading, coding: Coding, rows: int
) -> Iterator[tuple[Matrix, Any]]:
    """Yield the rows of X and, where there is one, of y; the arrays are read as a whole."""
    names = reading.variables or Variables()
    yield from slices(load(path, [names.X, names.y], reading), names, str(path), rows)


def parts_of(
    arrays: Mapping[str, Any], names: Variables, file: str, strings: bool = False
) -> dict[str, Part]:
    """Return the parts made of the named arrays; those of the test part may both be missing."""
    parts = {"train": part_of(arrays, names.X, names.y, file, strings)}
    if {names.X_test, names.y_test} & set(arrays):
        parts["test"] = part_of(arrays, names.X_test, names.y_test, file, strings)
    return parts


def part_of(arrays: Mapping[str, Any], X_name: str, y_name: str, file: str, strings: bool = False) -> Part:
    """Return one part; raises DataError when an array is missing, or not real numbers of the right shape.

    X may be a column of strings if `strings` allows it.
    """
    from scipy.sparse import issparse

    X, y = (array_called(name, arrays, file) for name in (X_name, y_name))
    y = np.asarray(y.toarray() if issparse(y) else y).squeeze()
    y = y[None] if y.ndim == 0 else y
    if X.ndim != 2 or y.ndim != 1:
        raise DataError(
            f"{file}: expected {X_name} of two axes and {y_name} of one, got {X.shape}, {y.shape}"
        )
    if not (strings and holds_strings(X)):
        X = real_array(X, X_name, file)
    return Part(X, real_array(y, y_name, file))


def slices(arrays: Mapping[str, Any], names: Variables, file: str, rows: int) -> Iterator[tuple[Matrix, Any]]:
    """Yield the rows of X and y, where y may be missing, `rows` at a time."""
    if names.y in arrays:
        part = part_of(arrays, names.X, names.y, file)
        if len(part.y) != part.X.shape[0]:
            n, labels = counted(part.X.shape[0], "rows"), counted(len(part.y), "labels")
            raise DataError(f"{file}: expected a label for each row, got {n} and {labels}")
        X, y = part.X, part.y
    else:
        X, y = real_array(array_called(names.X, arrays, file), names.X, file), None
    for start in range(0, X.shape[0], rows):
        yield X[start : start + rows], None if y is None else y[start : start + rows]


def array_called(name: str, arrays: Mapping[str, Any], file: str) -> Any:
    """Return the array of a name; raises DataError with the existing names."""
    if arrays.get(name) is None:
        names = listed(sorted(arrays)) or "no arrays"
        raise DataError(
            f"{file}: expected an array {name}, got {names}{did_you_mean(name, list(arrays))}; "
            "say in `variables` which is meant, such as `variables: {X: features, y: labels}`"
        )
    return arrays[name]


def real_array(array: Any, name: str, file: str) -> Any:
    """Return an array in this machine's form, sparse as CSR; raises DataError unless its numbers are real."""
    from scipy.sparse import csr_array, issparse

    if array.dtype.kind not in "biuf":
        raise DataError(f"{file}: expected real numbers in {name}, got {array.dtype}")
    array = native(array)
    if issparse(array):
        # SciPy's conversion to CSR trusts the indices in the file, and crashes on wrong ones.
        array.check_format(full_check=True)
        return csr_array(array)
    return array


def native(array: Any) -> Any:
    """Return an array in this machine's byte order and a precision that every solver knows."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size not in (4, 8):
        return array.astype(np.float32 if size < 4 else np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
