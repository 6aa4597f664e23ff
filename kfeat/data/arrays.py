"""Arrays in a folder, with notes beside them.

The notes hold the SHA-256 of every array, and their own. Arrays are checked against them when they are read,
once per process, so that damaged or altered bytes never reach an experiment. An array that is rewritten
together with its notes passes; `kfeat data verify` compares the numbers with the fingerprint.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.batches import ArrayBatches
from kfeat.data.matrix import Matrix, Part
from kfeat.data.stamps import stamp_state
from kfeat.errors import DataError
from kfeat.files import replacing

CSR_ARRAYS = ("data", "indices", "indptr")


def save_parts(folder: Path, parts: Mapping[str, Part], notes: Mapping[str, Any]) -> None:
    """Write parts and notes into `folder`, replacing it as a whole; the caller holds its lock."""
    layout = {}
    with replacing(folder, locked=True) as new:
        new.mkdir(parents=True)
        for name, part in parts.items():
            layout[name] = {"shape": list(part.X.shape), "sparse": save_matrix(new, f"{name}.X", part.X)}
            np.save(new / f"{name}.y.npy", part.y)
        hashes = {path.name: array_sha256(path, *stamp_state(path)) for path in sorted(new.glob("*.npy"))}
        content = {**notes, "layout": layout, "arrays": hashes}
        text = json.dumps({**content, "sha256": sha256_of(content)}, indent=1)
        (new / "notes.json").write_text(text, encoding="utf-8")


def save_matrix(folder: Path, stem: str, X: Matrix) -> bool:
    """Write a matrix as one .npy, or as the three arrays of its CSR form; return whether it is sparse."""
    if isinstance(X, np.ndarray):
        save_array(folder / f"{stem}.npy", X)
        return False
    for array in CSR_ARRAYS:
        np.save(folder / f"{stem}.{array}.npy", getattr(X, array))
    return True


def save_array(path: Path, X: Matrix) -> None:
    """Write a dense array as .npy; a memory map is written in blocks, so that it is never all resident."""
    if not isinstance(X, np.memmap):
        np.save(path, X)
        return
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(X))
        for block in ArrayBatches(X).each(np.asarray):
            block.tofile(file)


def load_notes(folder: Path) -> dict[str, Any] | None:
    """Return the notes saved with a folder of parts, or None where there are none.

    Raises DataError when they are not the ones that were written.
    """
    path = folder / "notes.json"
    try:
        notes = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    if not isinstance(notes, dict) or notes.pop("sha256", None) != sha256_of(notes):
        raise DataError(f"{path}: expected the notes that kfeat wrote, got others or those of an older kfeat")
    return notes


def load_parts(folder: Path, notes: Mapping[str, Any]) -> dict[str, Part]:
    """Return the parts saved in `folder`, mapped into memory read-only.

    Raises DataError when an array is missing or is not the one that was written.
    """
    from scipy.sparse import csr_array

    for name, sha256 in notes["arrays"].items():
        check_array(folder / name, sha256)
    parts = {}
    for name, layout in notes["layout"].items():
        if layout["sparse"]:
            arrays = [np.load(folder / f"{name}.X.{array}.npy", mmap_mode="r") for array in CSR_ARRAYS]
            X = csr_array(tuple(arrays), shape=tuple(layout["shape"]), copy=False)
        else:
            X = np.load(folder / f"{name}.X.npy", mmap_mode="r")
        parts[name] = Part(X, np.load(folder / f"{name}.y.npy"))
    return parts


def check_array(path: Path, sha256: str) -> None:
    """Raise DataError unless a file has the hash noted for it."""
    try:
        found = array_sha256(path, *stamp_state(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if found != sha256:
        raise DataError(f"{path}: expected the array with the SHA-256 {sha256}, got {found}")


@cache
def array_sha256(path: Path, *state: int) -> str:
    """Return the SHA-256 of a file, computed once per process for each state of it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of(notes: Mapping[str, Any]) -> str:
    """Return the SHA-256 of notes, whatever the layout of their text."""
    return hashlib.sha256(json.dumps(notes, sort_keys=True).encode()).hexdigest()
