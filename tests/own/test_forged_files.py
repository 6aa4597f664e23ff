"""Files whose content somebody changed, with every hash as it should be: nothing in them is trusted."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kfeat.errors import ModelError
from kfeat.kernels import Gaussian
from kfeat.maps import TensorSketch
from kfeat.own import KernelModel, load_model
from kfeat.own.npy import write_npy
from kfeat.solvers import Libsvm
from tests.own.forging import Arrays, Change, Content, X, part, y


def test_a_forged_file_without_a_change_loads(whole: bytes, forged: Callable[..., Path]) -> None:
    model = load_model(forged(whole, lambda content, arrays: None))  # so the tests below see their own fault
    assert model.score(X, y) > 0.6


def test_packed_entries_are_refused_unread(whole: bytes, forged: Callable[..., Path]) -> None:
    def bomb(content: Content, arrays: Arrays) -> None:
        arrays["array0"] = bytes(10**7)

    with pytest.raises(ModelError, match="its entries are packed"):
        load_model(forged(whole, bomb, packed=zipfile.ZIP_DEFLATED))


def header(descr: str, shape: tuple[int, ...]) -> bytes:
    """Return the header of a .npy file."""
    out = io.BytesIO()
    given: Any = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, given)
    return out.getvalue()


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (header("<f8", (10**12,)), "an array of float64 (1000000000000,) where 128 bytes are kept"),
        (header("<f8", (10,)) + bytes(72), "an array of float64 (10,) where 200 bytes are kept"),
        (header("|O", (1,)) + bytes(8), "an array of object (1,)"),
        (b"\x93NUMPY\x03\x00" + bytes(20), "a version of .npy that kfeat does not write"),
        (b"not an array", "it is damaged"),
    ],
    ids=["huge", "short", "pickle", "another version", "nothing"],
)
def test_arrays_are_checked_before_they_are_allocated(
    array: bytes, told: str, whole: bytes, forged: Callable[..., Path]
) -> None:
    with pytest.raises(ModelError, match=re.escape(told)):
        load_model(forged(whole, lambda content, arrays: arrays.update(array0=array)))


def unknown_class(content: Content, arrays: Arrays) -> None:
    part(content, "learnt", "map_")["is"] = "os.system"


def unknown_parameter(content: Content, arrays: Arrays) -> None:
    part(content, "learnt", "map_", "parameters")["command"] = "ls"


def parameter_out_of_range(content: Content, arrays: Arrays) -> None:
    part(content, "learnt", "map_", "parameters")["n_components"] = -4


def method_replaced(content: Content, arrays: Arrays) -> None:
    part(content, "learnt", "map_", "learnt")["transform"] = 1


def widths_that_differ(content: Content, arrays: Arrays) -> None:
    part(content, "learnt", "preparation_", "parameters")["n_features"] = 5


def array_that_is_not_there(content: Content, arrays: Arrays) -> None:
    part(content, "learnt", "solver_", "learnt", "coef_")["name"] = "array99"


def missing_part(content: Content, arrays: Arrays) -> None:
    del part(content, "learnt")["solver_"]


def no_model(content: Content, arrays: Arrays) -> None:
    content["model"] = part(content, "learnt", "map_")


def deep(content: Content, arrays: Arrays) -> None:
    found: Any = 1
    for _ in range(600):
        found = [found]
    part(content, "learnt")["about_"] = {"is": "dict", "items": found}


def hash_outside_of_the_sketch(content: Content, arrays: Arrays) -> None:
    name = part(content, "learnt", "map_", "learnt", "buckets_")["name"]
    out = io.BytesIO()
    write_npy(out, np.full((2, 5), 10**6))
    arrays[name] = out.getvalue()


CHANGES: dict[Change, str] = {
    unknown_class: "an object of the class 'os.system', which this kfeat does not know",
    unknown_parameter: "unexpected keyword argument 'command'",
    parameter_out_of_range: "n_components: expected at least 1",
    method_replaced: "a TensorSketch with the attribute 'transform', which none has",
    widths_that_differ: "expecting 4 features",
    array_that_is_not_there: "array99",
    missing_part: "solver_",
    no_model: "it holds a TensorSketch, not a model",
    deep: "it is damaged",
    hash_outside_of_the_sketch: "it predicts otherwise here",
}


@pytest.mark.parametrize("change", CHANGES)
def test_content_that_no_model_has_is_refused(
    change: Change, whole: bytes, forged: Callable[..., Path]
) -> None:
    path = forged(whole, change)
    with pytest.raises(ModelError) as raised:
        load_model(path)
    assert str(raised.value).startswith(f"{path}: it ")
    assert CHANGES[change] in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_changed_text_is_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model"
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'"n_train", 60', b'"n_train", 61'))
    with pytest.raises(ModelError, match=r"its model\.json is not the one that was written"):
        load_model(path)


def test_a_kfeat_that_understands_the_arrays_otherwise_refuses_them(
    whole: bytes, forged: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = forged(whole, lambda content, arrays: content.update(kfeat="0.0.9"))
    real = TensorSketch._block_mapper

    def other(self: TensorSketch, dtype: Any) -> Any:
        mapper = real(self, dtype)
        return lambda X, out: mapper(X[:, ::-1], out)

    monkeypatch.setattr(TensorSketch, "_block_mapper", other)
    with pytest.raises(ModelError, match=r"otherwise here than where it was written, by kfeat 0\.0\.9: use"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("counts", np.array([10**6, 1])),
        ("order", np.array([0, 7])),
        ("coefficients", np.zeros((1, 3))),
        ("rho", np.zeros(9)),
        ("vectors", np.zeros((2, 4))),
    ],
)
def test_libsvm_never_sees_arrays_that_do_not_match(
    name: str, array: Any, tmp_path: Path, forged: Callable[..., Path]
) -> None:
    KernelModel(solver=Libsvm(Gaussian(1.0))).fit(X, y).save(tmp_path / "model")

    def change(content: Content, arrays: Arrays) -> None:
        out = io.BytesIO()
        write_npy(out, array)
        arrays["changed"] = out.getvalue()
        vectors = part(content, "learnt", "solver_", "learnt", "_model", "parameters")
        vectors[name] = {"is": "array", "name": "changed"}

    with pytest.raises(ModelError, match="SupportVectors is damaged"):
        load_model(forged((tmp_path / "model").read_bytes(), change))
