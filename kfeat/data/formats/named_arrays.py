"""Named arrays in one file (.npz, .mat) become parts; NumPy's .npz, read without pickled objects."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.dataset import Part
from kfeat.data.files import most_content, open_content
from kfeat.data.reading import Reading, Variables
from kfeat.errors import DataError


def read(files: Mapping[str, Path], reading: Reading) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Return the parts in a .npz file; arrays of objects, which need pickle, are refused."""
    path, names = files["train"], reading.variables or Variables()
    if len(files) > 1:
        raise DataError(f"{path}: a .npz file holds the test rows too; name their arrays in `variables`")
    with open_content(path) as content:
        stored = io.BytesIO(content.read())
    if not zipfile.is_zipfile(stored):
        raise DataError(f"{path}: expected a .npz file, which is a zip archive of arrays")
    stored.seek(0)
    with np.load(stored, allow_pickle=False) as archive:
        wanted = set(names.model_dump().values()) & set(archive.files)
        check_sizes(archive.zip, most_content(path), path)
        arrays = {name: read_array(archive, name, path) for name in sorted(wanted)}
    return parts_of(arrays, names, str(path)), ()


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
    test = {names.X_test, names.y_test} & set(arrays)
    if test:
        parts["test"] = part_of(arrays, names.X_test, names.y_test, file)
    return parts


def part_of(arrays: Mapping[str, Any], X_name: str, y_name: str, file: str) -> Part:
    """Return one part; raises DataError when an array is missing, or not real numbers of the right shape."""
    from scipy.sparse import csr_array, issparse

    for name in (X_name, y_name):
        if name not in arrays:
            found = ", ".join(sorted(arrays)) or "none of those named"
            raise DataError(f"{file}: expected an array {name}, got {found}; name it in `variables`")
    X, y = arrays[X_name], arrays[y_name]
    y = np.asarray(y.toarray() if issparse(y) else y).squeeze()
    y = y[None] if y.ndim == 0 else y
    if X.ndim != 2 or y.ndim != 1:
        raise DataError(
            f"{file}: expected {X_name} of two axes and {y_name} of one, got {X.shape}, {y.shape}"
        )
    for name, array in ((X_name, X), (y_name, y)):
        if array.dtype.kind not in "biuf":
            raise DataError(f"{file}: expected real numbers in {name}, got {array.dtype}")
    X, y = native(X), native(y)
    if issparse(X):
        # SciPy's conversion to CSR trusts the indices in the file, and crashes on wrong ones.
        X.check_format(full_check=True)
        X = csr_array(X)
    return Part(X, y)


def native(array: Any) -> Any:
    """Return an array in this machine's byte order and a precision that every solver knows."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and size not in (4, 8):
        return array.astype(np.float32 if size < 4 else np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
