"""Rows as they are written, checked and read, and files of rows that outlive kills, edits and full disks."""

import hashlib
import json
import os
import re
import resource
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from kfeat.errors import StoreError
from kfeat.experiments.row import SCHEMA, DamagedLineError, check_row, from_line, to_line
from kfeat.experiments.store import (
    DAMAGED,
    ROWS,
    Store,
    folders_with_rows,
    gathered_rows,
    read_rows,
    write_rows,
)
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


def test_the_latest_row_of_an_identity_counts(tmp_path):
    with Store(tmp_path) as store:
        store.append(row("a", accuracy=0.1))
        store.append(row("b", accuracy=0.2))
        store.append(row("a", accuracy=0.3))
    assert {key: value["accuracy"] for key, value in read_rows(tmp_path).items()} == {"a": 0.3, "b": 0.2}


def test_half_a_row_is_ignored_and_then_cut_off(tmp_path):
    write_rows(tmp_path, [row("a")])
    first = (tmp_path / ROWS).read_bytes()
    second = json.dumps(row("b")).encode()
    for cut in range(1, len(second), 5):
        (tmp_path / ROWS).write_bytes(first + second[:cut])
        assert set(read_rows(tmp_path)) == {"a"}
    with Store(tmp_path) as store:
        store.append(row("c"))
    assert set(read_rows(tmp_path)) == {"a", "c"}
    assert not (tmp_path / DAMAGED).exists()


def test_a_whole_row_counts_though_an_editor_took_its_end_of_line(tmp_path):
    a, b, c = (to_line(row(name)) for name in "abc")
    (tmp_path / ROWS).write_bytes(a + b[:-1])
    assert set(read_rows(tmp_path)) == {"a", "b"}
    with Store(tmp_path) as store:
        store.append(row("c"))
    assert (tmp_path / ROWS).read_bytes() == a + b + c
    (tmp_path / ROWS).write_bytes(a + to_line(row("b", accuracy="high"))[:-1])
    message = "line 2: accuracy: expected a number .got 'high'.; correct or remove the line"
    with pytest.raises(StoreError, match=message):
        read_rows(tmp_path)


GLUED = to_line(row("x"))[:-1] + to_line(row("y"))[:-1]
GARBAGE = [b"nonsense", b"[1, 2]", b"null", b"}", b"\xff\xfe", b"{" * 5000, b"\x00\x00", GLUED]
GARBAGE += [to_line(row("x"))[:100]]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_damaged_line_costs_itself_only_and_is_set_aside_by_the_next_writer(tmp_path, garbage, caplog):
    a, b = to_line(row("a")), to_line(row("b"))
    text = a + garbage + b"\n" + b
    (tmp_path / ROWS).write_bytes(text)
    assert set(read_rows(tmp_path)) == set(read_rows(tmp_path)) == {"a", "b"}
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / ROWS}: damaged lines are left out (2); a run that writes there moves them to {DAMAGED}"
    ]
    assert (tmp_path / ROWS).read_bytes() == text  # who only reads changes nothing
    with Store(tmp_path) as store:
        store.append(row("c"))
    assert set(read_rows(tmp_path)) == {"a", "b", "c"}
    assert (tmp_path / ROWS).read_bytes() == a + b + to_line(row("c"))
    assert (tmp_path / DAMAGED).read_bytes() == garbage + b"\n"
    (tmp_path / ROWS).write_bytes(garbage + b"\n\n" + a + garbage + b"\n" + b[:-9])
    with Store(tmp_path) as store:
        store.append_together([row("d")])
    assert set(read_rows(tmp_path)) == {"a", "d"}
    assert (tmp_path / DAMAGED).read_bytes() == 3 * (garbage + b"\n")


@contextmanager
def files_limited_to(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_row_that_the_disk_takes_in_part_only_is_an_error_and_leaves_nothing(tmp_path):
    with Store(tmp_path) as store:
        store.append(row("a"))
        before = (tmp_path / ROWS).read_bytes()
        with files_limited_to(len(before) + 50), pytest.raises(StoreError, match="File too large"):
            store.append(row("b"))
        assert (tmp_path / ROWS).read_bytes() == before
        store.append(row("c"))
    assert set(read_rows(tmp_path)) == {"a", "c"}


@pytest.mark.parametrize("kind", ["folder", "fifo", "device"])
def test_what_is_no_file_of_rows_is_refused_at_once(tmp_path, kind):
    path = tmp_path / ROWS
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="expected a file of rows"):
        read_rows(tmp_path)
    with pytest.raises(StoreError, match="expected a file of rows"), Store(tmp_path):
        pass


def write_after_waiting(folder):
    with Store(folder) as store:
        store.append(row("second"))


def test_a_second_writer_says_so_and_waits(tmp_path, caplog):
    second = Thread(target=write_after_waiting, args=(tmp_path,))
    with Store(tmp_path) as store:
        second.start()
        second.join(timeout=1.0)
        assert second.is_alive()
        store.append(row("first"))
    second.join(timeout=10.0)
    assert list(read_rows(tmp_path)) == ["first", "second"]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert said[0].startswith(f"{tmp_path}: another kfeat is running this experiment; waiting")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"), Store(tmp_path / "file" / "below"):
        pass


def test_rows_of_several_folders_are_gathered_the_better_first(tmp_path):
    def named(key, status, timed, where):
        return row(key, status, where=where, timed=timed)

    write_rows(tmp_path / "own", [named("a", "done", False, "own"), named("b", "done", True, "own")])
    write_rows(
        tmp_path / "other",
        [
            named("a", "done", True, "other"),
            named("b", "failed", True, "other"),
            named("c", "failed", False, "x"),
            named("d", "stopped", True, "other") | {"limit_s": 60.0},
        ],
    )
    write_rows(
        tmp_path / "third",
        [
            named("b", "done", True, "third"),
            named("c", "done", False, "third"),
            named("d", "stopped", True, "third") | {"limit_s": 90.0},
        ],
    )
    rows = gathered_rows(tmp_path, ["own", "other", "third", "absent"])
    best = {"a": "other", "b": "own", "c": "third", "d": "third"}
    assert {key: value["where"] for key, value in rows.items()} == best


def test_folders_with_rows_are_found_behind_links_too_and_once(tmp_path):
    root, elsewhere = tmp_path / "runs", tmp_path / "scratch/one"
    for folder in (root / "a/b", root / "c", elsewhere / "d"):
        write_rows(folder, [row("x")])
    (root / "link").symlink_to(elsewhere)
    (root / "again").symlink_to(root / "c")
    (root / "up").symlink_to(tmp_path)
    (elsewhere / "d/loop").symlink_to(elsewhere)
    found = folders_with_rows(root)
    assert [path.relative_to(root).as_posix() for path in found] == ["a/b", "c", "link/d"]
    assert folders_with_rows(root / "c") == [root / "c"]
    assert folders_with_rows(tmp_path / "none") == []


def test_what_a_full_disk_leaves_of_a_new_file_is_removed(tmp_path):
    write_rows(tmp_path, [row("a")])
    with files_limited_to(1000), pytest.raises(StoreError, match="cannot be written"):
        write_rows(tmp_path, [row("b", "failed", reason="x" * 5000)])
    assert [path.name for path in tmp_path.iterdir()] == [ROWS]
    assert set(read_rows(tmp_path)) == {"a"}
