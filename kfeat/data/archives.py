"""Taking one file out of a .tar, .tgz or .zip archive, without ever writing where the archive says."""

import shutil
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from kfeat.errors import DownloadError


def extract_member(archive: Path, member: str, target: Path) -> None:
    """Write the archive's regular file `member` to `target`.

    Raises DownloadError for something that is not an archive, an archive without that file, and one with a
    member whose path leads outside of it (nothing of such an archive is used).
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as pack:
                copy(pack.open(choose(member, pack.namelist())), target)
        else:
            with tarfile.open(archive) as tar:
                names = [item.name for item in tar.getmembers()]
                stream = tar.extractfile(choose(member, names))
                if stream is None:
                    raise DownloadError(
                        f"expected {member} to be a file of the archive, got a folder or link"
                    )
                copy(stream, target)
    except DownloadError:
        raise
    # What the archive modules raise on damaged bytes is open-ended.
    except Exception as error:
        raise DownloadError(f"expected an archive with {member}, got one not readable ({error})") from None


def choose(member: str, names: list[str]) -> str:
    """Return the archive's name of `member`, which may lie in a folder of the archive."""
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
            raise DownloadError(f"the archive has a member whose path leads outside of it ({name})")
    found = [name for name in names if name == member or name.endswith("/" + member)]
    if len(found) != 1:
        raise DownloadError(f"expected one file {member} in the archive, got {len(found)}")
    return found[0]


def copy(stream: IO[bytes], target: Path) -> None:
    """Write a stream's bytes to a file."""
    with stream, target.open("wb") as file:
        shutil.copyfileobj(stream, file)
