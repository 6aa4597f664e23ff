"""Files that are whole, or as they were before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from kfeat.errors import ModelError


@contextmanager
def new_file(path: Path, what: str) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place when the block ends well, and vanishes otherwise.

    Raises ModelError, which names `what` was to be written, where the system refuses.
    """
    place = Path(os.path.realpath(path))
    beside = _beside(path, place, what)
    try:
        try:
            with beside.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, place)
        finally:
            with suppress(OSError):
                beside.unlink()
    except OSError as error:
        raise _refused(path, what, error) from None


def check_place(path: Path, what: str) -> None:
    """Raise ModelError where `new_file` would: before hours of work, not after them."""
    place = Path(os.path.realpath(path))
    beside = _beside(path, place, what)
    try:
        beside.open("xb").close()
        beside.unlink()
    except OSError as error:
        raise _refused(path, what, error) from None


def _beside(path: Path, place: Path, what: str) -> Path:
    if place.exists() and not place.is_file():
        raise ModelError(f"{path}: expected the name of a file for {what}, got a folder or a device")
    return place.with_name(f".{place.name[:100]}.{token_hex(6)}.part")


def _refused(path: Path, what: str, error: OSError) -> ModelError:
    return ModelError(
        f"{path}: {what} cannot be written ({error.strerror or error}); make room, or choose another folder"
    )
