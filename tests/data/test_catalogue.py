"""Datasets by name: listed, fetched, verified and cleared; and nothing damaged that is kept is believed."""

import json
import os
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from kfeat.data import clean, describe, fetch, fingerprint, list_datasets, load, load_raw, path, verify
from kfeat.data.arrays import array_sha256
from kfeat.data.catalogue import verify_file
from kfeat.data.registry import RemoteFile, registry
from kfeat.data.stamps import stamp_path, stamp_state, write_stamp
from kfeat.errors import DataError, KfeatError
from kfeat.text import say_once


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
def fetched(entered, tmp_path):
    raw = load_raw("toy", cache=tmp_path)
    as_another_process()
    return raw


def test_a_cache_that_cannot_be_written_is_verified(fetched, tmp_path):
    (file,) = [path for _, path, _ in describe("toy", cache=tmp_path).files][:1]
    stamp_path(file).unlink(missing_ok=True)
    stamp_path(file).mkdir()  # no file can be written there, by root either
    assert verify("toy", cache=tmp_path).fetched


def test_a_removal_that_is_killed_leaves_nothing_that_is_used(fetched, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda folder: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            clean("toy", cache=tmp_path)
    (left,) = (tmp_path / "toy").glob("arrays-*.part")
    assert not left.with_suffix("").exists()
    assert clean("toy", cache=tmp_path) > 0
    assert not [path for path in (tmp_path / "toy").iterdir() if path.suffix != ".lock"]


def test_every_entry_is_whole():
    by_path = {}
    papers = {"adult", "mnist", "gisette", "covertype", "cpu", "census", "years", "nursery", "spambase"}
    assert papers | {"cod_rna", "ijcnn1", "house_16h", "gisette_mnist", "digits"} <= set(registry())
    for name, entry in registry().items():
        assert entry.bundled != bool(entry.forms), name
        assert entry.stand_in_for in (None, *registry()), name
        files = [file for form in entry.forms for file in form.files.values()]
        assert all(len(Path(file.path).parts) == 2 for file in files), name
        assert all(url.startswith("https://") for file in files for url in file.urls), name
        hashes = [value for value in (entry.fingerprint, *(file.sha256 for file in files)) if value]
        assert all(len(value) == 64 and set(value) <= set("0123456789abcdef") for value in hashes), name
        for part, counts in entry.labels.items():
            assert sum(counts.values()) == entry.shape[part][0], name
        assert all(by_path.setdefault(file.path, file) == file for file in files), name


def test_the_sizes_are_those_of_table_1_of_chang_et_al():
    """Its n are those of training files; its MNIST has the 778 pixels that LIBSVM's test file has."""
    table_1 = {
        "cpu": (6554, 21),
        "census": (18186, 119),
        "years": (463715, 90),
        "adult": (32561, 123),
        "mnist": (60000, 778),
        "covertype": (581012, 54),
    }
    ours = {name: registry()[name].shape["train"] for name in table_1}
    assert {name: size for name, size in ours.items() if size != table_1[name]} == {"mnist": (60000, 784)}


@pytest.mark.usefixtures("entered")
def test_life_of_a_dataset(tmp_path):
    before = describe("toy", tmp_path)
    assert (before.fetched, before.parsed, before.verified, before.n_bytes) == (False, False, None, 0)
    with pytest.raises(DataError, match="fetch it first"):
        verify("toy", tmp_path)
    there = fetch("toy", cache=tmp_path)
    assert (there.fetched, there.parsed, there.verified) == (True, True, True)
    assert there == describe("toy", tmp_path) == verify("toy", tmp_path)
    assert there in list_datasets(tmp_path)
    held = [item for item in tmp_path.rglob("*") if item.suffix not in (".lock", ".json") and item.is_file()]
    assert there.n_bytes >= sum(item.stat().st_size for item in held)
    assert path("toy", tmp_path) == tmp_path / "toy"
    assert clean("toy", tmp_path) >= there.n_bytes
    assert describe("toy", tmp_path) == before


@pytest.mark.usefixtures("entered")
def test_clean_leaves_what_others_use(tmp_path, monkeypatch):
    entry = registry()["toy"]
    other = entry.model_copy(update={"title": "Other"})
    monkeypatch.setitem(registry(), "other", other)
    fetch("toy", cache=tmp_path)
    fetch("other", cache=tmp_path)
    clean("toy", tmp_path)
    assert (tmp_path / "toy" / "train").is_file()
    assert describe("other", tmp_path).parsed
    assert not describe("toy", tmp_path).parsed
    clean("other", tmp_path)
    assert not (tmp_path / "toy" / "train").exists()


@pytest.mark.usefixtures("entered")
def test_clean_everything(tmp_path):
    own = tmp_path / "own.svm"
    own.write_text("1 1:1\n-1 1:2\n")
    cache = tmp_path / "cache"
    fetch("toy", cache=cache)
    load({"path": str(own), "test": str(own)}, cache=cache)
    assert clean(cache=cache) > 0
    assert [item for item in cache.rglob("*") if item.is_file() and item.suffix != ".lock"] == []
    assert own.exists()


@pytest.mark.data
@pytest.mark.slow
def test_fetch_all_ends_with_all_that_is_there_verified(mirror, real_cache, tmp_path):
    for name in registry():
        files = describe(name, tmp_path).files
        if files and not any((Path(mirror) / file.path).is_file() for file, _, _ in files):
            with pytest.raises(KfeatError, match=r"Put the file by hand at .* or set KFEAT_MIRROR"):
                fetch(name, mirror=mirror, cache=tmp_path, offline=True)
        else:
            status = fetch(name, mirror=mirror, cache=real_cache, offline=True)
            assert status.verified
            assert verify(name, real_cache) == status


def test_content_that_rots_under_an_unpinned_file_is_found(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"as it was fetched")
    unpinned = RemoteFile.model_validate({"path": "file"})
    verify_file(file, unpinned)
    rewrite(file, b"as it has rotted!")
    known = json.loads(stamp_path(file).read_text())  # as where only the disk knows of it
    stamp_path(file).write_text(json.dumps({**known, "state": stamp_state(file)}))
    with pytest.raises(DataError, match="expected content SHA-256"):
        verify_file(file, unpinned)


def test_verify_does_not_trust_stamps(fetched, tmp_path):
    file = tmp_path / "toy" / "train"
    file.write_bytes(file.read_bytes().replace(b"0.5", b"0.6"))
    write_stamp(file, str(registry()["toy"].forms[0].files["train"].sha256), stamp_state(file))
    with pytest.raises(DataError, match="expected content SHA-256"):
        verify("toy", tmp_path)


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


CUT = [
    lambda content: content[:40],
    *(lambda _, new=new: new for new in (b"[" * 10**5, b"[]", b"\xff\xfe", b"")),
]


@pytest.mark.parametrize("damage", [flipped, other_task, without_hash, *CUT])
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
