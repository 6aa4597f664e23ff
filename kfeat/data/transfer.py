"""Bytes on their way into a file: from a URL, with new attempts, or from an archive."""

import logging
import re
import tarfile
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import IO, Any

from kfeat.errors import DownloadError
from kfeat.text import printable

logger = logging.getLogger("kfeat")

ATTEMPTS = 4
BACK_OFF_S = 0.5  # doubled after each attempt
TIMEOUT_S = (10, 60)  # to connect, and between bytes
CHUNK = 1 << 16  # bytes
STALL_S = 90  # for a chunk, which bounds the time of a file by its size: 730 bytes a second


def save(chunks: Iterable[bytes], target: Path, limit: int) -> None:
    """Write chunks to a file; raises DownloadError if they have more than `limit` bytes."""
    with target.open("wb") as file:
        for chunk in chunks:
            if file.tell() + len(chunk) > limit:
                raise DownloadError(f"expected {limit:,} bytes at most, got more")
            file.write(chunk)


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    """Return the content of an open file in chunks."""
    return iter(partial(file.read, CHUNK), b"")


def download(url: str, path: Path, limit: int, progress: Any) -> None:
    """Download `limit` bytes of one URL at most, trying again on 5xx, time-outs and cut connections.

    Raises DownloadError for anything else that a server or a URL can have wrong.
    """
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    for attempt in range(1, ATTEMPTS + 1):
        try:
            save(in_time(received(url, progress)), path, limit)
            return
        except (RequestException, HTTPError, ValueError) as error:  # ValueError: not a URL
            why, may_pass = diagnosed(error)
        if not may_pass or attempt == ATTEMPTS:
            raise DownloadError(why)
        logger.info("%s: %s, trying again", shown(url), why)
        time.sleep(BACK_OFF_S * 2 ** (attempt - 1))


def in_time(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield chunks made by a thread; raises requests.Timeout if one takes more than STALL_S.

    requests itself waits for ever for a server that sends a byte now and then, or `100 Continue` again and
    again. The thread that waits for it ends with the process.
    """
    from requests import Timeout

    made: Queue[bytes | Exception | None] = Queue(1)

    def work() -> None:
        with suppress(Full):  # nobody takes them any more
            try:
                for chunk in chunks:
                    made.put(chunk, timeout=STALL_S)
                made.put(None, timeout=STALL_S)
            except Full:
                raise
            except Exception as error:
                made.put(error, timeout=STALL_S)

    Thread(target=work, daemon=True, name="download").start()
    while True:
        try:
            chunk = made.get(timeout=STALL_S)
        except Empty:
            raise Timeout from None
        if isinstance(chunk, Exception):
            try:
                raise chunk
            finally:
                del chunk  # its traceback has this frame: a circle would keep the connection open
        if chunk is None:
            return
        yield chunk


def received(url: str, progress: Any) -> Iterator[bytes]:
    """Yield the content of a URL in chunks, with a bar in `progress`, a `rich.progress.Progress` or None."""
    import requests

    with requests.get(url, stream=True, timeout=TIMEOUT_S) as response:
        response.raise_for_status()
        if progress is None:
            yield from response.iter_content(CHUNK)
            return
        length = response.headers.get("Content-Length", "")
        task = progress.add_task(url.rsplit("/", 1)[-1], total=int(length) if length.isdecimal() else None)
        try:
            for chunk in response.iter_content(CHUNK):
                yield chunk
                progress.advance(task, len(chunk))
        finally:
            progress.remove_task(task)


def diagnosed(error: Exception) -> tuple[str, bool]:
    """Return what went wrong with a request, and whether the same request may succeed soon.

    The words leave out the URL, which may hold a password.
    """
    import requests
    from urllib3.exceptions import ProtocolError, TimeoutError

    if isinstance(error, requests.HTTPError):
        status = error.response.status_code
        return f"HTTP status {status}", status == 429 or status >= 500
    # requests reports cut and stalled connections as no connection, with the cause as the first argument.
    errors = error, error.args[0] if error.args else None
    if any(isinstance(one, requests.Timeout | TimeoutError) for one in errors):
        return "timed out", True
    if any(isinstance(one, requests.exceptions.ChunkedEncodingError | ProtocolError) for one in errors):
        return "the connection was cut", True
    if isinstance(error, requests.ConnectionError):
        return "no connection", False
    return f"not a URL or an answer that can be used ({type(error).__name__})", False


def extract_member(archive: Path, member: str, target: Path, limit: int) -> None:
    """Write the file `member` of a .tar, .tgz or .zip archive, of `limit` bytes at most, to `target`.

    It may lie in a folder of the archive. Raises DownloadError for something that is not an archive, and for
    an archive without that file.
    """
    try:
        if zipfile.is_zipfile(archive):
            with (
                zipfile.ZipFile(archive) as pack,
                pack.open(only_path(member, pack.namelist())) as file,
            ):
                save(chunks_of(file), target, limit)
            return
        with tarfile.open(archive) as tar:
            files = [item.name for item in tar if item.isfile()]
            content = tar.extractfile(only_path(member, files))
            assert content is not None  # it is a file
            save(chunks_of(content), target, limit)
    except DownloadError:
        raise
    # What the archive modules raise on damaged bytes is open-ended.
    except Exception as error:
        raise DownloadError(
            f"expected an archive with {member}, got one not readable ({printable(error)})"
        ) from None


def only_path(member: str, names: Sequence[str]) -> str:
    """Return the archive's path of `member`; raises DownloadError unless there is one."""
    found = [name for name in names if name == member or name.endswith("/" + member)]
    if len(found) != 1:
        raise DownloadError(f"expected one file {member} in the archive, got {len(found)}")
    return found[0]


def is_url(origin: str) -> bool:
    """Return whether a file comes over the network rather than from a folder."""
    return origin.lower().startswith(("http://", "https://"))


def shown(origin: str) -> str:
    """Return an origin as it may be printed: a URL without the name and password in it."""
    return re.sub(r"://.*@", "://***@", origin, flags=re.DOTALL)
