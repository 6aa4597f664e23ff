"""Paths that cannot be, folders that cannot be used, numbers that mean nothing: each is a sentence."""

import math
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kfeat.data import clean, describe, fetch, fingerprint, list_datasets, load, path, verify
from kfeat.errors import DataError, KfeatError

SPEC = {"name": "dense", "n": 40, "d": 3}
HALF = {"kind": "fraction", "train": 0.5}
UNUSABLE = {
    "NUL": ("a\0.csv", "no NUL character"),
    "surrogate": ("a\ud800.csv", "cannot be used as a path|valid string"),
    "byte": ("a\udcff.csv", "cannot be used as a path|valid string"),
    "long name": ("x" * 300 + ".csv", "File name too long"),
    "long path": ("x/" * 3000 + "a.csv", "File name too long"),
    "no such home": ("~nobody-at-all/a.csv", "home directory"),
    "empty": ("", "a path is not empty"),
    "below a file": ("/etc/hostname/a.csv", "no such file"),
    "folder": ("/", "expected a file, got a folder"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("role", ["path", "test"])
def test_paths_that_cannot_be(tmp_path, kind, role):
    path, message = UNUSABLE[kind]
    (tmp_path / "good.csv").write_text("a,y\n1,0\n2,1\n")
    source = {"path": str(tmp_path / "good.csv"), "format": "csv", "target": "y", role: path}
    with pytest.raises(KfeatError, match=message) as caught:
        load(source, cache=tmp_path / "cache")
    str(caught.value).encode()  # can be printed
    try:
        assert fingerprint(source, tmp_path / "cache") is None
    except KfeatError as error:
        str(error).encode()


@pytest.mark.parametrize("kind", ["a file", "a pipe"])
def test_cache_folders_that_cannot_be_used(tmp_path, kind):
    cache = tmp_path / "taken"
    cache.write_text("") if kind == "a file" else os.mkfifo(cache)
    acts = [partial(act, "adult", cache=cache) for act in (load, fetch, describe, verify, path, clean)]
    for act in [*acts, partial(list_datasets, cache)]:
        with pytest.raises(DataError, match=r"taken: .*cache folder.*set KFEAT_CACHE"):
            act()


def test_a_cache_that_is_full_or_read_only(tmp_path, monkeypatch):
    own = tmp_path / "good.csv"
    own.write_text("a,y\n1,0\n2,1\n")

    def refuse(*_, **__):
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(DataError, match=r"Read-only file system.*KFEAT_CACHE"):
        load({"path": str(own), "target": "y"}, {"split": "all"}, cache=tmp_path / "cache")
    with pytest.raises(KfeatError, match=r"Read-only file system.*KFEAT_CACHE"):
        fetch("adult", cache=tmp_path / "cache", offline=True, mirror=tmp_path)


def test_a_disk_that_fills_up_under_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.csv").write_text("a,y\n1,0\n2,1\n")
    source, cache = {"path": str(tmp_path / "good.csv"), "target": "y"}, tmp_path / "cache"

    def fill(*_, **__):
        raise OSError("262257 requested and 0 written")  # as NumPy does

    with monkeypatch.context() as patched:
        patched.setattr(np, "save", fill)
        with pytest.raises(DataError, match=r"No space left on device.*KFEAT_CACHE"):
            load(source, {"split": "all"}, cache=cache)
    assert not list(cache.rglob("*.part"))
    assert len(load(source, {"split": "all"}, cache=cache).y_train) == 2


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        ({"scale": {"divide": math.inf}}, r"protocol\.scale.*finite number \(got inf\)"),
        ({"scale": {"divide": math.nan}}, r"protocol\.scale.*finite number \(got nan\)"),
        ({"split": {**HALF, "train": math.nan}}, r"protocol\.split\.fraction\.train.*finite"),
        ({"split": {**HALF, "seed": 10**30}}, r"protocol\.split\.fraction\.seed.*less than"),
        ({"split": {**HALF, "max_train": 10**30}}, r"protocol\.split\.fraction\.max_train.*less than"),
        ({"split": {"kind": "sample", "n_train": 10**30}}, r"protocol\.split\.sample\.n_train.*less than"),
        ({"split": HALF, "binarise": {"positive": math.nan}}, r"protocol\.binarise.*finite"),
    ],
)
def test_numbers_without_meaning_in_a_protocol(protocol, message):
    with pytest.raises(KfeatError, match=message):
        load(SPEC, protocol)


@pytest.mark.parametrize(
    "content", ["a,y\n1e300,0\n2,1\n", "a,b,y\n1e300,0,0\n0,0,1\n0,0,0\n0,0,1\n0,0,0\n0,0,1\n"]
)
@pytest.mark.parametrize("scale", ["none", {"divide": 2}, "zscore"])
def test_values_that_single_precision_cannot_hold(tmp_path, content, scale):
    own = tmp_path / "large.csv"
    own.write_text(content)
    protocol = {"split": "all", "scale": scale}
    source = {"path": str(own), "target": "y"}
    with pytest.raises(DataError, match=r"large\.csv: expected values that float32 can hold"):
        load(source, protocol, cache=tmp_path / "cache")
    if scale != "zscore":
        assert load(source, {**protocol, "dtype": "float64"}, cache=tmp_path / "cache").X_train.max() >= 5e299
