"""Arrays are kept between runs, and none is believed that is not the one that was written."""

import json
import os
from time import perf_counter

import numpy as np
import pytest

from kfeat.data import fingerprint, load_raw, verify
from kfeat.data.cache import array_sha256
from kfeat.data.sources import registry
from kfeat.errors import DataError
from kfeat.text import say_once
from tests.data.web import toy


def as_another_process():
    """Forget what this process has hashed and said."""
    array_sha256.cache_clear()
    say_once.cache_clear()


def rewrite(path, content):
    """Change a file and set its time back."""
    status = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def flipped(content):
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.fixture
def fetched(web, monkeypatch, tmp_path):
    monkeypatch.setitem(registry(), "toy", toy(web))
    raw = load_raw("toy", cache=tmp_path)
    as_another_process()
    return raw


@pytest.mark.parametrize("damage", [flipped, lambda content: content[:100]], ids=["flipped", "cut"])
def test_damaged_arrays_are_parsed_again(fetched, tmp_path, caplog, damage):
    expected = {name: (part.X.tolist(), part.y.tolist()) for name, part in fetched.parts.items()}
    arrays = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.npy"))
    assert len(arrays) == 4
    for array in arrays:
        rewrite(tmp_path / array, damage((tmp_path / array).read_bytes()))
        again = load_raw("toy", cache=tmp_path)
        assert {name: (part.X.tolist(), part.y.tolist()) for name, part in again.parts.items()} == expected
        assert caplog.text.count(f"{array}: expected the array with the SHA-256") == 1
    assert "the data will be parsed again from their files" in caplog.text


def other_task(content):
    return content.replace(b"classification", b"regression")


def without_hash(content):
    notes = json.loads(content)
    return json.dumps({key: value for key, value in notes.items() if key != "sha256"}).encode()


@pytest.mark.parametrize(
    "damage",
    [
        flipped,
        other_task,
        without_hash,
        lambda content: content[:40],
        lambda content: b"[" * 100_000,
        lambda content: b"[]",
        lambda content: b"\xff\xfe",
        lambda content: b"",
    ],
)
def test_damaged_notes_are_a_warning_and_a_new_parse(fetched, tmp_path, caplog, damage):
    notes = next(tmp_path.rglob("notes.json"))
    good = notes.read_bytes()
    rewrite(notes, damage(good))
    assert fingerprint("toy", tmp_path) is None
    again = load_raw("toy", cache=tmp_path)
    assert (again.task, again.fingerprint) == (fetched.task, fetched.fingerprint)
    assert caplog.text.count(str(notes)) == 1
    assert notes.read_bytes() == good


def test_verify_reports_damage_instead_of_undoing_it(fetched, tmp_path):
    array = next(tmp_path.rglob("test.y.npy"))
    rewrite(array, flipped(array.read_bytes()))
    with pytest.raises(DataError, match=r"toy: .*test\.y\.npy: expected the array .* clean the dataset"):
        verify("toy", tmp_path)


def test_flipped_file_with_its_old_time_is_fetched_again(web, fetched, tmp_path, caplog):
    file = tmp_path / "toy" / "train"
    rewrite(file, file.read_bytes().replace(b"0.5", b"0.6"))
    for notes in tmp_path.rglob("notes.json"):
        notes.unlink()
    assert load_raw("toy", cache=tmp_path).fingerprint == fetched.fingerprint
    assert "fetching it again" in caplog.text


@pytest.mark.data
@pytest.mark.slow
def test_covertype_loads_again_within_half_a_second(mirror, real_cache):
    load_raw("covertype", mirror=mirror, cache=real_cache, offline=True)
    seconds = []
    for _ in range(3):
        as_another_process()
        start = perf_counter()
        raw = load_raw("covertype", cache=real_cache, offline=True)
        seconds.append(perf_counter() - start)
    assert min(seconds) < 0.5
    assert isinstance(raw.parts["train"].X, np.memmap)
