"""MATLAB files up to version 7: named matrices, dense or sparse."""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.content import open_content
from kfeat.data.formats.arrays_by_name import parts_of
from kfeat.data.models import Part
from kfeat.data.reading import Reading, Variables
from kfeat.errors import DataError

# Not `-m`: the child finds kfeat where this process found it, however it was put on the path.
CHILD = (
    "import json, sys; request = json.loads(sys.argv[1]); sys.path[:] = request.pop('sys.path');"
    "from kfeat.data.formats.mat_child import main; main(**request)"
)


def read(files: Mapping[str, Path], reading: Reading) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Return the parts in a .mat file; cells, structs and objects are refused before anything is decoded."""
    path, names = files["train"], reading.variables or Variables()
    if len(files) > 1:
        raise DataError(f"{path}: a .mat file holds the test rows too; name their arrays in `variables`")
    with open_content(path) as content:
        stored = content.read()
    wanted = sorted(set(names.model_dump().values()))
    return parts_of(arrays_in(stored, wanted, bool(reading.samples_in_columns), path), names, str(path)), ()


def arrays_in(stored: bytes, names: list[str], transposed: bool, path: Path) -> dict[str, Any]:
    """Return the named arrays, decoded by a child process: SciPy's reader crashes on some damaged files."""
    request = {"names": names, "transposed": transposed, "sys.path": sys.path}
    command = [sys.executable, "-c", CHILD, json.dumps(request)]
    child = subprocess.run(command, input=stored, capture_output=True, check=False)
    if child.returncode < 0:
        raise DataError(
            f"{path}: cannot be read as mat (SciPy's reader ended with signal {-child.returncode}); "
            "its bytes are damaged, get the file anew"
        )
    if child.returncode > 0:
        message = child.stderr.decode(errors="backslashreplace").strip() or "the reader gave no reason"
        raise DataError(f"{path}: {message.splitlines()[-1]}")
    with np.load(io.BytesIO(child.stdout), allow_pickle=False) as packed:
        return unpacked(packed, names)


def unpacked(packed: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the arrays by name, as the child packed them: by their place among the names."""
    from scipy.sparse import csr_array

    arrays: dict[str, Any] = {}
    for place, name in enumerate(names):
        if f"{place}" in packed:
            arrays[name] = packed[f"{place}"]
        elif f"{place}.shape" in packed:
            data, indices, indptr, shape = (
                packed[f"{place}.{kind}"] for kind in ("data", "indices", "indptr", "shape")
            )
            arrays[name] = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    return arrays
