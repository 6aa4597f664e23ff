"""NumPy's .npy format in streams: hashed on the way, and every size known before it is allocated."""

import hashlib
from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kfeat.errors import ModelError
from kfeat.models.encoding import ARRAY_KINDS


class _Hashed:
    """A stream whose bytes are hashed and counted as they pass."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.sha256, self.n_bytes = stream, hashlib.sha256(), 0

    def write(self, content: bytes) -> int:
        self.sha256.update(content)
        return self.stream.write(content)

    def read(self, size: int) -> bytes:
        content = self.stream.read(size)
        self.sha256.update(content)
        self.n_bytes += len(content)
        return content


def write_npy(stream: IO[bytes], array: NDArray[Any]) -> str:
    """Write an array and return the SHA-256 of its bytes, the header's among them."""
    out: Any = _Hashed(stream)
    npy.write_array(out, array, version=(1, 0), allow_pickle=False)
    return str(out.sha256.hexdigest())


def read_npy(stream: IO[bytes], size: int) -> tuple[NDArray[Any], str]:
    """Return the array in a stream of `size` bytes, in its own order of memory, and their SHA-256.

    Raises ModelError where the header does not tell of as many bytes as there are, or of another kind of
    numbers, and NumPy's ValueError where it is none.
    """
    source: Any = _Hashed(stream)
    if npy.read_magic(source) != (1, 0):
        raise ModelError("it has an array in a version of .npy that kfeat does not write")
    shape, fortran, dtype = npy.read_array_header_1_0(source)
    if dtype.kind not in ARRAY_KINDS or source.n_bytes + prod(shape) * dtype.itemsize != size:
        raise ModelError(f"it has an array of {dtype} {shape} where {size:,} bytes are kept")
    array = np.empty(shape[::-1] if fortran else shape, dtype)
    if array.nbytes:
        left = array.reshape(-1).view(np.uint8).data
        while left and (n := stream.readinto(left)):  # type: ignore[attr-defined]
            source.sha256.update(left[:n])
            left = left[n:]
        if left:
            raise ModelError("it is cut short within an array")
    return (array.T if fortran else array), source.sha256.hexdigest()
