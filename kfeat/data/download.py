"""Fetching a file into the cache: from a URL, an archive or a folder; only verified files enter it."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kfeat.data.access import Access
from kfeat.data.cache import locked
from kfeat.data.content import check_regular, hashed_content, open_content
from kfeat.data.registry import UNKNOWN, RemoteFile
from kfeat.data.stamps import content_sha256, stamp_state, write_stamp
from kfeat.data.transfer import chunks_of, download, extract_member, is_url, save, shown
from kfeat.errors import DataError, DownloadError
from kfeat.files import replacing

logger = logging.getLogger("kfeat")


def ensure_file(file: RemoteFile, access: Access) -> Path:
    """Return the path of `file` in the cache, fetched from the mirror or upstream if it is not there.

    The content is hashed before a file takes its place by an atomic rename, so a wrong file is never used
    and never replaces a good one; a lock lets several processes fetch it once. `offline` leaves only the
    cache and a mirror that is a folder. Raises DownloadError naming every origin tried, and where to put the
    file by hand.
    """
    target = access.folder / file.path
    if not is_good(target, file):
        with locked(target, DownloadError):
            if not is_good(target, file):
                fetch_into(target, file, access)
    return target


def is_good(target: Path, file: RemoteFile) -> bool:
    """Return whether the cache holds the file with the content expected of it."""
    if not os.path.isfile(target):
        return False
    try:
        found = content_sha256(target, file.limit)
    except DataError as error:
        logger.warning("%s; fetching it again", error)
        return False
    if file.sha256 not in (None, found):
        logger.warning(
            "%s: expected content SHA-256 %s, got %s; fetching it again", target, file.sha256, found
        )
        return False
    return True


def fetch_into(target: Path, file: RemoteFile, access: Access) -> None:
    """Fetch the file from the first origin that has the expected content, and rename it to `target`."""
    failures: list[str] = []
    with replacing(target, locked=True) as partial:
        for origin in origins(file, access):
            try:
                fetch_from(origin, partial, file.limit, access.progress)
                sha256 = verified_sha256(partial, file)
                break
            except DownloadError as error:
                failures.append(f"{shown(origin)}: {error}")
        else:
            tried = "; ".join(failures) or (
                "nothing may be downloaded (offline)"
                if access.offline
                else "no mirror is set and no URL is known"
            )
            raise DownloadError(
                f"{file.path} could not be fetched: {tried}. Put the file by hand at {target}, or set "
                f"KFEAT_MIRROR to a folder or URL that holds {file.path}"
            )
    write_stamp(target, sha256, stamp_state(target))
    logger.info("%s: from %s", file.path, shown(origin))
    if failures:
        logger.warning("%s: taken from %s, not from %s", file.path, shown(origin), "; ".join(failures))


def origins(file: RemoteFile, access: Access) -> Iterator[str]:
    """Yield where to look, in order: the mirror, then the upstream URLs."""
    if mirror := access.chosen_mirror:
        origin = f"{mirror.rstrip('/')}/{file.path}"
        if not (access.offline and is_url(origin)):
            yield origin
    if not access.offline:
        yield from file.urls


def fetch_from(origin: str, partial: Path, limit: int, progress: Any) -> None:
    """Copy or download the file of one origin to `partial`; a `#member` is extracted from its archive."""
    if not is_url(origin):
        copy_local(Path(origin), partial, limit)
        return
    url, _, member = origin.partition("#")
    if not member:
        download(url, partial, limit, progress)
        return
    archive = partial.with_name(partial.name + ".archive")
    try:
        download(url, archive, UNKNOWN, progress)
        extract_member(archive, member, partial, limit)
    finally:
        archive.unlink(missing_ok=True)


def copy_local(path: Path, partial: Path, limit: int) -> None:
    """Copy a mirror's file to `partial`; raises DownloadError when there is none that can be read."""
    try:
        check_regular(path)
        file = path.open("rb")
    except (DataError, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DownloadError(why.removeprefix(f"{path}: ")) from None
    with file:
        save(chunks_of(file), partial, limit)


def verified_sha256(partial: Path, file: RemoteFile) -> str:
    """Return the content hash of a fetched file; raises DownloadError for one that was not expected."""
    try:
        with open_content(partial, file.limit) as content:
            start = content.read(256).lstrip().lower()
        sha256 = hashed_content(partial, file.limit)
    except DataError as error:
        raise DownloadError(str(error).replace(str(partial), "the file")) from None
    if not start:
        raise DownloadError("the file is empty")
    is_page = start.startswith(b"<")  # of HTML or XML; no data file begins so
    if file.sha256 not in (None, sha256):
        page = "an HTML page, with " if is_page else ""
        raise DownloadError(f"expected content SHA-256 {file.sha256}, got {page}{sha256}")
    if is_page:
        raise DownloadError("expected data, got an HTML page")
    return sha256
