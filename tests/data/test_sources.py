"""What a config's `dataset:` may be: the user's own files, and generated data."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pydantic import TypeAdapter

from kfeat.data import FileSource, Protocol, Source, fingerprint, load
from kfeat.errors import ConfigError, DataError
from tests.data.files import write

CSV = "a,b,y\n" + "".join(f"{i},{i * i},{i % 2}\n" for i in range(40))
HALF = Protocol.model_validate({"split": {"kind": "fraction", "train": 0.5, "seed": 0}})


def test_own_files_are_parsed_once_and_again_when_they_change(tmp_path):
    path = write(tmp_path, CSV, "my.csv")
    source = {"path": str(path), "target": "y"}
    assert fingerprint(source, tmp_path) is None
    first = load(source, HALF, cache=tmp_path)
    assert fingerprint(source, tmp_path) == first.fingerprint
    arrays = {array: array.stat().st_mtime_ns for array in tmp_path.rglob("*.npy")}
    load(source, HALF, cache=tmp_path)
    assert arrays == {array: array.stat().st_mtime_ns for array in tmp_path.rglob("*.npy")}
    path.write_text(CSV.replace("3,9,1", "3,8,1"))
    os.utime(path, ns=(1, 1))
    assert fingerprint(source, tmp_path) is None
    second = load(source, HALF, cache=tmp_path)
    assert second.fingerprint != first.fingerprint
    other = tmp_path / "other.csv"
    other.write_text(CSV.replace("3,9,1", "3,7,1"))
    os.utime(other, ns=(1, 1))
    other.replace(path)  # of the same size and time
    assert fingerprint(source, tmp_path) is None
    assert load(source, HALF, cache=tmp_path).fingerprint not in (first.fingerprint, second.fingerprint)


def test_own_files_can_be_pinned(tmp_path):
    source = {"path": str(write(tmp_path, CSV, "my.csv")), "target": "y"}
    known = load(source, HALF, cache=tmp_path).fingerprint
    pinned = {**source, "fingerprint": known}
    assert fingerprint(pinned, tmp_path / "empty") == known
    assert load(pinned, HALF, cache=tmp_path).verified
    with pytest.raises(DataError, match=f"expected the fingerprint 0000.*, got {known}"):
        load({**source, "fingerprint": "0" * 64}, HALF, cache=tmp_path)


def test_words_as_labels_keep_their_names(tmp_path):
    path = write(tmp_path, CSV.replace(",0\n", ",no\n").replace(",1\n", ",yes\n"), "my.csv")
    data = load({"path": str(path), "target": "y"}, HALF, cache=tmp_path)
    assert (data.name, data.task, data.verified) == ("my.csv", "classification", False)
    assert data.label_names == ("no", "yes")
    against = Protocol.model_validate({**HALF.model_dump(mode="json"), "binarise": {"positive": "no"}})
    signs = load({"path": str(path), "target": "y"}, against, cache=tmp_path)
    assert_array_equal(signs.y_train, np.where(data.y_train == 0, 1, -1))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("adlut", "did you mean 'adult'"),
        ({"name": "unit_bal", "n": 5, "d": 2}, "unit_ball"),
        ({"name": "unit_ball", "n": 5}, "dataset.*d: missing"),
        ({"name": "unit_ball", "n": 1, "d": 2}, "at least 2"),
        ({"path": "a.csv", "traget": "y"}, "traget: unknown key"),
        ({"path": 5}, "path"),
        (7, "dataset"),
        ({"name": "yeras", "fingerprint": "0" * 64}, "did you mean 'years'"),
        ({}, "dataset"),
        ({"name": "dense", "d": 3, "n": 10**12}, "n [*] d to be 2,000,000,000 at most"),
        ({"name": "dense", "d": 3, "n": 40, "seed": 10**30}, "less than"),
        ({"path": "a.csv", "n_train": 10**30}, "at most"),
        ({"path": "a.svm", "n_features": 10**30}, "at most"),
        ({"path": "a.csv", "fingerprint": "\ud800"}, "fingerprint"),
        ({"name": "adult", "fingerprint": "00"}, "fingerprint"),
    ],
)
def test_sources_are_parsed_strictly(source, message):
    with pytest.raises(ConfigError, match=message):
        load(source)


@pytest.mark.parametrize(
    "source",
    [
        "adult",
        {"name": "years", "fingerprint": "0" * 64},
        {"path": "a.csv", "target": -1, "levels": {"b": ["x", "y"]}},
        {"name": "unit_ball", "n": 5, "d": 2},
    ],
)
def test_canonical_form_comes_back(source):
    adapter = TypeAdapter(Source)
    parsed = adapter.validate_python(source)
    assert adapter.validate_python(adapter.dump_python(parsed, mode="json")) == parsed
    assert len({parsed, adapter.validate_python(adapter.dump_python(parsed, mode="json"))}) == 1  # a key
    assert isinstance(parsed, FileSource) == (isinstance(source, dict) and "path" in source)
