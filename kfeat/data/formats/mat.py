"""MATLAB's .mat up to version 7, which a child process decodes.

The child takes the bytes on its standard input and writes a .npz to its standard output. It reports what it
cannot read as one line on standard error, with exit status 1.
"""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.base import MOST_SIDE
from kfeat.data.content import most_content, open_content
from kfeat.data.formats.matrices import array_blocks, read_arrays
from kfeat.data.reading import Reading
from kfeat.errors import DataError
from kfeat.text import printable

# The bytes of a number by MATLAB's kinds; a sparse matrix has as many numbers as it stores.
NUMERIC = {"double": 8, "single": 4, "sparse": 0, "logical": 1} | {
    f"{u}int{bits}": bits // 8 for u in ("", "u") for bits in (8, 16, 32, 64)
}
# Not `-m`: the child finds kfeat where this process found it, however it was put on the path.
CHILD = (
    "import json, sys; request = json.loads(sys.argv[1]); sys.path[:] = request.pop('sys.path');"
    "from kfeat.data.formats.mat import decode_stdin; decode_stdin(**request)"
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


read = partial(read_arrays, mat_arrays)
blocks = partial(array_blocks, mat_arrays)
