import json
from pathlib import Path

import pytest

from kfeat.errors import StoreError
from kfeat.experiments.store import ROWS, SCHEMA, Store, gathered_rows, read_rows, write_rows


def row(identity: str, **more: object) -> dict[str, object]:
    return {"schema": SCHEMA, "id": identity, "status": "done", **more}


def test_the_latest_row_of_an_identity_counts(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append(row("a", accuracy=0.1))
        store.append(row("b", accuracy=0.2))
        store.append(row("a", accuracy=0.3))
    assert {key: value["accuracy"] for key, value in read_rows(tmp_path).items()} == {"a": 0.3, "b": 0.2}


def test_half_a_row_is_ignored_and_then_cut_off(tmp_path: Path) -> None:
    write_rows(tmp_path, [row("a")])
    first = (tmp_path / ROWS).read_bytes()
    second = json.dumps(row("b")).encode()
    for cut in range(1, len(second) + 1):
        (tmp_path / ROWS).write_bytes(first + second[:cut])
        assert set(read_rows(tmp_path)) == {"a"}
    with Store(tmp_path) as store:
        store.append(row("c"))
    assert set(read_rows(tmp_path)) == {"a", "c"}


@pytest.mark.parametrize("line", [b"nonsense", b"[1, 2]", b'{"schema": 1}', b"\xff\xfe", b"", b"null"])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: bytes) -> None:
    (tmp_path / ROWS).write_bytes(json.dumps(row("a")).encode() + b"\n" + line + b"\n")
    with pytest.raises(StoreError, match="line 2: not a row of kfeat"):
        read_rows(tmp_path)


def test_rows_of_another_schema_are_refused(tmp_path: Path) -> None:
    write_rows(tmp_path, [row("a") | {"schema": SCHEMA + 1}])
    with pytest.raises(StoreError, match="incompatible version"):
        read_rows(tmp_path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(StoreError, match="another kfeat"), Store(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"), Store(tmp_path / "file" / "below"):
        pass


def test_no_rows_is_not_an_error(tmp_path: Path) -> None:
    assert read_rows(tmp_path / "nowhere") == {}


def test_rows_of_several_folders_are_gathered_the_better_first(tmp_path: Path) -> None:
    def named(key: str, status: str, timed: bool, where: str) -> dict[str, object]:
        return row(key, where=where, timed=timed) | {"status": status}

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
