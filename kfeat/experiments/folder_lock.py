"""A lock on an experiment's folder: one process writes at a time, and others say so and wait."""

import logging
from pathlib import Path

from filelock import FileLock, Timeout

LOCK = ".lock"

log = logging.getLogger(__name__)


class FolderLock:
    """The lock on a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / LOCK)

    def acquire(self, waits: bool = True) -> bool:
        """Take the lock, and return whether that succeeded.

        If another process has it and `waits` is true, say so on stderr and wait; Ctrl-C ends the waiting.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            if not waits:
                return False
            log.warning(
                "%s: another kfeat is running this experiment; waiting until it has ended "
                "(Ctrl-C ends the waiting)", self._folder
            )  # fmt: skip
            self._lock.acquire(poll_interval=0.1)
        return True

    def release(self) -> None:
        """Release the lock, if it is held."""
        self._lock.release()
