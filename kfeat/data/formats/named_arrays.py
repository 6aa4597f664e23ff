"""Named arrays in one file (.npz, .mat) become parts; NumPy's .npz, read without pickled objects."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cache import most_content, open_content
from kfeat.data.coding import Coding
from kfeat.data.columns import Reading, Variables, listed
from kfeat.data.dataset import Contents, Matrix, Part
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean


def read(files: Mapping[str, Path], reading: Reading) -> Contents:
    """Return the parts in a .npz file; arrays of objects, which need pickle, are refused."""
    path, names = files["train"], reading.variables or Variables()
    if len(files) > 1:
        raise DataError(f"{path}: a .npz file holds the test rows too; name their arrays in `variables`")
    return Contents(parts_of(arrays_in(path, sorted(set(names.model_dump().values()))), names, str(path)))


def blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Matrix, Any]]:
    """Yield the rows of X and, where there is one, of y; the arrays are read as a whole."""
    names = reading.variables or Variables()
    yield from slices(arrays_in(path, [names.X, names.y]), names, str(path), rows)


def arrays_in(path: Path, names: list[str]) -> dict[str, Any]:
    """Return the arrays of these names, and None for each other array of the file."""
    with open_content(path) as content:
        stored = io.BytesIO(content.read())
    if not zipfile.is_zipfile(stored):
        raise DataError(f"{path}: expected a .npz file, which is a zip archive of arrays")
    stored.seek(0)
    with np.load(stored, allow_pickle=False) as archive:
        check_sizes(archive.zip, most_content(path), path)
        return {name: read_array(archive, name, path) if name in names else None for name in archive.files}


def check_sizes(archive: zipfile.ZipFile, limit: int, path: Path) -> None:
    """Raise DataError when the arrays would take more bytes than a packed file of this size may hold."""
    size = sum(member.file_size for member in archive.infolist())
    if size > limit:
        raise DataError(f"{path}: expected {limit:,} bytes of arrays at most, got {size:,}")


def read_array(archive: "np.lib.npyio.NpzFile", name: str, path: Path) -> np.ndarray:
    """Return one array; raises DataError for one that needs pickle."""
    try:
        return np.asarray(archive[name])
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise DataError(
                f"{path}: {name} is an array of objects, which needs pickle; save numbers"
            ) from None
        raise


def parts_of(arrays: Mapping[str, Any], names: Variables, file: str) -> dict[str, Part]:
    """Return the parts made of the named arrays; those of the test part may both be missing."""
    parts = {"train": part_of(arrays, names.X, names.y, file)}
    if {names.X_test, names.y_test} & set(arrays):
        parts["test"] = part_of(arrays, names.X_test, names.y_test, file)
    return parts


def part_of(arrays: Mapping[str, Any], X_name: str, y_name: str, file: str) -> Part:
    """Return one part; raises DataError when an array is missing, or not real numbers of the right shape."""
    from scipy.sparse import issparse

    X, y = (array_called(name, arrays, file) for name in (X_name, y_name))
    y = np.asarray(y.toarray() if issparse(y) else y).squeeze()
    y = y[None] if y.ndim == 0 else y
    if X.ndim != 2 or y.ndim != 1:
        raise DataError(
            f"{file}: expected {X_name} of two axes and {y_name} of one, got {X.shape}, {y.shape}"
        )
    return Part(checked(X, X_name, file), checked(y, y_name, file))


def slices(arrays: Mapping[str, Any], names: Variables, file: str, rows: int) -> Iterator[tuple[Matrix, Any]]:
    """Yield the rows of X and y, where y may be missing, `rows` at a time."""
    if names.y in arrays:
        part = part_of(arrays, names.X, names.y, file)
        if len(part.y) != part.X.shape[0]:
            raise DataError(f"{file}: expected a label for each of {part.X.shape[0]} rows, got {len(part.y)}")
        X, y = part.X, part.y
    else:
        X, y = checked(array_called(names.X, arrays, file), names.X, file), None
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


def checked(array: Any, name: str, file: str) -> Any:
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
