"""Files of rows: read, written by one process at a time, gathered from several folders, and merged.

A line is appended once and never changed. It may be damaged: cut, joined to another or overwritten. Readers
warn and skip it, and the next writer moves it to trials.jsonl.damaged.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kfeat.errors import StoreError
from kfeat.experiments.row import DamagedLineError, Row, from_line, precedence, to_line
from kfeat.files import Lock, append, replacing, writing
from kfeat.text import counted

ROWS = "trials.jsonl"
LOCK = ".lock"
DAMAGED = f"{ROWS}.damaged"
log = logging.getLogger(__name__)


def read_rows(folder: Path) -> dict[str, Row]:
    """Return the rows below `folder` by id, the latest of each; an incomplete row at the end is ignored.

    Damaged lines are left out with a warning. Raises StoreError if the file cannot be read, or if a line
    lacks a field of a row, has a field of a wrong type, or was written by an incompatible version.
    """
    rows: dict[str, Row] = {}
    damaged: list[int] = []
    for number, _, row in _parsed(folder / ROWS):
        if row is None:
            damaged.append(number)
        else:
            rows.pop(row["id"], None)  # the latest come last
            rows[row["id"]] = row
    if damaged:
        _warn(folder / ROWS, tuple(damaged))
    return rows


@cache
def _warn(path: Path, numbers: tuple[int, ...]) -> None:
    """Warn of damaged lines, once, even if they are read several times."""
    shown = ", ".join(map(str, numbers[:5])) + (" and others" if len(numbers) > 5 else "")
    log.warning(
        "%s: damaged lines are left out (%s); a run that writes there moves them to %s", path, shown, DAMAGED
    )


def _parsed(path: Path) -> Iterator[tuple[int, bytes, Row | None]]:
    """Yield the number of each line of a file of rows, the line, and its row: None if it is damaged.

    The last line counts only if it is a row: a killed process leaves a part of one. (An editor may have
    removed its end of line.)
    """
    try:
        # Reading a pipe or a device might never end.
        if path.exists() and not path.is_file():
            raise StoreError(f"{path}: expected a file of rows; move it to another place")
        *lines, last = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from None
    for number, line in enumerate([*lines, last], start=1):
        try:
            if line.strip():
                yield number, line, from_line(line)
        except DamagedLineError:
            if number <= len(lines):
                yield number, line, None
        except StoreError as error:
            raise StoreError(
                f"{path}, line {number}: {error}; correct or remove the line, move the file away, "
                "or use another folder"
            ) from None


def gathered_rows(root: Path, names: Iterable[str]) -> dict[str, Row]:
    """Return the rows of several experiments' folders by id; of two rows with the same id, the better one.

    A done row is better than others, then a timed row. If both are equally good, the folder named first
    counts. Its rows come last.
    """
    rows: dict[str, Row] = {}
    for name in reversed(list(names)):
        for key, row in read_rows(root / name).items():
            if key not in rows or precedence(row) >= precedence(rows[key]):
                rows.pop(key, None)
                rows[key] = row
    return rows


def folders_with_rows(root: Path) -> list[Path]:
    """Return the folder itself and the folders below it that have rows, sorted; links are followed."""
    folders, top = [], root.resolve()
    seen = {top, *top.parents}
    for folder, inner, files in os.walk(root, followlinks=True):
        # A publication that was killed leaves a hidden folder.
        inner[:] = [name for name in inner if not name.startswith(".")]
        if ROWS in files:
            folders.append(Path(folder))
        for name in [name for name in inner if Path(folder, name).is_symlink()]:
            real = Path(folder, name).resolve()
            if real in seen or real.is_relative_to(top):
                inner.remove(name)  # it is also reached without the link
            seen.add(real)
    return sorted(folders)


class Store:
    """The rows of one experiment's folder, opened for writing by one process at a time; others wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / ROWS
        self._lock = Lock(folder, folder / LOCK, "running this experiment")

    def __enter__(self) -> "Store":
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, waits: bool = True) -> bool:
        """Lock and repair the folder; return False if another process has it and `waits` is false."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._lock.acquire(waits):
                return False
        try:
            self._repair()
            with writing(self.path), self.path.open("ab"):
                pass  # fails now, before hours of work, if rows cannot be saved
        except BaseException:
            self._lock.release()
            raise
        return True

    def close(self) -> None:
        """Unlock the folder, if it is open."""
        self._lock.release()

    def append(self, row: Row) -> None:
        """Write one row and flush it to the disk; if this fails, no part of the row stays in the file."""
        append(self.path, to_line(row))

    def append_together(self, rows: Iterable[Row]) -> None:
        """Write several rows in one step: all of them are on the disk afterwards, or none."""
        with writing(self.path):
            _replace(self.folder, [self.path.read_bytes(), *map(to_line, rows)])

    def _repair(self) -> None:
        """Move damaged lines to their own file; remove what a killed process left of a row."""
        parsed = list(_parsed(self.path))
        damaged = [line for _, line, row in parsed if row is None]
        content = b"".join(line + b"\n" for _, line, row in parsed if row)
        with writing(self.path):
            if damaged:
                with (self.folder / DAMAGED).open("ab") as file:
                    file.write(b"\n".join(damaged) + b"\n")
                log.warning("%s: damaged lines (%d) were moved to %s", self.path, len(damaged), DAMAGED)
            if self.path.exists() and self.path.read_bytes() != content:
                _replace(self.folder, [content])


def write_rows(folder: Path, rows: Iterable[Row]) -> None:
    """Write `rows` as the whole content of `folder`'s file, in one step."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder, map(to_line, rows))


def _replace(folder: Path, lines: Iterable[bytes]) -> None:
    with replacing(folder / ROWS, locked=True) as new, new.open("wb") as file:
        file.writelines(lines)


@dataclass(frozen=True)
class Merged:
    """The result for one experiment: how many rows it has now, and how many of them are new or better."""

    rows: int
    new: int
    better: int

    def __str__(self) -> str:
        return f"{counted(self.rows, 'rows')}, {self.new} new, {self.better} better than before"


def merge(folders: Sequence[Path], into: Path) -> dict[str, Merged]:
    """Copy the rows below `folders` to `into`; return the result of each experiment by its name.

    A file of rows keeps its path below its folder, so the configs are not needed. Of two rows with the same
    id the better one is kept, as in `gathered_rows`; a row that is no better than the one in `into` changes
    nothing. No row is removed. All rows are read before any is written; an experiment's rows are written in
    one step. Raises StoreError if a row is not valid, or a folder has no rows.
    """
    sources = {folder: folders_with_rows(folder) for folder in folders}
    for folder, below in sources.items():
        if not below:
            raise StoreError(
                f"{folder}: expected rows ({ROWS} in a folder per experiment, as below runs/), found none"
            )
        if folder.resolve() in into.resolve().parents:
            raise StoreError(f"{into} lies within {folder}, so that its rows would be merged into themselves")
        name = folder.resolve().name
        if folder in below and into.resolve().name != name and not (into / ROWS).exists():
            raise StoreError(
                f"{folder} is the folder of one experiment, and no config would find its rows in {into}: "
                f"name the folder above it, or --into {into / name}"
            )
    names = sorted({str(path.relative_to(folder)) for folder, below in sources.items() for path in below})
    rows = {name: gathered_rows(Path(), [str(folder / name) for folder in folders]) for name in names}
    for name in names:
        read_rows(into / name)  # finds an invalid row there before anything is written
    return {name: _merge_one(into / name, rows[name]) for name in names}


def _merge_one(folder: Path, rows: dict[str, Row]) -> Merged:
    with Store(folder) as store:
        old = read_rows(folder)
        new = {key: row for key, row in rows.items() if key not in old}
        better = {
            key: row for key, row in rows.items() if key in old and precedence(row) > precedence(old[key])
        }
        if new or better:
            store.append_together([*new.values(), *better.values()])
    return Merged(len(old) + len(new), len(new), len(better))
