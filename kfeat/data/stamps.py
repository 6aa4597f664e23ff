"""The hash of a file's content, recorded beside the file, and what tells that a file has changed."""

import json
import logging
from pathlib import Path

from kfeat.data.content import hashed_content

logger = logging.getLogger("kfeat")


def file_state(path: Path) -> list[int]:
    """Return [size, modification time in ns], which change when a file does."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def recorded_sha256(path: Path) -> str | None:
    """Return the content hash recorded beside a file; None where there is none, or the file changed since."""
    try:
        known = json.loads(stamp_path(path).read_text())
        return str(known["sha256"]) if known["state"] == stamp_state(path) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        logger.debug("%s: no content hash is recorded", path)
        return None


def content_sha256(path: Path, limit: int | None = None) -> str:
    """Return the SHA-256 of a file's content, recorded beside it or, where the file changed, computed."""
    known = recorded_sha256(path)
    if known is not None:
        return known
    state = stamp_state(path)  # before, so that a file which is replaced meanwhile is hashed again
    sha256 = hashed_content(path, limit)
    write_stamp(path, sha256, state)
    return sha256


def write_stamp(path: Path, sha256: str, state: list[int]) -> None:
    """Record the content hash of a file in this state beside it, valid until the file is written to.

    A cache that cannot be written still serves: the file is hashed again each time.
    """
    try:
        stamp_path(path).write_text(json.dumps({"state": state, "sha256": sha256}))
    except OSError as error:
        logger.debug("%s: its content hash cannot be recorded (%s)", path, error)


def stamp_path(path: Path) -> Path:
    """Return where the content hash of a file is recorded."""
    return path.with_name(path.name + ".sha256.json")


def stamp_state(path: Path) -> list[int]:
    """Return a file's state and the time of its last change, which cannot be set back."""
    return [*file_state(path), path.stat().st_ctime_ns]
