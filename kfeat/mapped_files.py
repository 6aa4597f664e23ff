"""Arrays in unnamed files: temporary data that do not fit in memory."""

import errno
import mmap
import os
import shutil
import tempfile
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kfeat.errors import DataError


def unnamed_file(shape: tuple[int, ...], dtype: DTypeLike, folder: Path) -> NDArray[Any]:
    """Return an array mapped from a temporary file, which the system removes with the array or the process.

    The file has no name, and its disk space is reserved at once. Raises DataError where the disk has too
    little space.
    """
    size = max(1, prod(shape) * np.dtype(dtype).itemsize)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if size > (free := shutil.disk_usage(folder).free):  # an attempt would fill the disk before it fails
            raise OSError(errno.ENOSPC, f"{free:,} bytes are free")
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # otherwise a full disk would end the process at a later write
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        raise DataError(
            f"a file of {size:,} bytes cannot be created in {folder} ({error.strerror or error}): free some "
            "space, or set KFEAT_CACHE to a folder on another disk"
        ) from None


def release(X: Any) -> None:
    """Release the memory of an array that is mapped from a file; the file keeps what was written."""
    base = X
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode == "c":
            return  # changes to such a map are in memory only
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)
