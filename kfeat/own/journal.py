"""The record of a search, a JSON object per line, from which the next call continues."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from kfeat.errors import StoreError

FILE = "candidates.jsonl"
Row = dict[str, Any]


class Journal:
    """The rows of one search by key, kept in a file of a folder; without a folder only in memory.

    Incomplete lines and rows with another `identity` (other data, protocol or seed) are ignored.
    """

    def __init__(self, folder: Path | None, identity: str = "") -> None:
        self._path, self._identity = folder and folder / FILE, identity
        self.rows: dict[str, Row] = {}
        lines = self._path.read_bytes().splitlines() if self._path and self._path.exists() else []
        for line in lines:
            with suppress(ValueError, TypeError, KeyError):  # a line of something else
                row = json.loads(line)
                if row["search"] == self._identity:
                    self.rows[row["key"]] = row

    def append(self, key: str, row: Row) -> Row:
        """Keep a row under a key, in memory and on disk, and return it; raises StoreError."""
        self.rows[key] = row = {"search": self._identity, "key": key, **row}
        if self._path is None:
            return row
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:  # the first sign ends an incomplete line
                file.write(b"\n" + json.dumps(row, allow_nan=False).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written ({error.strerror})") from None
        return row
