import hashlib
import json
import re
from pathlib import Path

import pytest

from kfeat.errors import StoreError
from kfeat.experiments.row import SCHEMA, DamagedLineError, check_row, from_line, to_line
from tests.experiments.rows import row

RESULTS = Path(__file__).parents[2] / "results"


def test_every_published_row_is_read_as_it_was_written():
    """Every twentieth, of every file."""
    lines = [
        line
        for path in RESULTS.rglob("trials.jsonl")
        for line in path.read_bytes().splitlines(keepends=True)[::20]
    ]
    assert len(lines) > 1000
    assert all(to_line(from_line(line)) == line for line in lines)


def test_no_published_id_and_no_published_number_has_changed():
    """The digests in `published.json` were taken when the numbers were published; CHANGELOG names changes."""
    pinned = json.loads((Path(__file__).parent / "published.json").read_text())
    assert digests() == pinned


def digests():
    """One hash per published file over what its rows measured, and how each ended."""
    numbers = (
        "accuracy", "relative_error", "rmse", "kernel_error", "mean_square", "bound_ratio", "least_bound",
        "estimate", "map_bytes", "map_bits",
    )  # fmt: skip
    found = {}
    for path in sorted(RESULTS.rglob("trials.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        kept = [[r["id"], r["cell"], r["status"], {k: r[k] for k in numbers if k in r}] for r in rows]
        text = json.dumps(sorted(kept), sort_keys=True)
        found[path.parent.relative_to(RESULTS).as_posix()] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


@pytest.mark.parametrize("status", ["done", "failed", "stopped"])
def test_a_row_without_one_of_its_fields_is_refused_with_the_field(status):
    check_row(row("a", status))
    told = {"accuracy": "expected one score", "solver": "expected a solver or a measure"}
    optional = {"predictions"} if status == "done" else {"solver"}
    for field in row("a", status).keys() - optional:
        less = {key: value for key, value in row("a", status).items() if key != field}
        with pytest.raises(StoreError, match=told.get(field, field)):
            check_row(less)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accuracy": "0.5"}, "accuracy: expected a number (got '0.5')"),
        ({"accuracy": float("nan")}, "accuracy: not a finite number"),
        ({"accuracy": 10**400}, "accuracy: "),
        ({"accuracy": None}, "accuracy: "),
        (
            {"seconds": {"train": {"cpu": float("inf"), "wall": 1.0}}},
            "seconds.train.cpu: not a finite number",
        ),
        ({"seconds": {"train": {"cpu": 1.0}}}, "seconds.train.wall: missing"),
        ({"seconds": {}}, "seconds: "),
        ({"environment": {**row("a")["environment"], "packages": {}}}, "environment.packages.kfeat: missing"),
        ({"n_test": 0}, "n_test: expected more than 0 beside an accuracy"),
        ({"status": ["done"]}, "status: expected one of done, failed, stopped (got ['done'])"),
        (
            {"relative_error": 0.5},
            "expected one score, accuracy or relative_error (got accuracy, relative_error)",
        ),
        ({"measure": {"name": "map_time", "version": 1}}, "expected one score, mean_square (got accuracy)"),
        ({"kernel_error": {"relative_frobenius": 1.0}}, "kernel_error.relative_frobenius: "),
        ({"solver": None}, "expected a solver or a measure (got neither)"),
        ({"solve": [1]}, "solve: "),
        ({"extra": {"deep": [1.0, float("-inf")]}}, "extra.deep[1]: not a finite number"),
        ({"schema": SCHEMA + 1}, "expected a row of schema 2, got 3"),
        ({"schema": 1}, "expected a row of schema 2, got 1"),
    ],
)
def test_a_field_of_a_wrong_type_or_size_is_refused_with_the_field(change, message):
    with pytest.raises(StoreError, match=re.escape(message)):
        from_line(json.dumps(row("a", **change)).encode())


@pytest.mark.parametrize("line", [b"nonsense", b"[1, 2]", b"\xff\xfe", b"null", b'"\\ud800"', b"[" * 100_000])
def test_a_line_that_is_no_object_is_damaged(line):
    with pytest.raises(DamagedLineError):
        from_line(line)
