"""Matrices in files: NumPy's .npz, MATLAB's .mat up to version 7, and the IDX format of MNIST.

The child takes the bytes on its standard input and writes a .npz to its standard output. It reports what it
cannot read as one line on standard error, with exit status 1.
"""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kfeat.data.base import MOST_SIDE
from kfeat.data.coding import Coding, listed
from kfeat.data.content import most_content, open_content
from kfeat.data.dataset import Contents
from kfeat.data.matrix import Matrix, Part, holds_strings
from kfeat.data.reading import Reading, Variables, format_of
from kfeat.errors import DataError
from kfeat.parameters import did_you_mean
from kfeat.text import counted, printable

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


def npz_arrays(path: Path, names: list[str], reading: Reading) -> dict[str, Any]:
    """Return the arrays of these names, and None for each other array; those that need pickle are refused."""
    with open_content(path, archive=path.suffix.lower() == ".zip") as content:
        stored = io.BytesIO(content.read())
    if not zipfile.is_zipfile(stored):
        raise DataError(f"{path}: expected a .npz file, which is a zip archive of arrays")
    stored.seek(0)
    with np.load(stored, allow_pickle=False) as archive:
        check_sizes(archive.zip, most_content(path), path)
        return {name: read_member(archive, name, path) if name in names else None for name in archive.files}


def check_sizes(archive: zipfile.ZipFile, limit: int, path: Path) -> None:
    """Raise DataError when the arrays would take more bytes than a packed file of this size may hold."""
    size = sum(member.file_size for member in archive.infolist())
    if size > limit:
        raise DataError(f"{path}: expected {limit:,} bytes of arrays at most, got {size:,}")


def read_member(archive: "np.lib.npyio.NpzFile", name: str, path: Path) -> np.ndarray:
    """Return one array; raises DataError for one that needs pickle."""
    try:
        return np.asarray(archive[name])
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise DataError(
                f"{path}: {name} is an array of objects, which needs pickle; save numbers"
            ) from None
        raise


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


# The bytes of a number by MATLAB's kinds; a sparse matrix has as many numbers as it stores.
NUMERIC = {"double": 8, "single": 4, "sparse": 0, "logical": 1} | {
    f"{u}int{bits}": bits // 8 for u in ("", "u") for bits in (8, 16, 32, 64)
}
# Not `-m`: the child finds kfeat where this process found it, however it was put on the path.
CHILD = (
    "import json, sys; request = json.loads(sys.argv[1]); sys.path[:] = request.pop('sys.path');"
    "from kfeat.data.formats.matrices import decode_stdin; decode_stdin(**request)"
)


def mat_arrays(path: Path, names: list[str], reading: Reading) -> dict[str, Any]:
    """Return the named arrays, and None for each other; cells, structs and objects are not decoded."""
    with open_content(path, archive=True) as content:
        stored = content.read()
    return arrays_in(stored, names, bool(reading.samples_in_columns), path)


def arrays_in(stored: bytes, names: list[str], transposed: bool, path: Path) -> dict[str, Any]:
    """Return the named arrays, decoded by a child process: SciPy's reader crashes on some damaged files."""
    most = most_content(path)
    request = {"names": names, "transposed": transposed, "most": most, "sys.path": sys.path}
    command = [sys.executable, "-c", CHILD, json.dumps(request)]
    child = subprocess.run(command, input=stored, capture_output=True, check=False)
    if child.returncode < 0:
        raise DataError(
            f"{path}: cannot be read as mat (SciPy's reader ended with signal {-child.returncode}); "
            "its bytes are damaged, get the file again"
        )
    if child.returncode > 0:
        message = child.stderr.decode(errors="backslashreplace").strip() or "the reader gave no reason"
        raise DataError(f"{path}: {message.splitlines()[-1]}")
    with np.load(io.BytesIO(child.stdout), allow_pickle=False) as packed:
        return unpacked(packed, names)


def unpacked(packed: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the arrays by name, as the child packed them: by their index among the names."""
    from scipy.sparse import csr_array

    arrays: dict[str, Any] = dict.fromkeys(packed["others"].tolist()) if "others" in packed else {}
    for index, name in enumerate(names):
        if f"{index}" in packed:
            arrays[name] = packed[f"{index}"]
        elif f"{index}.shape" in packed:
            data, indices, indptr, shape = (
                packed[f"{index}.{kind}"] for kind in ("data", "indices", "indptr", "shape")
            )
            arrays[name] = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    return arrays


def decode_stdin(names: list[str], transposed: bool, most: int) -> None:
    """Decode standard input in the child process, and end it with the reason where that fails."""
    try:
        arrays = decoded(sys.stdin.buffer.read(), names, transposed, most)
    # SciPy's reader raises anything at all on damaged bytes.
    except Exception as error:
        reason = printable(error) or type(error).__name__
        sys.exit(reason if isinstance(error, DataError) else f"cannot be read as mat ({reason})")
    np.savez(sys.stdout.buffer, **arrays)


def decoded(stored: bytes, names: list[str], transposed: bool, most: int) -> dict[str, Any]:
    """Return the named matrices by their index among the names, sparse ones as CSR, and the other names."""
    from scipy.io import loadmat, whosmat

    file = io.BytesIO(stored)
    try:
        found = whosmat(file)
    except NotImplementedError:
        raise DataError("expected MATLAB version 7 or earlier, got 7.3; save it with -v7") from None
    everything = {name: kind for name, _, kind in found}
    kinds = {name: kind for name, kind in everything.items() if name in names}
    for name, kind in kinds.items():
        if kind not in NUMERIC:
            raise DataError(f"expected {name} to be a numeric matrix, got a {kind} array")
    size = sum(prod(shape) * NUMERIC[kind] for name, shape, kind in found if name in kinds)
    if size > most:
        raise DataError(f"expected {most:,} bytes of arrays at most, got {size:,}")
    file.seek(0)
    matrices = loadmat(file, variable_names=sorted(kinds)) if kinds else {}
    packed: dict[str, Any] = {"others": np.array(sorted(everything.keys() - kinds.keys()), dtype="U")}
    for name in kinds:
        packed |= packed_matrix(matrices[name], str(names.index(name)), transposed)
    return packed


def packed_matrix(X: Any, index: str, transposed: bool) -> dict[str, Any]:
    """Return one matrix under its index, transposed where samples are columns."""
    from scipy.sparse import csr_array, issparse

    if not issparse(X):
        return {index: X.T if transposed else X}
    if max(X.shape) > MOST_SIDE:
        raise DataError(f"expected {MOST_SIDE:,} rows and columns at most, got {X.shape}")
    # The conversion to CSR trusts the indices in the file, and crashes on wrong ones.
    X.check_format(full_check=True)
    rows = csr_array(X.T if transposed else X)
    return {
        f"{index}.data": rows.data,
        f"{index}.indices": rows.indices,
        f"{index}.indptr": rows.indptr,
        f"{index}.shape": np.array(rows.shape),
    }


TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(files: Mapping[str, Path], reading: Reading) -> Contents:
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


def idx_blocks(path: Path, reading: Reading, coding: Coding, rows: int) -> Iterator[tuple[Matrix, None]]:
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


class Format(NamedTuple):
    """What reads a format: the parts of files, and a file in blocks of rows."""

    read: Callable[..., Contents]
    blocks: Callable[..., Iterator[tuple[Matrix, Any]]]


FORMATS = {
    "npz": Format(partial(read_arrays, npz_arrays), partial(array_blocks, npz_arrays)),
    "mat": Format(partial(read_arrays, mat_arrays), partial(array_blocks, mat_arrays)),
    "idx": Format(read_idx, idx_blocks),
}
