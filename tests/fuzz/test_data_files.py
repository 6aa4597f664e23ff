"""Damaged data files of every kind give finite arrays or a sentence: no traceback, no crash, no hang.

`KFEAT_FUZZ=20000 pytest tests/fuzz` tries as many cases; a case is its kind and its number, and comes back.
"""

import gzip
import logging
import os
import random
import shutil
import traceback
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from scipy.sparse import issparse

from kfeat.data import Coding, Reading, load, load_raw, read_rows
from kfeat.data.arrays import array_sha256
from kfeat.data.formats import mat
from kfeat.data.transfer import extract_member
from kfeat.errors import DataError, KfeatError
from tests.data.files import idx, in_this_process
from tests.fuzz.data_samples import ARCHIVES, FILES, Y, damaged
from tests.fuzz.patience import Hang, at_most

N_CASES = int(os.environ.get("KFEAT_FUZZ", "200"))
PATIENCE_S = 20
NAME = "damaged.dat"
CACHED = "cache"  # the kind of case that damages what the cache keeps
KINDS = [*FILES, *ARCHIVES, CACHED]
# Files for a model that exists, read block by block; the others are read as a whole, as training reads them.
STREAMS = {f"stream of {kind}": FILES[kind] for kind in FILES if "mat" not in kind and "idx" not in kind}
LIMIT = 10_000  # bytes that an archive's file may have


def fault_of(case, folder):
    """Carry out one case; return what is wrong about how it went, or nothing."""
    kind, number = case
    for part in ("in", "cache"):
        shutil.rmtree(folder / part)
        (folder / part).mkdir()
    culprit = "archive" if kind in ARCHIVES else NAME
    rng = random.Random(f"{kind} {number}")
    try:
        with at_most(PATIENCE_S):
            if kind == CACHED:
                after_damage_in_the_cache(folder, rng)
            elif kind in ARCHIVES:
                from_archive(folder, damaged(ARCHIVES[kind], rng))
            elif kind in STREAMS:
                from_stream(folder, kind, damaged(STREAMS[kind][0], rng))
            else:
                from_file(folder, kind, damaged(FILES[kind][0], rng))
    except KfeatError as error:
        if culprit not in str(error) or "\n" in str(error) or not str(error).isprintable():
            return f"not a sentence about the file: {str(error)!a}"
    except (Exception, Hang):
        return traceback.format_exc()
    written = {path.name for path in folder.iterdir()} | set(os.listdir(folder / "empty"))
    return "" if written == {"in", "cache", "empty"} else f"it wrote {sorted(written)}"


def from_file(folder, kind, content):
    path, labels = folder / "in" / NAME, folder / "in" / "labels"
    path.write_bytes(content)
    source = {"path": str(path), **FILES[kind][1]}
    if source["format"] == "idx":
        labels.write_bytes(idx(Y))
        source["labels"] = str(labels)
    data = load(source, {"split": "all"}, cache=folder / "cache")
    values = data.X_train if isinstance(data.X_train, np.ndarray) else data.X_train.data
    assert values.dtype == np.float32
    assert data.X_train.shape[0] == len(data.y_train) > 0
    assert np.isfinite(values).all()
    assert np.isfinite(data.y_train).all()


@cache
def trained_on(kind):
    """Return the coding of the good file, and the number of its features."""
    content, options = STREAMS[kind]
    with TemporaryDirectory() as folder:
        (Path(folder) / NAME).write_bytes(content)
        raw = load_raw({"path": f"{folder}/{NAME}", **options}, cache=Path(folder) / "cache")
        return raw.coding, raw.n_features


def from_stream(folder, kind, content):
    path, (coding, n_features) = folder / "in" / NAME, trained_on(kind)
    path.write_bytes(content)
    for rows in read_rows(path, Reading(**STREAMS[kind][1]), coding, 4):
        assert np.isfinite(rows.X.data if issparse(rows.X) else rows.X).all()
        assert 0 < rows.X.shape[0] <= 4
        assert rows.X.shape[1] == n_features
        assert rows.y is None or (len(rows.y) == rows.X.shape[0] and np.isfinite(rows.y).all())


def from_archive(folder, content):
    archive = folder / "in" / "archive"
    archive.write_bytes(content)
    extract_member(archive, "data.txt", folder / "cache" / "target", LIMIT)
    assert (folder / "cache" / "target").stat().st_size <= LIMIT


def after_damage_in_the_cache(folder, rng):
    """Damage one kept file, its time set back: the next process gets the numbers of the file all the same."""
    kind = rng.choice(["csv", "svmlight"])
    path = folder / "in" / NAME
    path.write_bytes(FILES[kind][0])
    source = {"path": str(path), **FILES[kind][1]}
    good = load_raw(source, cache=folder / "cache")
    kept = rng.choice(
        sorted(item for item in (folder / "cache").rglob("*") if item.suffix in (".npy", ".json"))
    )
    status, content = kept.stat(), kept.read_bytes()
    kept.unlink()  # the arrays in hand are mapped: they keep the old bytes
    kept.write_bytes(damaged(content, rng))
    os.utime(kept, ns=(status.st_atime_ns, status.st_mtime_ns))
    array_sha256.cache_clear()
    again = load_raw(source, cache=folder / "cache")
    assert (again.fingerprint, again.task) == (good.fingerprint, good.task)
    assert (again.parts["train"].X != good.parts["train"].X).sum() == 0
    assert (again.parts["train"].y == good.parts["train"].y).all()


@pytest.fixture
def folder(tmp_path, monkeypatch, caplog):
    for part in ("in", "cache", "empty"):
        (tmp_path / part).mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    caplog.set_level(logging.CRITICAL)
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Parse .mat files here, and not in a process of kfeat's, which outlives a crash of SciPy."""
    monkeypatch.setattr(mat, "arrays_in", in_this_process)


@pytest.mark.parametrize(
    "kinds", [pytest.param(KINDS, marks=pytest.mark.slow), [*STREAMS]], ids=["files", "streams"]
)
def test_damaged_files_are_read_or_refused(folder, kinds):
    cases = [(kinds[number % len(kinds)], number) for number in range(N_CASES)]
    wrong = [f"{case}: {fault}" for case in cases if (fault := fault_of(case, folder))]
    assert not wrong, "\n".join([f"{len(wrong)} of {N_CASES}", *wrong[:10]])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", FILES)
def test_samples_are_read_undamaged(folder, kind):
    from_file(folder, kind, FILES[kind][0])


def test_streams_and_archives_are_read_undamaged(folder):
    for kind in STREAMS:
        from_stream(folder, kind, STREAMS[kind][0])
    for content in ARCHIVES.values():
        from_archive(folder, content)
    assert gzip.decompress(ARCHIVES["tgz"]) == ARCHIVES["tar"]


def test_the_search_notices_what_it_looks_for(folder, monkeypatch):
    def raising(error):
        def fail(*_):
            raise error

        return fail

    for error in (ZeroDivisionError("x"), DataError("names no culprit")):
        monkeypatch.setattr("tests.fuzz.test_data_files.from_file", raising(error))
        assert fault_of(("csv", 0), folder)
    monkeypatch.setattr("tests.fuzz.test_data_files.from_file", lambda *_: Path("stray").write_text(""))
    assert "stray" in fault_of(("csv", 0), folder)
    monkeypatch.setattr("tests.fuzz.test_data_files.damaged", lambda content, rng: content)
    trained_on("stream of csv")
    monkeypatch.setattr(Coding, "matrix", lambda *_: np.full((1, 1), np.nan))
    assert "AssertionError" in fault_of(("stream of csv", 0), folder)
