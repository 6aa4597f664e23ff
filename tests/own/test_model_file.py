"""Files that are no models, or forged ones: each is refused with a sentence, and nothing in it is run."""

import io
import json
import os
import pickle
import re
import resource
import signal
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from kfeat.errors import DataError, ModelError
from kfeat.kernels import Gaussian
from kfeat.maps import RandomFourier, TensorSketch
from kfeat.own import KernelModel, load_model
from kfeat.own.candidates import boosting_model
from kfeat.solvers import Libsvm, Newton

rng = np.random.default_rng(0)
X = rng.random((60, 4))
y = (X[:, 0] + X[:, 1] > 1).astype(int)
MODEL = KernelModel(TensorSketch(n_components=8, random_state=0), Newton(), scale="zscore")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of a small model."""
    path = tmp_path_factory.mktemp("whole") / "model"
    MODEL.fit(X, y).save(path)
    return path.read_bytes()


def forge(content, change, path, packed=zipfile.ZIP_STORED):
    """Write a model's file to `path`, its content changed and every checksum as it should be."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries["schema.json"])
    change(schema, entries)
    entries["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, entry in entries.items():
            archive.writestr(name, entry)
    return path


def part(schema, *names):
    """Return the node of an attribute, which stands for itself alone from now on."""
    for name in names:
        schema = schema["content"]["content"][name]
    schema.pop("__id__", None)
    return schema


def array(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def header(descr, shape):
    out, given = io.BytesIO(), {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, given)
    return out.getvalue()


def word(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


def test_any_changed_byte_is_seen_or_means_nothing(whole, tmp_path):
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


def test_cut_and_other_files_are_refused(whole, tmp_path):
    path = tmp_path / "other"
    with pytest.raises(DataError, match="no such file"):
        load_model(path)
    with pytest.raises(DataError, match="got a folder"):
        load_model(tmp_path)
    cut = [whole[: int(share * len(whole))] for share in (0.0, 0.1, 0.5, 0.99, 0.9999)]
    for content in (*cut, b"a,b\n1,2\n", pickle.dumps({"a": 1}), b"\x89PNG\r\n"):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=r"expected a model that kfeat \S+ can use, got another file \("):
            load_model(path)
    np.savez(path, a=X)
    with pytest.raises(ModelError, match="no item named 'schema"):
        load_model(f"{path}.npz")
    with zipfile.ZipFile(path, "w") as archive:  # of the format that kfeat had first
        archive.writestr("model.json", json.dumps({"format": "kfeat model", "version": 1}))
    with pytest.raises(ModelError, match=r"train again with `kfeat fit CONFIG"):
        load_model(path)


def test_a_full_disk_leaves_the_old_model_and_nothing_else(whole, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(whole)
    larger = KernelModel(RandomFourier(n_components=2000, random_state=0), Newton()).fit(X, y)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        with pytest.raises(ModelError, match=r"the model cannot be written \(File too large\); free"):
            larger.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == whole
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("place", ["/proc/model", "no/such/folder/model", "/dev/null", "."])
def test_a_place_that_takes_no_file_is_named(place):
    model = KernelModel(solver=Newton()).fit(X, y)
    with pytest.raises(ModelError, match=rf"^{place}: (the model cannot be written|expected the name)"):
        model.save(place)
    assert not Path("/dev/null").is_file()


def test_its_json_has_no_indentation(whole):
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        schema = archive.read("schema.json")
    assert schema == json.dumps(json.loads(schema), separators=(",", ":")).encode()


def test_packed_entries_are_refused_unread(whole, tmp_path):
    path = forge(whole, lambda schema, entries: None, tmp_path / "forged")
    assert load_model(path).score(X, y) > 0.6  # so that the tests below see their own fault
    with pytest.raises(ModelError, match="its entries are packed"):
        load_model(forge(whole, lambda schema, entries: None, path, zipfile.ZIP_DEFLATED))


def replaced(new):
    """Return the change that exchanges the hashes of the sketch."""
    return lambda schema, entries: entries.update({part(schema, "map_", "buckets_")["file"]: new})


def named(*place, **change):
    """Return the change of the node of an attribute."""
    return lambda schema, entries: part(schema, *place).update(change)


def added(*place, **more):
    """Return the change that gives an object more attributes, or others."""

    def change(schema, entries):
        attributes = part(schema, *place)["content"]
        attributes["content"] |= more
        key = attributes["key_types"]["content"][0]
        attributes["key_types"]["content"] = [key] * len(attributes["content"])

    return change


def newer(schema, entries):
    # skops reads an object of a known id once, and another 4 of the model has the same id.
    schema["content"]["content"]["about_"]["content"]["format"] |= {"content": "6", "__id__": 0}


def no_model(schema, entries):
    schema |= part(schema, "map_")


SYSTEM = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}
CALL = {"__class__": "system", "__module__": "os", "content": word(["true"])}
FORGED = {
    "newer": (newer, "it is in version 6 of the format, not 5"),
    "huge": (replaced(header("<f8", (10**15,))), "got another file ("),
    "short": (replaced(header("<f8", (10,)) + bytes(72)), "got another file ("),
    "pickle": (replaced(header("|O", (1,)) + bytes(8)), "got another file ("),
    "no array": (replaced(b"not an array"), "got another file ("),
    "unknown class": (named("map_", __class__="system", __module__="os"), "os.system"),
    "function": (added("map_", n_jobs=SYSTEM), "os.system"),
    "call": (added("map_", n_jobs=CALL | {"__loader__": "ConstructorFromReduceNode"}), "os.system"),
    "widths": (named("preparation_", "n_features", content="5"), "expecting 4 features"),
    "components": (
        named("map_", "_n_features_out", content="1000000000"),
        "_n_features_out is 1,000",
    ),
    "parameter": (named("map_", "n_components", content="1000000000"), "n_components is 1,000"),
    "no such loss": (named("solver_", "C", content="-1"), "Newton: C: expected more than 0"),
    "null": (named("solver_", "n_iter_", content="null"), "NoneType"),
    "a width": (named("n_features_in_", content="9"), "the numbers of its features do not match"),
    "no file": (named("solver_", "coef_", file="99.npy"), "99.npy"),
    "another part": (added(solver_=word(1)), "cannot hold the solver int"),
    "no model": (no_model, "it holds a TensorSketch, not a model"),
}


@pytest.mark.parametrize("name", FORGED)
def test_content_that_no_model_has_is_refused(name, whole, tmp_path):
    change, told = FORGED[name]
    path = forge(whole, change, tmp_path / "forged")
    with pytest.raises(ModelError, match=re.escape(told)) as raised:
        load_model(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("counts", np.array([10**6, 1])),
        ("order", np.array([0, 7])),
        ("coefficients", np.zeros((1, 3))),
        ("rho", np.zeros(9)),
        ("vectors", np.zeros((2, 4))),
    ],
)
def test_libsvm_never_sees_arrays_that_do_not_match(name, values, tmp_path):
    KernelModel(solver=Libsvm(Gaussian(1.0))).fit(X, y).save(tmp_path / "model")

    def change(schema, entries):
        entries[part(schema, "solver_", "_model", name)["file"]] = array(values)

    with pytest.raises(ModelError, match="SupportVectors are damaged"):
        load_model(forge((tmp_path / "model").read_bytes(), change, tmp_path / "forged"))


@pytest.mark.parametrize(
    ("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 4), ("feature_idx", -1)]
)
def test_trees_never_lead_out_of_their_arrays(field, value, tmp_path, monkeypatch):
    model = boosting_model("classification", None, 0).set_params(solver__max_iter=2).fit(X, y)
    model.save(tmp_path / "model")
    assert (load_model(tmp_path / "model").predict(X) == model.predict(X)).all()
    nodes = model.solver_._predictors[1][0].nodes
    nodes[field][0] = value
    with monkeypatch.context() as patch:
        # Nothing public writes a damaged model.
        patch.setattr("kfeat.own.model_format.check_solver", lambda solver: None)
        model.save(tmp_path / "forged")
    with pytest.raises(ModelError, match="the trees of its boosting are damaged"):
        load_model(tmp_path / "forged")


def test_no_other_estimator_of_scikit_learn_is_kept(tmp_path):
    model = KernelModel(solver=LogisticRegression()).fit(X, y)
    with pytest.raises(ModelError, match="cannot hold the solver LogisticRegression"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("part", "labels"),
    [("solver_", [0]), ("solver_", [1, 0]), ("solver_", [0, 0]), ("solver_", [0, 1, 2]), ("model", ["a"]),
     ("model", [1, 1])],
)  # fmt: skip
def test_labels_that_do_not_match_are_refused_when_the_model_is_loaded(part, labels, tmp_path):
    model = KernelModel(solver=Newton()).fit(X, y)
    (model.solver_ if part == "solver_" else model).classes_ = np.array(labels)
    model.save(tmp_path / "forged")
    with pytest.raises(ModelError, match=r"its labels, .*, do not match its solver's"):
        load_model(tmp_path / "forged")


def test_labels_without_a_score_are_refused_when_the_model_is_loaded(tmp_path):
    model = KernelModel(solver=Newton()).fit(X, y)
    model.classes_ = model.solver_.classes_ = np.array([0, 1, 2])
    model.save(tmp_path / "forged")
    with pytest.raises(ModelError, match=r"its decision_function has the shape \(1,\), not \(1, 3\)"):
        load_model(tmp_path / "forged")
