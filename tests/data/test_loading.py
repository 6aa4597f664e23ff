"""Registered datasets: whole or refused; parsed once; every real file is what the registry says."""

import shutil

import numpy as np
import pytest

from kfeat.data import Protocol, clean, fingerprint, load
from kfeat.data.fingerprints import fingerprint_of
from kfeat.data.loading import load_raw
from kfeat.data.reading import Reading
from kfeat.data.registry import Form, registry
from kfeat.errors import DataError, DownloadError
from tests.data.files import in_two_processes
from tests.data.web import TRAIN, Answer, remote, toy


def unpinned(web):
    """Return the entry without the hashes of its files."""
    form = toy(web).forms[0]
    files = {role: file.model_copy(update={"sha256": None}) for role, file in form.files.items()}
    return toy(web, forms=(Form(files=files, reading=form.reading),))


def test_load_parses_once_and_maps_the_arrays(web, tmp_path, enter):
    enter(toy(web))
    first = load_raw("toy", cache=tmp_path)
    arrays = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    second = load_raw("toy", cache=tmp_path)
    assert arrays == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npy")}
    assert first.fingerprint == second.fingerprint == fingerprint_of(second.parts)
    assert isinstance(second.parts["train"].X, np.memmap)
    data = load("toy", cache=tmp_path)
    assert data.X_train.tolist()[:2] == [[0.5, 0, 1, 0], [0, 1, 0, 0]]
    assert (data.y_test.tolist(), data.task, data.verified) == ([1, -1], "classification", True)
    data.X_train[0, 0] = 9  # the caller's own copy


@pytest.mark.parametrize("folder", ["toy", "another"])
def test_a_copied_cache_is_not_parsed_again(web, tmp_path, enter, folder):
    train = remote(TRAIN, web.serve("/train", Answer(TRAIN)), path=f"{folder}/train")
    form = Form(files={"train": train}, reading=Reading(format="svmlight", n_features=4))
    enter(toy(web, forms=(form,), shape={"train": (100, 4)}))
    found = load_raw("toy", cache=tmp_path / "a").fingerprint
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert fingerprint("toy", tmp_path / "b") == found


def test_fingerprint_is_known_without_loading(web, tmp_path, enter):
    enter(toy(web))
    assert fingerprint("toy", tmp_path) is None
    assert web.requests == []
    recorded = load("toy", cache=tmp_path).fingerprint
    assert fingerprint("toy", tmp_path) == recorded
    enter(toy(web, fingerprint="0" * 64))
    assert fingerprint("toy", tmp_path) == "0" * 64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fingerprint": "0" * 64}, "expected the fingerprint 0000"),
        ({"shape": {"train": (101, 4)}}, r"expected train rows x features \(101, 4\), got \(100, 4\)"),
    ],
)
def test_data_that_is_not_as_registered_is_refused_each_time(web, tmp_path, enter, changes, message):
    enter(toy(web, **changes))
    for _ in range(2):
        with pytest.raises(DataError, match=message):
            load("toy", cache=tmp_path)
    assert sorted(web.requests) == ["/test", "/train"]  # files of the right content are not fetched again


def test_unverified_data_says_so_with_the_fingerprint_to_pin(web, tmp_path, enter, caplog):
    enter(unpinned(web))
    met = load("toy", cache=tmp_path)
    assert not met.verified
    for _ in range(3):
        load("toy", cache=tmp_path)
    assert caplog.text.count("unverified") == caplog.text.count(met.fingerprint) == 1
    pinned = {"name": "toy", "fingerprint": met.fingerprint}  # by the config
    assert load(pinned, cache=tmp_path).verified
    assert fingerprint(pinned, tmp_path / "empty") == met.fingerprint
    with pytest.raises(DataError, match=f"expected the fingerprint 0000.*, got {met.fingerprint}"):
        load({"name": "toy", "fingerprint": "0" * 64}, cache=tmp_path)
    enter(unpinned(web).model_copy(update={"fingerprint": met.fingerprint}))  # by the registry
    caplog.clear()
    assert load("toy", cache=tmp_path).verified
    assert caplog.text == ""


def test_wrong_file_without_known_hash_is_fetched_again_once_it_is_cleaned(web, tmp_path, enter):
    enter(unpinned(web))
    web.serve("/train", Answer(TRAIN + b"+1 1:1\n"))
    with pytest.raises(DataError, match=r"101.*; `kfeat data clean toy` removes the files"):
        load("toy", cache=tmp_path)
    web.serve("/train", Answer(TRAIN))
    clean("toy", tmp_path)
    assert load("toy", cache=tmp_path).X_train.shape == (100, 4)


def test_stand_in_is_named(tmp_path):
    with pytest.raises(DownloadError, match="a stand-in under its own name is house_16h"):
        load("census", cache=tmp_path, offline=True)


def test_second_form_when_the_first_cannot_be_had(web, tmp_path, enter):
    second = toy(web).forms[0]
    gone = {"train": remote(TRAIN, web.url + "/gone", path="toy/gone"), "test": second.files["test"]}
    enter(toy(web, forms=(Form(files=gone, reading=second.reading), second)))
    assert load("toy", cache=tmp_path).verified
    web.answers.clear()
    assert load("toy", cache=tmp_path, offline=True).verified
    with pytest.raises(DownloadError, match=r"toy/gone could not.*; or else: toy/train could not"):
        load("toy", cache=tmp_path / "other")


def load_one(cache, entry):
    registry()["toy"] = entry
    assert load("toy", cache=cache).X_train.shape == (100, 4)


def test_several_processes_load_at_once(web, tmp_path):
    in_two_processes(load_one, tmp_path, toy(web))
    assert sorted(web.requests) == ["/test", "/train"]


def test_digits_need_no_files(tmp_path):
    half = Protocol.model_validate({"split": {"kind": "fraction", "train": 0.5}})
    data = load("digits", half, cache=tmp_path, offline=True)
    assert data.verified
    assert data.X_train.shape[1] == 64
    assert list(tmp_path.iterdir()) == []


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name, entry in registry().items() if entry.fingerprint))
def test_every_real_dataset_is_the_pinned_one(name, mirror, real_cache):
    raw = load_raw(name, mirror=mirror, cache=real_cache, offline=True)
    assert raw.verified
    assert raw.fingerprint == registry()[name].fingerprint == fingerprint_of(raw.parts, raw.label_names)
    assert {part: data.X.shape for part, data in raw.parts.items()} == registry()[name].shape
