"""One writer at a time in an experiment's folder: whoever comes second says so, and waits."""

import logging
import os
import socket
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from kfeat.saying import plain

LOCK, HOLDER = ".lock", ".lock.holder"
TOLD_AGAIN = 600.0  # seconds after which who waits says so again

log = logging.getLogger(__name__)


class FolderLock:
    """The lock on a folder; beside it, while it is held, a file says which process holds it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / LOCK)

    def acquire(self, waits: bool = True) -> bool:
        """Take the lock, and tell whether that could be done.

        Where another process has it, say so on stderr and wait, if this `waits`; Ctrl-C ends the waiting.
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
                patience = TOLD_AGAIN
        try:
            (self._folder / HOLDER).write_text(f"process {os.getpid()} on {socket.gethostname()}\n")
        except OSError:
            self._lock.release()
            raise
        return True

    def release(self) -> None:
        """Give the lock back, if it is held."""
        if not self._lock.is_locked:
            return
        with suppress(OSError):  # the folder may have become one that nobody can write to
            (self._folder / HOLDER).unlink()
        self._lock.release()

    def _holder(self) -> str:
        """Return who holds the lock, as far as that is known."""
        try:
            # A process that was killed leaves its name, which the next holder writes over.
            text = (self._folder / HOLDER).read_text(errors="replace")
        except OSError:
            text = ""
        return plain(text.strip()[:200]) or "which process is not known"
