"""Listing, fetching, verifying and clearing datasets by name."""

import json
import os
from pathlib import Path

import pytest

from kfeat.data import clean, describe, fetch, list_datasets, path, verify
from kfeat.data.cache import stamp_path, stamp_state, write_stamp
from kfeat.data.catalogue import verify_file
from kfeat.data.sources import RemoteFile, registry
from kfeat.errors import DataError, KfeatError
from tests.data.web import toy


@pytest.fixture
def enter(web, monkeypatch):
    monkeypatch.setitem(registry(), "toy", toy(web))


def test_every_entry_is_whole():
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


def test_one_path_is_one_file():
    by_path = {}
    for entry in registry().values():
        for form in entry.forms:
            for file in form.files.values():
                assert by_path.setdefault(file.path, file) == file


@pytest.mark.usefixtures("enter")
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


@pytest.mark.usefixtures("enter")
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


@pytest.mark.usefixtures("enter")
def test_clean_everything(tmp_path):
    from kfeat.data import load

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
    state = file.stat()
    file.write_bytes(b"as it has rotted!")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    stamp = stamp_path(file)
    known = json.loads(stamp.read_text())
    stamp.write_text(json.dumps({**known, "state": stamp_state(file)}))  # as where only the disk knows of it
    with pytest.raises(DataError, match="expected content SHA-256"):
        verify_file(file, unpinned)


@pytest.mark.usefixtures("enter")
def test_verify_does_not_trust_stamps(tmp_path):
    fetch("toy", cache=tmp_path)
    file = tmp_path / "toy" / "train"
    stamp = (file.stat().st_mtime_ns, file.read_bytes())
    file.write_bytes(stamp[1].replace(b"0.5", b"0.6"))
    write_stamp(file, str(registry()["toy"].forms[0].files["train"].sha256), stamp_state(file))
    with pytest.raises(DataError, match="expected content SHA-256"):
        verify("toy", tmp_path)
