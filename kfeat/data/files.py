"""Files on this machine: their paths, and their content, the bytes without the compression wrapper.

Mirrors wrap the same content differently (gzip stores a time stamp, servers unpack on the way), so the
wrapper is recognised by its first bytes, not by the file's name, and hashes are taken of the content.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kfeat.errors import DataError

WRAPPERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
CORRUPT = (EOFError, OSError, zlib.error, lzma.LZMAError)
MOST_PACKED = 100  # times its own size that a packed file may unpack to; text packs 20 times at most
LEAST_LIMIT = 1 << 30  # bytes that any packed file may unpack to


def local_path(path: str | os.PathLike[str], hint: str = "give the path of a file") -> Path:
    """Return a path as an absolute one, `~` expanded; raises DataError when it cannot be any file's path."""
    text = os.fspath(path)
    try:
        if "\0" in text or not text.encode():
            raise ValueError("a path is not empty and has no NUL character")
        return Path(text).expanduser().absolute()
    # RuntimeError: there is no such home folder; OSError: the working directory is gone.
    except (ValueError, RuntimeError, OSError) as error:
        raise DataError(f"{text!a} cannot be used as a path ({error}); {hint}") from None


def check_regular(path: Path) -> None:
    """Raise DataError unless there is a file to read, and not a folder, a pipe or a device."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise DataError(f"{path}: expected a file, got {kind}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name to errors about its content."""
    try:
        yield
    except DataError as error:
        if str(error).startswith(str(path)):
            raise
        raise DataError(f"{path}: {error}") from None


@contextmanager
def open_content(path: Path, limit: int | None = None) -> Iterator[IO[bytes]]:
    """Open a plain, gzip, bzip2 or xz file for reading its content, of `limit` bytes at most.

    Without a limit, a packed file may unpack to MOST_PACKED times its size. Raises DataError when the file is
    missing or not a file, its compressed bytes are cut short or corrupt, or its content is too long.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            start = file.read(6)
        opener = next((opener for magic, opener in WRAPPERS.items() if start.startswith(magic)), open)
        if limit is None and opener is not open:
            limit = most_content(path)
        with opener(path, "rb") as content:
            yield content if limit is None else io.BufferedReader(Limited(content, limit, path), 1 << 18)
    except CORRUPT as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        raise DataError(f"{path}: cut short or corrupt ({error}); get the file again") from None


def most_content(path: Path) -> int:
    """Return how many bytes a packed file may unpack to, where its content's length is not known."""
    return max(LEAST_LIMIT, MOST_PACKED * path.stat().st_size)


class Limited(io.RawIOBase):
    """A stream that raises DataError once it has given more than `limit` bytes."""

    def __init__(self, content: Any, limit: int, path: Path) -> None:
        self.content, self.limit, self.path = content, limit, path
        self.n_read = 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes."""
        n = int(self.content.readinto(buffer))
        self.n_read += n
        if self.n_read > self.limit:
            raise DataError(f"{self.path}: expected {self.limit:,} bytes of content at most, got more")
        return n


def hashed_content(path: Path, limit: int | None = None) -> str:
    """Return the SHA-256 of a file's content, computed from its bytes."""
    with open_content(path, limit) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]


def file_state(path: Path) -> list[int]:
    """Return [size, modification time in ns], which change when a file does."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]
