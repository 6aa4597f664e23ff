"""Parsed parts on disk: memory-mappable .npy arrays in one folder, written whole or not at all."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.models import Matrix, Part

DENSE_FROM = 0.2  # a sparse matrix with more non-zeros than this is kept dense: faster, and hardly larger
CSR_ARRAYS = ("data", "indices", "indptr")


def save_parts(folder: Path, parts: Mapping[str, Part], notes: Mapping[str, Any]) -> None:
    """Write parts and notes into `folder`, replacing it at once; the caller holds its lock."""
    building = folder.with_name(folder.name + ".building")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    layout = {}
    for name, part in parts.items():
        layout[name] = {"shape": list(part.X.shape), "sparse": save_matrix(building, f"{name}.X", part.X)}
        np.save(building / f"{name}.y.npy", part.y)
    (building / "notes.json").write_text(json.dumps({**notes, "layout": layout}, indent=1))
    if folder.exists():
        shutil.rmtree(folder)
    building.rename(folder)


def save_matrix(folder: Path, stem: str, X: Matrix) -> bool:
    """Write a matrix as one .npy, or as the three arrays of its CSR form; return whether it is sparse."""
    if isinstance(X, np.ndarray):
        np.save(folder / f"{stem}.npy", X)
        return False
    for array in CSR_ARRAYS:
        np.save(folder / f"{stem}.{array}.npy", getattr(X, array))
    return True


def load_notes(folder: Path) -> dict[str, Any] | None:
    """Return the notes saved with a folder of parts, or None where there are none to be read."""
    try:
        notes = json.loads((folder / "notes.json").read_text())
    except (OSError, ValueError):
        return None
    return notes if isinstance(notes, dict) else None


def load_parts(folder: Path, layout: Mapping[str, Any]) -> dict[str, Part]:
    """Return the parts saved in `folder`, mapped into memory read-only.

    Raises OSError or ValueError when an array is missing or cut short.
    """
    from scipy.sparse import csr_array

    parts = {}
    for name, form in layout.items():
        if form["sparse"]:
            arrays = [np.load(folder / f"{name}.X.{array}.npy", mmap_mode="r") for array in CSR_ARRAYS]
            X = csr_array(tuple(arrays), shape=tuple(form["shape"]), copy=False)
        else:
            X = np.load(folder / f"{name}.X.npy", mmap_mode="r")
        parts[name] = Part(X, np.load(folder / f"{name}.y.npy"))
    return parts


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
    """Return a CSR matrix with 32-bit indices where they do: less to read, and faster products."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
    return csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
