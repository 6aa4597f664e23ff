"""A lock on an experiment's folder: one process writes at a time, and others say so and wait."""

import logging
import os
import socket
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from kfeat.saying import plain

LOCK, HOLDER = ".lock", ".lock.holder"
SECONDS_BETWEEN_MESSAGES = 600.0  # seconds after which a waiting process repeats its message

log = logging.getLogger(__name__)


class FolderLock:
    """The lock on a folder; while it is held, a second file says which process holds it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / LOCK)

    def acquire(self, waits: bool = True) -> bool:
        """Take the lock, and return whether that succeeded.

        If another process has it and `waits` is true, say so on stderr and wait; Ctrl-C ends the waiting.
        """
        patience = 0.0
        while True:
            try:
                self._lock.acquire(timeout=patience, poll_interval=0.1)
                break
            except Timeout:
                if not waits:
                    return False
                log.warning(
                    "%s: another kfeat (%s) is running this experiment; waiting until it has ended "
                    "(Ctrl-C ends the waiting)", self._folder, self._holder()
                )  # fmt: skip
                patience = SECONDS_BETWEEN_MESSAGES
        try:
            (self._folder / HOLDER).write_text(f"process {os.getpid()} on {socket.gethostname()}\n")
        except OSError:
            self._lock.release()
            raise
        return True

    def release(self) -> None:
        """Release the lock, if it is held."""
        if not self._lock.is_locked:
            return
        with suppress(OSError):  # the folder may have become read-only
            (self._folder / HOLDER).unlink()
        self._lock.release()

    def _holder(self) -> str:
        """Return the process that holds the lock, if it is known."""
        try:
            # The name of a killed process stays until the next holder overwrites it.
            text = (self._folder / HOLDER).read_text(errors="replace")
        except OSError:
            text = ""
        return plain(text.strip()[:200]) or "which process is not known"
