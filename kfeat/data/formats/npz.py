"""NumPy's .npz: named arrays in a zip file, without pickled objects."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kfeat.data.content import most_content, open_content
from kfeat.data.formats.arrays_by_name import parts_of
from kfeat.data.models import Part
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
