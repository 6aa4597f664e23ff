"""Extracting one file of a .tar, .tgz or .zip archive, never to a path that the archive chooses."""

import shutil
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from kfeat.data.files import open_content
from kfeat.errors import DownloadError
from kfeat.saying import printable


def extract_member(archive: Path, member: str, target: Path, limit: int) -> None:
    """Write the archive's regular file `member`, of `limit` bytes at most, to `target`.

    Raises DownloadError for something that is not an archive, an archive without that file, and one with a
    member whose path leads outside of it (nothing of such an archive is used).
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as pack, pack.open(choose(member, pack.namelist())) as stream:
                copy(stream, target, limit)
        else:
            extract_from_tar(archive, member, target, limit)
    except DownloadError as error:
        raise DownloadError(printable(error)) from None
    # What the archive modules raise on damaged bytes is open-ended.
    except Exception as error:
        raise DownloadError(
            f"expected an archive with {member}, got one not readable ({printable(error)})"
        ) from None


def extract_from_tar(archive: Path, member: str, target: Path, limit: int) -> None:
    """Write a file of a .tar archive, packed or not, read twice: for its names, then for the file."""
    with open_content(archive) as content, tarfile.open(fileobj=content, mode="r|") as tar:
        chosen = choose(member, [item.name for item in tar])
    with open_content(archive) as content, tarfile.open(fileobj=content, mode="r|") as tar:
        item = next(item for item in tar if item.name == chosen)
        stream = tar.extractfile(item) if item.isfile() else None
        if stream is None:
            raise DownloadError(f"expected {member} to be a file of the archive, got a folder or link")
        copy(stream, target, limit)


def choose(member: str, names: list[str]) -> str:
    """Return the archive's name of `member`, which may lie in a folder of the archive."""
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
            raise DownloadError(f"the archive has a member whose path leads outside of it ({name})")
    found = [name for name in names if name == member or name.endswith("/" + member)]
    if len(found) != 1:
        raise DownloadError(f"expected one file {member} in the archive, got {len(found)}")
    return found[0]


class Capped:
    """A file to write to, which raises DownloadError instead of growing beyond `limit` bytes."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self.file, self.limit = file, limit

    def write(self, data: bytes) -> int:
        """Write the bytes and return their number."""
        if self.file.tell() + len(data) > self.limit:
            raise DownloadError(f"expected {self.limit:,} bytes at most, got more")
        return self.file.write(data)

    def flush(self) -> None:
        """Flush the file."""
        self.file.flush()


def copy(stream: IO[bytes], target: Path, limit: int) -> None:
    """Write a stream's bytes, `limit` at most, to a file."""
    with target.open("wb") as file:
        shutil.copyfileobj(stream, Capped(file, limit))
