"""Downloading one URL, with retries where they may help, and never more bytes than expected."""

import logging
import re
import time
from pathlib import Path
from typing import Any

from kfeat.data.archives import Capped
from kfeat.errors import DownloadError

logger = logging.getLogger("kfeat")

ATTEMPTS = 4
BACK_OFF_S = 0.5  # doubled after each attempt
TIMEOUT_S = (10, 60)  # to connect, and between bytes


def download(url: str, path: Path, limit: int, progress: Any) -> None:
    """Download `limit` bytes of one URL at most, trying again on 5xx, time-outs and cut connections.

    Raises DownloadError for anything else that a server or a URL can have wrong.
    """
    from pooch import HTTPDownloader
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    for attempt in range(1, ATTEMPTS + 1):
        bar = Bar(progress, url.rsplit("/", 1)[-1]) if progress is not None else None
        fetch = HTTPDownloader(progressbar=bar or False, chunk_size=1 << 16, timeout=TIMEOUT_S)
        try:
            with path.open("wb") as file:
                fetch(url, Capped(file, limit), None)
            return
        # ValueError: a URL, or a header such as Content-Length, that is not one
        except (RequestException, HTTPError, ValueError) as error:
            if not is_passing(error) or attempt == ATTEMPTS:
                raise DownloadError(reason(error)) from None
            logger.info("%s: %s, trying again", shown(url), reason(error))
            time.sleep(BACK_OFF_S * 2 ** (attempt - 1))
        finally:
            if bar:
                bar.close()


def is_passing(error: Exception) -> bool:
    """Return whether the same request may succeed soon: a busy or broken server, a slow or cut connection."""
    import requests
    from urllib3.exceptions import ProtocolError, TimeoutError

    if isinstance(error, requests.HTTPError):
        return error.response.status_code == 429 or error.response.status_code >= 500
    passing = (requests.Timeout, requests.exceptions.ChunkedEncodingError)
    return isinstance(error, passing) or isinstance(cause(error), ProtocolError | TimeoutError)


def cause(error: Exception) -> Any:
    """Return the error that requests wrapped: it reports cut and stalled connections as no connection."""
    return error.args[0] if error.args else None


def reason(error: Exception) -> str:
    """Return what went wrong with a request in a few words, without the URL, which may hold a password."""
    import requests
    from urllib3.exceptions import ProtocolError, TimeoutError

    if isinstance(error, requests.HTTPError):
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.Timeout) or isinstance(cause(error), TimeoutError):
        return "timed out"
    if isinstance(error, requests.exceptions.ChunkedEncodingError) or isinstance(cause(error), ProtocolError):
        return "the connection was cut"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    if isinstance(error, requests.TooManyRedirects):
        return "it redirects in circles"
    return f"not a URL or an answer that can be used ({type(error).__name__})"


def is_url(origin: str) -> bool:
    """Return whether a file comes over the network rather than from a folder."""
    return origin.lower().startswith(("http://", "https://"))


def shown(origin: str) -> str:
    """Return an origin as it may be printed: a URL without the name and password in it."""
    return re.sub(r"://.*@", "://***@", origin, flags=re.DOTALL)


class Bar:
    """One file's bar in a `rich.progress.Progress`, with pooch's protocol: total, update, reset, close."""

    def __init__(self, progress: Any, description: str) -> None:
        self.progress = progress
        self.task = progress.add_task(description, total=None)

    @property
    def total(self) -> float | None:
        """The number of bytes expected; 0 from the downloader means unknown."""
        return next(task.total for task in self.progress.tasks if task.id == self.task)

    @total.setter
    def total(self, n_bytes: int) -> None:
        self.progress.update(self.task, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """Add bytes that have arrived."""
        self.progress.advance(self.task, n_bytes)

    def reset(self) -> None:
        """Set the bar back to its start, as the downloader does before it fills it."""
        self.progress.update(self.task, completed=0)

    def close(self) -> None:
        """Take the bar away."""
        if any(task.id == self.task for task in self.progress.tasks):
            self.progress.remove_task(self.task)
