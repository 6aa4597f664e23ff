"""NumPy's .npz, an archive of arrays."""

import io
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.content import most_content, open_content
from kfeat.data.formats.matrices import array_blocks, read_arrays
from kfeat.data.reading import Reading
from kfeat.errors import DataError


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


read = partial(read_arrays, npz_arrays)
blocks = partial(array_blocks, npz_arrays)
