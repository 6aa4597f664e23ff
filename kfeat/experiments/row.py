"""A row: the result of one trial, a JSON object on a line of trials.jsonl; its checks, and files of rows.

A row is complete: it has every parameter of protocol, kernel, map, and solver or measure, also the defaults.
Under `learnt` it has the values that were computed for parameters, such as a bandwidth or a regularisation.
Every row from a file or a trial has passed `check_row`, so that other code can rely on the fields and types
below. Fields that are not listed are kept as they are.

A line is appended once and never changed. It may be damaged: cut, joined to another or overwritten. Readers
warn and skip it, and the next writer moves it to trials.jsonl.damaged.
"""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, NotRequired

from annotated_types import Ge, Le, Lt, MinLen
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json
from typing_extensions import TypedDict

from kfeat.errors import StoreError
from kfeat.experiments.quantities import score_of
from kfeat.files import Lock, append, replacing, writing
from kfeat.parameters import describe
from kfeat.text import counted

SCHEMA = 2
MAX_SHOWN = 200  # the longest message about a field, whose value may have any length

Row = dict[str, Any]

Text = Annotated[str, MinLen(1)]
Count = Annotated[int, Ge(0), Lt(2**63)]
Seconds = Annotated[float, Ge(0), Lt(1e12)]
# Larger than any meaningful score, and small enough for means, squares and differences of scores.
Score = Annotated[float, Ge(-1e100), Le(1e100)]


class DamagedLineError(ValueError):
    """A line is not a JSON object: it was cut, glued to another or overwritten."""


class _Part(TypedDict):
    """A part of a row; other keys are not looked at, conversions of types are not allowed."""

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False)  # type: ignore[misc]


class _Component(_Part):
    name: Text
    version: Count | Text  # of a class by its place, the hash of its file or the version of its distribution


class _Packages(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", defer_build=True)
    __pydantic_extra__: dict[str, str]
    kfeat: str


class _Environment(_Part):
    python: str
    system: str
    processor: str
    cores: Count | None
    commit: str | None
    host: NotRequired[str | None]  # missing in older rows
    packages: _Packages


class _Phase(_Part):
    cpu: Seconds
    wall: Seconds


class _Columns(_Part):
    live: Count
    zero: Count
    constant: Count


class _Sparse(_Part):
    """Of CSR features: their columns, non-zeros per training row, and the share of unseen test entries."""

    columns: Count
    nonzeros: Annotated[float, Ge(0)]
    unseen: NotRequired[Annotated[float, Ge(0), Le(1)]]


class _Interval(_Part):
    value: Score
    low: Score
    high: Score


class _KernelError(_Part):
    relative_frobenius: _Interval
    mean_absolute: _Interval
    mean_relative: _Interval
    maximum: Score


class _Header(_Part):
    id: Text
    cell: Text
    dataset: str
    source: dict[str, Any] | None
    fingerprint: str
    protocol: dict[str, Any]
    kernel: _Component | None
    map: _Component | None
    solver: NotRequired[_Component | None]
    measure: NotRequired[_Component | None]
    repeat: Count
    seed: Count | None  # null in older rows
    seeds: dict[str, Count]
    environment: _Environment


class _Done(_Header):
    """A trial that ended; a score may be missing, but must not be null."""

    verified: bool
    n_train: Count
    n_test: Count
    n_features: Count
    threads: Count
    timed: bool
    seconds: Annotated[dict[str, _Phase], MinLen(1)]
    learnt: dict[str, dict[str, float]]
    solve: NotRequired[dict[str, Any] | None]
    columns: _Columns | None
    sparse: NotRequired[_Sparse]
    peak_memory_mb: Annotated[float, Ge(0)] | None
    predictions: NotRequired[str]
    accuracy: NotRequired[Annotated[float, Ge(0), Le(1)]]
    relative_error: NotRequired[Score]
    kernel_error: NotRequired[_KernelError]
    mean_square: NotRequired[Score]
    bound_ratio: NotRequired[Score]
    measured: NotRequired[Annotated[dict[Text, Score], MinLen(1)]]


class _Failed(_Header):
    reason: str


class _Stopped(_Header):
    reason: str
    limit_s: Seconds
    threads: Count
    timed: bool
    phase: NotRequired[str | None]  # in which it was stopped; missing in older rows


_KINDS: dict[str, Any] = {"done": _Done, "failed": _Failed, "stopped": _Stopped}


@cache
def _checker(status: str) -> TypeAdapter[Any]:
    """Return what checks rows of this status: their fields and types, without making objects of them."""
    return TypeAdapter(_KINDS[status])


def to_line(row: Row) -> bytes:
    """Return a row as a line of JSON, with its end of line."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def from_line(line: bytes) -> Row:
    """Return the row on a line.

    Raises DamagedLineError if the line is not a JSON object, and StoreError if the object is not a row.
    """
    try:
        row = from_json(line)
    except ValueError as error:
        raise DamagedLineError(str(error)) from None
    if not isinstance(row, dict):
        raise DamagedLineError("not a JSON object")
    check_row(row, finite=b"NaN" not in line and b"Infinity" not in line)
    return row


def check_row(row: Row, finite: bool = False) -> None:
    """Raise StoreError with the fields that are missing, of a wrong type, out of range or not finite.

    `finite` says that it has no infinite or NaN numbers, except perhaps for fields with a type above.
    """
    schema = row.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise StoreError(
            f"expected a row of schema {SCHEMA}, got {repr(schema)[:MAX_SHOWN]}, which an incompatible "
            "version of kfeat writes"
        )
    infinite = [] if finite else [f"{place}: not a finite number" for place in _not_finite(row)]
    problems = infinite or list(_problems(row))
    if problems:
        raise StoreError("; ".join(problem[:MAX_SHOWN] for problem in problems[:3]))


def _problems(row: Row) -> Iterator[str]:
    status = row.get("status")
    if not isinstance(status, str) or status not in _KINDS:
        yield f"status: expected one of {', '.join(_KINDS)} (got {status!r})"
        return
    try:
        _checker(status).validate_python(row)
    except ValidationError as error:
        yield from (describe(problem) for problem in error.errors())
        return
    if status == "done":
        yield from _score_problems(row)


def _score_problems(row: Row) -> Iterator[str]:
    """Yield what is wrong with a row's score, which must be that of its measure or of its solver's task."""
    from kfeat.experiments.measures import MEASURES, SCORES, SOLVED

    measure = row.get("measure")
    if measure is None and row.get("solver") is None:
        yield "expected a solver or a measure (got neither)"
        return
    if measure and isinstance(measure["version"], str):  # a measure by its place
        if "measured" not in row:
            yield "measured: missing"
        return
    if measure and measure["name"] not in MEASURES:
        yield f"measure.name: expected one of {', '.join(MEASURES)} (got {measure['name']!r})"
        return
    allowed = MEASURES[measure["name"]].keys if measure else SOLVED
    scores = row.keys() & SCORES
    if not scores or not scores <= allowed or not (measure or len(scores) == 1):
        got = ", ".join(sorted(scores)) or "none"
        yield f"expected one score, {' or '.join(sorted(allowed))} (got {got})"
    elif measure and score_of(row) is None:  # a solver's score has its type above
        yield f"{', '.join(sorted(scores))}: expected a number"
    if "accuracy" in row and row["n_test"] == 0:
        yield "n_test: expected more than 0 beside an accuracy"


def _not_finite(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, float) and not isfinite(value):
        yield place.lstrip(".")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, f"{place}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _not_finite(item, f"{place}[{number}]")


def counts_as_timed(row: Row) -> bool:
    """Return whether the seconds of a row may be compared: the trial ran alone and kept to its threads."""
    if row["status"] == "done":
        return bool(row["timed"]) and within_threads(row["seconds"], row["threads"])
    return row["status"] == "stopped" and bool(row["timed"])


def within_threads(seconds: dict[str, dict[str, float]], threads: int) -> bool:
    """Return whether, up to rounding, every phase used at most the CPU seconds of so many threads.

    A phase with more CPU seconds used threads that the cap did not reach.
    """
    return all(phase["cpu"] <= 1.05 * threads * phase["wall"] + 0.01 for phase in seconds.values())


def cpu_seconds(row: Row) -> float:
    """Return the CPU seconds of all phases of a row; unlike wall time, they do not depend on other trials."""
    return float(sum(phase["cpu"] for phase in row["seconds"].values()))


def wall_seconds(row: Row) -> float:
    """Return the wall seconds of all phases of a row."""
    return float(sum(phase["wall"] for phase in row["seconds"].values()))


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


def precedence(row: Row) -> tuple[int, float, bool]:
    """Return the value by which two rows are compared: how it ended, and whether it was timed."""
    return *ended(row), counts_as_timed(row)


def ended(row: Row) -> tuple[int, float]:
    """Return how far a trial came, as a sortable value: failed, stopped (with its limit), or done."""
    return ("failed", "stopped", "done").index(row["status"]), row.get("limit_s", 0.0)


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
