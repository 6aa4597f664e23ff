"""Rows on disk: one JSON object per line of trials.jsonl, appended and never rewritten."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from kfeat.errors import StoreError

SCHEMA = 1
ROWS = "trials.jsonl"

Row = dict[str, Any]


def read_rows(folder: Path) -> dict[str, Row]:
    """Return the rows below `folder` by id, the latest of each; an unfinished last line does not count.

    Raises StoreError if a line cannot be read or was written by an incompatible version.
    """
    path = folder / ROWS
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from None
    rows: dict[str, Row] = {}
    for number, line in enumerate(lines[:-1], start=1):
        row = _parse(line, path, number)
        rows[row["id"]] = row
    return rows


def gathered_rows(root: Path, names: Iterable[str]) -> dict[str, Row]:
    """Return the rows below several experiments' folders by id; of two, one that is done, then one timed.

    Where both are worth the same, the folder named first counts.
    """
    rows: dict[str, Row] = {}
    for name in names:
        for key, row in read_rows(root / name).items():
            if key not in rows or _worth(row) > _worth(rows[key]):
                rows[key] = row
    return rows


def _worth(row: Row) -> tuple[int, bool, float]:
    """Return what tells the better of two rows: how it ended, if it was timed, how long it could take."""
    ended = ("failed", "stopped", "done").index(row["status"])
    return ended, bool(row.get("timed")), row.get("limit_s", 0.0)


def _parse(line: bytes, path: Path, number: int) -> Row:
    try:
        row = json.loads(line)
        schema, _ = row["schema"], row["id"]
    except (ValueError, TypeError, KeyError):
        raise StoreError(
            f"{path}, line {number}: not a row of kfeat; mend or remove the line, or move the file away"
        ) from None
    if schema != SCHEMA:
        raise StoreError(
            f"{path}, line {number}: rows of schema {schema}, written by an incompatible version of kfeat "
            f"(this one reads schema {SCHEMA}); move the file away, or run with --out elsewhere"
        )
    return row


class Store:
    """The rows of one experiment's folder, opened for writing by one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / ROWS

    def __enter__(self) -> "Store":
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self.folder / ".lock", timeout=0)
            self._lock.acquire()
        except Timeout:
            raise StoreError(f"{self.folder}: another kfeat is running this experiment") from None
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror})") from None
        self._cut_unfinished_line()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def append(self, row: Row) -> None:
        """Write one row and bring it to the disk before returning."""
        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            with self.path.open("ab", buffering=0) as file:
                file.write(line)
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written ({error.strerror})") from None

    def _cut_unfinished_line(self) -> None:
        """Remove the part of a row that a killed process left behind."""
        if not self.path.exists():
            return
        text = self.path.read_bytes()
        if not text.endswith(b"\n"):
            with self.path.open("r+b") as file:
                file.truncate(text.rfind(b"\n") + 1)


def write_rows(folder: Path, rows: Iterable[Row]) -> None:
    """Write `rows` as the whole content of `folder`'s file, in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{ROWS}.partial"
    partial.write_text("".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))
    partial.replace(folder / ROWS)
