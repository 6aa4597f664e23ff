"""Parsed parts on disk: .npy arrays in one folder, which can be mapped into memory.

The notes beside the arrays hold the SHA-256 of every array, and their own. Arrays are checked against them
when they are read, once per process, so that damaged or altered bytes never reach an experiment. An array
that is rewritten together with its notes passes; `kfeat data verify` compares the numbers with the
fingerprint.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.batches import ArrayBatches
from kfeat.data.dataset import Matrix, Part
from kfeat.errors import DataError
from kfeat.files import replacing

DENSE_FROM = 0.2  # a sparse matrix with more non-zeros than this is kept dense: faster, and hardly larger
CSR_ARRAYS = ("data", "indices", "indptr")


def save_parts(folder: Path, parts: Mapping[str, Part], notes: Mapping[str, Any]) -> None:
    """Write parts and notes into `folder`, replacing it as a whole; the caller holds its lock."""
    layout = {}
    with replacing(folder, locked=True) as new:
        new.mkdir(parents=True)
        for name, part in parts.items():
            layout[name] = {"shape": list(part.X.shape), "sparse": save_matrix(new, f"{name}.X", part.X)}
            np.save(new / f"{name}.y.npy", part.y)
        hashes = {path.name: array_sha256(path, whole_state(path)) for path in sorted(new.glob("*.npy"))}
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
        found = array_sha256(path, whole_state(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if found != sha256:
        raise DataError(f"{path}: expected the array with the SHA-256 {sha256}, got {found}")


@cache
def array_sha256(path: Path, state: tuple[int, ...]) -> str:
    """Return the SHA-256 of a file, computed once per process for each state of it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def whole_state(path: Path) -> tuple[int, ...]:
    """Return what changes with any write to a file: the time of the last change cannot be set back."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def sha256_of(notes: Mapping[str, Any]) -> str:
    """Return the SHA-256 of notes, whatever the layout of their text."""
    return hashlib.sha256(json.dumps(notes, sort_keys=True).encode()).hexdigest()


def canonical(parts: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts with sparse matrices in order, or all dense where that is better."""
    from scipy.sparse import issparse

    matrices = [part.X for part in parts.values()]
    for X in filter(issparse, matrices):
        X.sum_duplicates()
        X.eliminate_zeros()
    n_values = sum(X.nnz if issparse(X) else X.size for X in matrices)
    if n_values > DENSE_FROM * sum(X.shape[0] * X.shape[1] for X in matrices):
        dense = [X.toarray() if issparse(X) else np.ascontiguousarray(X) for X in matrices]
        return {name: Part(X, part.y) for X, (name, part) in zip(dense, parts.items(), strict=True)}
    return {name: Part(with_short_indices(part.X), part.y) for name, part in parts.items()}


def with_short_indices(X: Matrix) -> Matrix:
    """Return a CSR matrix with 32-bit indices if they suffice, which make it smaller and products faster."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
    return csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
