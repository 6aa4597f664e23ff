"""Rows on disk: the lines of trials.jsonl, each appended once and never changed.

A line that is not a row because it was cut, glued or overwritten costs itself only: readers warn and go on,
and the next writer moves it to trials.jsonl.damaged.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from kfeat.errors import StoreError
from kfeat.experiments.folder_lock import FolderLock
from kfeat.experiments.row import DamagedLineError, Row, counts_as_timed, from_line, to_line

__all__ = ["DAMAGED", "ROWS", "Row", "Store", "gathered_rows", "read_rows", "write_rows"]

ROWS = "trials.jsonl"
DAMAGED = f"{ROWS}.damaged"
ROW_START = b'{"schema": '  # how each row begins: where one was glued to the part of another, it can be told

log = logging.getLogger(__name__)


def read_rows(folder: Path) -> dict[str, Row]:
    """Return the rows below `folder` by id, the latest of each; an unfinished last line does not count.

    Damaged lines are left out with a warning. Raises StoreError if the file cannot be read, or if a line
    misses a field of a row, has one of a wrong type, or was written by an incompatible version.
    """
    rows: dict[str, Row] = {}
    damaged: list[int] = []
    for number, line in enumerate(_lines(folder / ROWS), start=1):
        garbage, row = _parse(line, folder / ROWS, number)
        if garbage:
            damaged.append(number)
        if row is not None:
            rows[row["id"]] = row
    if damaged:
        _warn(folder / ROWS, tuple(damaged))
    return rows


@cache
def _warn(path: Path, numbers: tuple[int, ...]) -> None:
    """Warn of damaged lines, once, however often they are read."""
    shown = ", ".join(map(str, numbers[:5])) + (" and others" if len(numbers) > 5 else "")
    log.warning(
        "%s: damaged lines are left out (%s); a run that writes there moves them to %s", path, shown, DAMAGED
    )


def gathered_rows(root: Path, names: Iterable[str]) -> dict[str, Row]:
    """Return the rows below several experiments' folders by id; of two, one that is done, then one timed.

    Where both are worth the same, the folder named first counts.
    """
    rows: dict[str, Row] = {}
    for name in names:
        for key, row in read_rows(root / name).items():
            if key not in rows or worth(row) > worth(rows[key]):
                rows[key] = row
    return rows


def worth(row: Row) -> tuple[int, bool, float]:
    """Return what tells the better of two rows: how it ended, if it was timed, how long it could take."""
    ended = ("failed", "stopped", "done").index(row["status"])
    return ended, counts_as_timed(row), row.get("limit_s", 0.0)


def _lines(path: Path) -> list[bytes]:
    """Return the finished lines of a file of rows; none where there is no file."""
    try:
        # A pipe or a device could be read for ever.
        if path.exists() and not path.is_file():
            raise StoreError(f"{path}: expected a file of rows; move what is there away")
        return path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from None


def _parse(line: bytes, path: Path, number: int) -> tuple[bytes, Row | None]:
    """Return what of a line is damaged, and its row; an empty line has neither."""
    if not line.strip():
        return b"", None
    try:
        return b"", _row(line, path, number)
    except DamagedLineError:
        start = line.rfind(ROW_START)
    if start > 0:
        with suppress(DamagedLineError):
            return line[:start], _row(line[start:], path, number)
    return line, None


def _row(line: bytes, path: Path, number: int) -> Row:
    try:
        return from_line(line)
    except StoreError as error:
        raise StoreError(
            f"{path}, line {number}: {error}; correct or remove the line, move the file away, "
            "or use another folder"
        ) from None


class Store:
    """The rows of one experiment's folder, opened for writing by one process at a time; others wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / ROWS

    def __enter__(self) -> "Store":
        with _written(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.folder)
            self._lock.acquire()
        try:
            self._set_damaged_lines_aside()
            with _written(self.path), self.path.open("ab"):
                pass  # that rows cannot be saved is found here, before hours of work
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def append(self, row: Row) -> None:
        """Write one row and bring it to the disk before returning; of one that does not fit nothing stays."""
        with _written(self.path), self.path.open("ab", buffering=0) as file:
            end = file.tell()
            left = memoryview(to_line(row))
            try:
                while left:  # a full disk or a limit on the file's size may take a part only
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(end)
                raise

    def append_together(self, rows: Iterable[Row]) -> None:
        """Write several rows in one step: all of them are on the disk afterwards, or none."""
        with _written(self.path):
            _replace(self.folder, [self.path.read_bytes(), *map(to_line, rows)])

    def _set_damaged_lines_aside(self) -> None:
        """Move damaged lines to a file of their own; remove the part of a row that a killed process left."""
        lines = _lines(self.path)
        parsed = [_parse(line, self.path, number) for number, line in enumerate(lines, start=1)]
        garbage = [part for part, _ in parsed if part]
        with _written(self.path):
            if garbage:
                with (self.folder / DAMAGED).open("ab") as file:
                    file.write(b"\n".join(garbage) + b"\n")
                kept = zip(lines, parsed, strict=True)
                _replace(self.folder, (line[len(part) :] + b"\n" for line, (part, row) in kept if row))
                log.warning("%s: damaged lines (%d) were moved to %s", self.path, len(garbage), DAMAGED)
            elif self.path.exists():
                os.truncate(self.path, sum(len(line) + 1 for line in lines))


def write_rows(folder: Path, rows: Iterable[Row]) -> None:
    """Write `rows` as the whole content of `folder`'s file, in one step."""
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder, map(to_line, rows))


def _replace(folder: Path, lines: Iterable[bytes]) -> None:
    partial = folder / f"{ROWS}.partial"
    with partial.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / ROWS)


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Turn what the system says against writing into a StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror})") from None
