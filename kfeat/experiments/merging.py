"""Merging the rows of several machines into one folder, which has a folder per experiment, as runs/ does."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kfeat.errors import StoreError
from kfeat.experiments.row import Row
from kfeat.experiments.store import ROWS, Store, folders_with_rows, gathered_rows, read_rows, worth


@dataclass(frozen=True)
class Merged:
    """The result for one experiment: how many rows it has now, and how many of them are new or better."""

    rows: int
    new: int
    better: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.new} new, {self.better} better than before"


def merge(folders: Sequence[Path], into: Path) -> dict[str, Merged]:
    """Copy the rows below `folders` to `into`; return the result of each experiment by its name.

    A file of rows keeps its path below its folder, so the configs are not needed. Of two rows with the same
    id the better one is kept, as in `gathered_rows`; a row that is no better than the one in `into` changes
    nothing. No row is removed. All rows are read before any is written; an experiment's rows are written in
    one step. Raises StoreError if a row is not valid, or a folder has no rows.
    """
    for folder in folders:
        if folder.resolve() in into.resolve().parents:
            raise StoreError(f"{into} lies within {folder}, so that its rows would be merged into themselves")
    found = {folder: _experiments(folder) for folder in folders}
    names = sorted({name for below in found.values() for name in below})
    rows = {name: _best(name, folders) for name in names}
    if "." in names and not (into / ROWS).exists():
        one = next(folder for folder, below in found.items() if "." in below)
        if folders_with_rows(into) or into.resolve().name != one.resolve().name:
            raise StoreError(
                f"{one} is the folder of one experiment, and no config would find its rows in {into}: "
                f"name the folder above it, or --into {into / one.resolve().name}"
            )
    for name in names:
        read_rows(into / name)  # finds an invalid row there before anything is written
    return {name: _merge_one(into / name, rows[name]) for name in names}


def _experiments(folder: Path) -> list[str]:
    """Return the names of the folders with rows below a folder."""
    names = [path.relative_to(folder).as_posix() for path in folders_with_rows(folder)]
    if not names:
        raise StoreError(
            f"{folder}: expected rows ({ROWS} in a folder per experiment, as below runs/), found none"
        )
    return names


def _best(name: str, folders: Sequence[Path]) -> dict[str, Row]:
    """Return the best rows of an experiment over all folders."""
    return gathered_rows(Path(), [str(folder / name) for folder in folders])


def _merge_one(folder: Path, rows: dict[str, Row]) -> Merged:
    with Store(folder) as store:
        old = read_rows(folder)
        new = {key: row for key, row in rows.items() if key not in old}
        better = {key: row for key, row in rows.items() if key in old and worth(row) > worth(old[key])}
        if new or better:
            store.append_together([*new.values(), *better.values()])
    return Merged(len(old) + len(new), len(new), len(better))
