"""A dataset's fingerprint, on which published ids hang, and the folder of its arrays stay what they were."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.data import FileSource, Raw, RegisteredSource, fingerprint, load_raw
from kfeat.data.fingerprints import fingerprint_of
from kfeat.data.matrix import Part
from tests.data.files import write

TABLE = "colour,size,kind\nred,1,b\nblue,2.5,a\nred,-3,b\n"


@pytest.mark.parametrize(
    ("source", "start"),
    [
        ("digits", "33746ce825d4c595"),
        ({"name": "unit_ball", "n": 50, "d": 3}, "6239bcaf84aa85d5"),
        ({"name": "normal", "n": 50, "d": 3}, "9dd6c4d4341a1601"),
        ({"name": "dense", "n": 50, "d": 3, "seed": 4}, "4bf589e8a981f2c5"),
        ({"name": "quadric", "n": 60, "d": 3}, "0cce877a901fff25"),
    ],
)
def test_fingerprints_of_data_without_files_stay(source, start, tmp_path):
    raw = load_raw(source, cache=tmp_path)
    assert raw.fingerprint.startswith(start)
    assert fingerprint(source, tmp_path) == raw.fingerprint


@pytest.mark.parametrize(
    ("content", "options", "start"),
    [
        (TABLE, {"format": "csv", "target": "kind", "categorical": "one_hot"}, "08ae77b851ac672d"),
        (TABLE, {"format": "csv", "target": "size", "categorical": "ordinal"}, "184fa64d6a1fb254"),
        ("+1 1:0.5 3:1\n-1 2:1\n", {"format": "svmlight", "n_features": 4}, "203a24751f587ec9"),
    ],
)
def test_fingerprints_of_files_stay(content, options, start, tmp_path):
    source = {"path": str(write(tmp_path, content)), **options}
    raw = load_raw(source, cache=tmp_path / "cache")
    assert raw.fingerprint.startswith(start)
    assert raw.fingerprint == fingerprint_of(raw.parts, raw.label_names)
    assert fingerprint(source, tmp_path / "cache") == raw.fingerprint


FOLDERS = {
    "adult": "arrays-c71921e44472",
    "mnist": "arrays-8f07b9baf9fa",
    "covertype": "arrays-a1931d81068f",
    "cpu_act": "arrays-f074bd516767",
    "kin40k": "arrays-29cfe815c9a2",
    "cal_housing": "arrays-2195a7efe5da",
}
OWN_FOLDERS = [
    ({"path": "/d/my.csv", "target": "y"}, "my.csv-3a47ca6105e3"),
    ({"path": "/d/my.svm"}, "my.svm-1561baa15005"),
    ({"path": "/d/my.idx", "labels": "/d/l.idx", "task": "regression"}, "my.idx-36115a5b537c"),
]


def test_arrays_of_earlier_versions_are_found_again(tmp_path):
    for name, folder in FOLDERS.items():
        source = RegisteredSource(name=name)
        assert source.folder(source.entry.forms[0], tmp_path) == tmp_path / name / folder
    for options, folder in OWN_FOLDERS:
        assert FileSource(**options).folder(tmp_path) == tmp_path / "files" / folder
    load_raw({"name": "large_quadric", "n": 50, "d": 3}, cache=tmp_path)
    assert (tmp_path / "generated" / "large_quadric-d91fef56b55e").is_dir()


def test_fingerprint_does_not_depend_on_storage_but_on_every_number():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (5000, 7)).astype(np.uint8), rng.integers(0, 2, 5000)
    X[:, 3] = 0
    reference = fingerprint_of({"train": Part(X, y)})
    padded = csr_array(X.astype(np.float32))
    padded.data[5] = 0  # a stored zero
    zeroed = padded.toarray()
    zeroed[zeroed == 0] = -0.0
    assert fingerprint_of({"train": Part(padded, y)}) == fingerprint_of({"train": Part(zeroed, y)})
    assert fingerprint_of({"train": Part(csr_array(X), y.astype(float))}) == reference
    changed = X.copy()
    changed[4999, 6] += 1
    relabelled = y.copy()
    relabelled[17] = 5
    others = [
        {"train": Part(changed, y)},
        {"train": Part(X, relabelled)},
        {"train": Part(X[:, ::-1], y)},
        {"test": Part(X, y)},
        {"train": Part(X[:-1], y[:-1]), "test": Part(X[-1:], y[-1:])},
        {"train": Part(np.pad(X, ((0, 0), (0, 1))), y)},
    ]
    assert len({reference, *(fingerprint_of(parts) for parts in others)}) == len(others) + 1


def test_blocks_are_the_rows_and_columns_asked_for(monkeypatch):
    X = np.arange(40.0).reshape(10, 4)
    parts = {"train": Part(X[:6], np.arange(6)), "test": Part(csr_array(X[6:]), np.arange(4))}
    raw = Raw("toy", "regression", parts)
    monkeypatch.setattr("kfeat.data.matrix.BLOCK_VALUES", 6)
    for rows in ([0, 1, 2, 3, 4, 5, 6, 7], [1, 4, 7, 9], [8]):
        blocks = list(raw.blocks(np.array(rows), np.array([0, 3])))
        assert all(isinstance(block, csr_array) and block.shape[0] <= 3 for block in blocks)
        assert np.vstack([block.toarray() for block in blocks]).tolist() == X[rows][:, [0, 3]].tolist()
