"""Files that are no models, or no longer: each is refused with a sentence, and nothing in it is run."""

import io
import json
import os
import pickle
import resource
import signal
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from kfeat.errors import DataError, ModelError
from kfeat.maps import RandomFourier
from kfeat.own import KernelModel, load_model
from kfeat.solvers import Newton
from tests.own.forging import X, y


def test_any_changed_byte_is_seen_or_means_nothing(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(whole)
    expected, refused, places = load_model(path).predict(X), 0, range(7, len(whole), 149)
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with suppress(ModelError):
            assert (load_model(path).predict(X) == expected).all()
            continue
        refused += 1
    assert refused > 0.8 * len(places)  # dates in the headers of entries mean nothing


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99, 0.9999])
def test_a_file_that_was_cut_is_refused(whole: bytes, share: float, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelError, match=r"cut short or damaged|another file"):
        load_model(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with pytest.raises(DataError, match="no such file"):
        load_model(path)
    with pytest.raises(DataError, match="got a folder"):
        load_model(tmp_path)
    for content in (b"a,b\n1,2\n", pickle.dumps({"a": 1}), b"\x89PNG\r\n"):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"expected a model of kfeat, got another file; get "):
            load_model(path)
    np.savez(path, a=X)
    with pytest.raises(ModelError, match="got another archive"):
        load_model(f"{path}.npz")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps({"format": "another"}))
    with pytest.raises(ModelError, match="got another archive"):
        load_model(path)


def test_a_newer_file_says_to_update(whole: bytes, forged: Callable[..., Path]) -> None:
    path = forged(whole, lambda content, arrays: content.update(version=2, kfeat="9.1"))
    with pytest.raises(ModelError, match=r"by kfeat 9\.1, in version 2 of the format; .* update kfeat"):
        load_model(path)


def test_an_array_that_was_exchanged_is_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model"
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            array = old.read(name)
            new.writestr(name, array[:-8] + bytes(8) if name == "array0.npy" else array)
    with pytest.raises(ModelError, match="its array array0 is not the one that was written"):
        load_model(path)


def test_a_full_disk_leaves_the_old_model_and_nothing_else(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(whole)
    larger = KernelModel(RandomFourier(n_components=2000, random_state=0), Newton()).fit(X, y)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        with pytest.raises(ModelError, match=r"the model cannot be written \(File too large\); make room"):
            larger.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == whole
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("place", ["/proc/model", "no/such/folder/model", "/dev/null", "."])
def test_a_place_that_takes_no_file_is_named(place: str) -> None:
    model = KernelModel(solver=Newton()).fit(X, y)
    with pytest.raises(ModelError, match=rf"^{place}: (the model cannot be written|expected the name)"):
        model.save(place)
    assert not Path("/dev/null").is_file()
