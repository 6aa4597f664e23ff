"""The record of a search, a JSON object per line, from which the next call continues."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from kfeat.errors import StoreError
from kfeat.experiments.folder_lock import FolderLock

FILE = "candidates.jsonl"
Row = dict[str, Any]


class Journal:
    """The rows of one search, open for one process at a time; an incomplete last line is ignored.

    Rows with another `identity` (other data, protocol or seed) stay in the file and are ignored. Without a
    folder the rows are only in memory.
    """

    def __init__(self, folder: Path | None, identity: str = "") -> None:
        self._folder, self._identity = folder, identity
        self.rows: dict[str, Row] = {}

    def __enter__(self) -> "Journal":
        assert self._folder is not None
        path = self._folder / FILE
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self._folder)
            self._lock.acquire()
        except OSError as error:
            raise StoreError(f"{self._folder}: cannot be written ({error.strerror})") from None
        for line in path.read_bytes().splitlines() if path.exists() else ():
            with suppress(ValueError, TypeError, KeyError):  # a line of something else
                row = json.loads(line)
                if row["search"] == self._identity:
                    self.rows[row["key"]] = row
        return self

    def __exit__(self, *error: object) -> None:
        """Release the folder."""
        self._lock.release()

    def append(self, key: str, row: Row) -> Row:
        """Keep a row under a key, in memory and on disk, and return it."""
        self.rows[key] = row = {"search": self._identity, "key": key, **row}
        if self._folder is None:
            return row
        try:
            with (self._folder / FILE).open("ab") as file:  # the first sign ends an incomplete line
                file.write(b"\n" + json.dumps(row, allow_nan=False).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self._folder / FILE}: cannot be written ({error.strerror})") from None
        return row
