"""The content of files, packed or not.

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
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from kfeat.errors import DataError
from kfeat.files import names_beside
from kfeat.parameters import did_you_mean

LONGEST_LINE = 100_000_000  # bytes
MOST_NAMED = 3  # files in an archive that a message names


def zipped_name(path: Path, archive: zipfile.ZipFile) -> str:
    """Return the name of the one file in a zip archive; raises DataError where there is none, or several."""
    files = [one.filename for one in archive.infolist() if not one.is_dir()]
    names = [name for name in files if not name.startswith("__MACOSX/")]  # what macOS adds
    if len(names) == 1:
        return names[0]
    if any(name.startswith(("xl/", "content.xml")) for name in names):
        raise DataError(f"{path}: spreadsheets cannot be read; save the sheet as `CSV UTF-8`")
    some = ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)
    got = f"{len(names)}: {some}" if names else "none"
    raise DataError(f"{path}: expected one file in the archive, got {got}; unpack it and give one of them")


def open_zipped(path: Path, mode: str) -> Any:
    """Open the one file in a zip archive; raises DataError where there is none, several, or a password."""
    with zipfile.ZipFile(path) as archive:
        try:
            return archive.open(zipped_name(path, archive))
        except (RuntimeError, NotImplementedError) as error:  # a password, or another kind of compression
            raise DataError(f"{path}: {error}; unpack it") from None


def open_zstd(path: Path, mode: str) -> Any:
    """Open a Zstandard file, by Python from 3.14 on, before by pyarrow; raises DataError without it."""
    try:
        zstd: Any = import_module("compression.zstd")
        return zstd.open(path, mode)
    except ImportError:
        pass
    try:
        import pyarrow as pa
    except ImportError:
        advice = "`pip install pyarrow` adds it, and `zstd -d FILE` unpacks it"
        raise DataError(f"{path}: .zst is read by pyarrow, which is not installed; {advice}") from None
    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


WRAPPERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": open_zstd,
}
ZIPPED = b"PK\x03\x04", b"PK\x05\x06"  # an archive, an empty one
CORRUPT = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
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
        raise DataError(f"{path}: no such file{did_you_mean(path.name, names_beside(path))}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise DataError(f"{path}: expected a file, got {kind}")


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Add the file's name to errors about its content."""
    try:
        yield
    except DataError as error:
        if str(error).startswith(str(path)):
            raise
        raise type(error)(f"{path}: {error}") from None


@contextmanager
def open_content(path: Path, limit: int | None = None, archive: bool = False) -> Iterator[IO[bytes]]:
    """Open a plain, gzip, bzip2, xz or zstd file for reading its content, of `limit` bytes at most.

    With `archive`, also the one file in a zip archive. Without a limit, a packed file may unpack to
    MOST_PACKED times its size. Raises DataError when the file is missing or not a file, its compressed bytes
    are cut short or corrupt, or its content is too long.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            start = file.read(64)
        if start.startswith(b"version https://git-lfs"):
            raise DataError(f"{path}: a Git LFS pointer, not the data; `git lfs pull` gets them")
        if start.lstrip().lower().startswith((b"<!doctype html", b"<html")):
            raise DataError(f"{path}: an HTML page, not data; download the file itself")
        opener = next((opener for magic, opener in WRAPPERS.items() if start.startswith(magic)), open)
        if archive and start.startswith(ZIPPED):
            opener = open_zipped
        if limit is None and opener is not open:
            limit = most_content(path)
        with opener(path, "rb") as content:
            yield content if limit is None else io.BufferedReader(_Limited(content, limit, path), 1 << 18)
    except CORRUPT as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        raise DataError(f"{path}: cut short or corrupt ({error}); get the file again") from None


@contextmanager
def open_text(path: Path) -> Iterator[IO[bytes]]:
    """Open the content of a text file; raises DataError if its first line is longer than LONGEST_LINE."""
    with open_content(path, archive=True) as content:
        if len(content.readline(LONGEST_LINE)) == LONGEST_LINE:
            raise DataError(f"{path}: expected lines of text, got one of {LONGEST_LINE:,} bytes or more")
    with open_content(path, archive=True) as content:
        yield content


def most_content(path: Path) -> int:
    """Return how many bytes a packed file may unpack to, where its content's length is not known."""
    return max(LEAST_LIMIT, MOST_PACKED * path.stat().st_size)


class _Limited(io.RawIOBase):
    """A stream that raises DataError once it has given more than `limit` bytes."""

    def __init__(self, content: Any, limit: int, path: Path) -> None:
        self.content, self.limit, self.path = content, limit, path
        self.n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = int(self.content.readinto(buffer))
        self.n_read += n
        if self.n_read > self.limit:
            raise DataError(f"{self.path}: expected {self.limit:,} bytes of content at most, got more")
        return n


def hashed_content(path: Path, limit: int | None = None) -> str:
    """Return the SHA-256 of a file's content, computed from its bytes."""
    with open_content(path, limit) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
