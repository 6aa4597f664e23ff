"""A row: the result of one trial, a JSON object on a line of trials.jsonl, and its checks.

A row is complete: it has every parameter of protocol, kernel, map, and solver or measure, also the defaults.
Under `learnt` it has the values that were computed for parameters, such as a bandwidth or a regularisation.
Every row from a file or a trial has passed `check_row`, so that other code can rely on the fields and types
below. Fields that are not listed are kept as they are.
"""

import json
from collections.abc import Iterator
from functools import cache
from math import isfinite
from typing import Annotated, Any, NotRequired

from annotated_types import Ge, Le, Lt, MinLen
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json
from typing_extensions import TypedDict

from kfeat.errors import StoreError
from kfeat.experiments.quantities import score_of
from kfeat.parameters import describe

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
    return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


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


def precedence(row: Row) -> tuple[int, float, bool]:
    """Return the value by which two rows are compared: how it ended, and whether it was timed."""
    return *ended(row), counts_as_timed(row)


def ended(row: Row) -> tuple[int, float]:
    """Return how far a trial came, as a sortable value: failed, stopped (with its limit), or done."""
    return ("failed", "stopped", "done").index(row["status"]), row.get("limit_s", 0.0)
