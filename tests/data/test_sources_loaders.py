"""Data by a loader: what a function may return, and one sentence with file and line for what it may not."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import TypeAdapter

from kfeat.data import fingerprint, load, load_raw, sources
from kfeat.data.access import AS_SET
from kfeat.data.base import validated
from kfeat.data.protocol import Protocol
from kfeat.data.sources import LoaderSource, RegisteredSource, Source, loader
from kfeat.errors import ConfigError, DataError
from tests.data.files import dense

TOY = """\
import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

CALLS = Path(__file__).with_name("calls")
X = np.array([[0.0, 1], [2, 0], [0, 0], [0, 3], [0, 5.5], [0, 0]])
y = np.array([0, 1, 0, 1, 0, 1])
WORDS = ["no", "yes"]
CSR = sparse.csr_matrix((np.r_[X.ravel(), 1, -1], np.r_[np.tile([0, 1], 6), 0, 0], [0, 4, 6, 8, 10, 12, 14]))


def load():
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a function that makes the source of a loader with this body."""
    monkeypatch.chdir(tmp_path)

    def source(body, **options):
        (tmp_path / "my_data.py").write_text(f"{TOY}    {body}\n")
        return {"loader": "my_data.py:load", **options}

    return source


@pytest.mark.parametrize(
    "body",
    [
        "return X, y",
        "return [X.tolist(), y.tolist()]",
        "return X.astype(np.float32), y[:, None]",
        "return sparse.coo_array(X), y.astype(float)",
        "return sparse.csc_matrix(X), pd.Series(y, index=range(5, 11))",
        "return pd.DataFrame(X, columns=['a', 'a']), pd.DataFrame({'y': y})",
        "return pd.DataFrame({'a': X[:, 0].astype(int), 'b': pd.Series(X[:, 1], dtype=object)}), pd.array(y)",
    ],
)
def test_the_same_numbers_are_the_same_data_in_any_form(body, toy):
    raw = load_raw(toy(body))
    assert raw.fingerprint == load_raw(toy("return X, y")).fingerprint
    assert (raw.name, raw.task, raw.label_names) == ("my_data.py:load", "classification", ())


def test_what_the_loader_returned_is_not_changed(toy):
    source = toy("np.save(CALLS, CSR.data); return CSR, y")
    first = load_raw(source)
    assert load_raw(source).fingerprint == first.fingerprint
    np.testing.assert_array_equal(np.load("calls.npy"), [0, 1, 2, 0, 0, 0, 0, 3, 0, 5.5, 0, 0, 1, -1])


@pytest.mark.parametrize("form", ["{}", "np.array({})", "np.array({}, dtype=object)", "pd.Series({})"])
def test_strings_are_rows_in_any_form(form, toy):
    strings = ["ACGT", "CC", "é", "GATTACA", "T", "AA"]
    source = toy(f"return {form.format(strings)}, y")
    halves = {"split": {"kind": "fraction", "train": 0.5, "seed": 0}}
    data = load(source, halves)
    assert {*data.X_train[:, 0], *data.X_test[:, 0]} == {*strings}
    assert data.fingerprint == load_raw(toy(f"return {strings}, y")).fingerprint
    assert data.fingerprint != load_raw(toy(f"return {strings[::-1]}, y")).fingerprint
    for option in ({"scale": "minmax"}, {"constant_features": "drop"}):
        with pytest.raises(DataError, match="its rows are strings, so the protocol cannot"):
            load(source, halves | option)


@pytest.mark.parametrize("words", ["np.array(WORDS)[y][:, None]", "pd.Categorical.from_codes(y, WORDS)"])
def test_words_are_classes(words, toy):
    raw = load_raw(toy(f"return X, {words}"))
    assert (raw.task, raw.label_names, raw.y.tolist()) == (
        "classification",
        ("no", "yes"),
        [0, 1, 0, 1, 0, 1],
    )


def test_the_task_is_inferred_or_given(toy):
    assert load_raw(toy("return X, y + 0.5")).task == "regression"
    assert load_raw(toy("return X, y", task="regression")).task == "regression"
    assert load_raw(toy("return X, y == 1")).task == "classification"
    with pytest.raises(
        DataError, match=r"my_data.py, line 15: expected numbers as targets of a regression, got"
    ):
        load_raw(toy("return X, np.array(WORDS)[y]", task="regression"))


def test_two_parts_are_the_official_split_and_one_part_is_split_by_the_protocol(toy):
    two = toy("return X[:4], np.array(WORDS)[y[:4]], sparse.csr_array(X[4:]), ['yes', 'no']")
    data = load(two, {"split": "official", "scale": {"divide": 2}})
    assert data.y_test.tolist() == [1, 0]
    np.testing.assert_array_equal(dense(data.X_train), [[0, 0.5], [1, 0], [0, 0], [0, 1.5]])
    np.testing.assert_array_equal(dense(data.X_test), [[0, 2.75], [0, 0]])
    one = load(toy("return X, y"), {"split": {"kind": "fraction", "train": 0.5, "seed": 0}})
    assert one.X_train.shape == one.X_test.shape == (3, 2)
    with pytest.raises(DataError, match="expected two classes or more in the training rows, got one"):
        load(toy("return X[:4], 0 * y[:4], X, y"), {"split": "official"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1 / 0", "my_data.py:load failed: my_data.py, line 16: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "my_data.py:load failed: my_data.py, line 16: SystemExit: 3"),
        ("json.loads('?')", "my_data.py:load failed: my_data.py, line 16: JSONDecodeError: Expecting value"),
        (
            "pass",
            "line 15: expected (X, y) or (X_train, y_train, X_test, y_test), got NoneType",
        ),
        ("return X, y, X", "X_test, y_test), got 3 values"),
        ("return X", "X_test, y_test), got ndarray"),
        ("return X, y[:5]", "line 15: expected a label for each row, got 6 rows and 5 labels"),
        ("return X, y, X[:, :1], y", "line 15: expected rows of 2 features as in the training part, got 1"),
        ("return X[:0], y[:0]", "line 15: expected rows and columns of data, got 0 rows and 2 columns"),
        ("return X[:, :, None], y", "line 15: expected X of two axes and y of one, got (6, 2, 1), (6,)"),
        ("return X, y, X, X", "line 15: expected X_test of two axes and y_test of one, got (6, 2), (6, 2)"),
        ("return X * 1j, y", "line 15: expected real numbers in X, got complex128"),
        ("return pd.DataFrame(X * 1j), y", "line 15: expected real numbers in X, got complex128"),
        ("return X, y * 1j", "line 15: expected real numbers in y, got complex128"),
        (
            "return np.where(X > 5, np.nan, X), y",
            "line 15, row 5, column 2: expected a finite number, got nan",
        ),
        (
            "return sparse.csr_matrix(np.where(X > 5, np.inf, X)), y",
            "line 15, row 5, column 2: expected a finite",
        ),
        (
            "return pd.DataFrame({'a': pd.array([1, None])}), [0, 1]",
            "row 2, column 1: expected a finite number",
        ),
        (
            "return X, np.where(y == 1, np.nan, y)",
            "line 15, row 2, column of the labels: expected a finite number",
        ),
        (
            "return X, ['no', None, 'no', 'yes', 'no', 'yes']",
            "row 2, column y: expected a value, got a missing",
        ),
        ("return X, WORDS * 3, X[:1], ['maybe']", "row 1, column y: expected one of no, yes, got 'maybe'"),
        (
            "return pd.DataFrame({'a': y, 'job': ['x'] * 6}), y",
            "row 1, column job: expected numbers, got 'x'; the",
        ),
        ("return pd.DataFrame({'c': pd.Categorical(WORDS * 3)}), y", "column c: expected numbers, got 'no'"),
        ("return [[1], [1, 2]], [0, 1]", "line 15: cannot be read as arrays ("),
        (
            "return pd.DataFrame(index=range(6)), y",
            "line 15: expected rows and columns of data, got 6 rows and 0",
        ),
        ("return object(), y", "line 15: expected X of two axes and y of one, got (), (6,)"),
    ],
)
def test_what_is_no_data_is_said_in_a_sentence_with_the_line(body, message, toy):
    with pytest.raises(DataError) as error:
        load_raw(toy(body))
    assert message in str(error.value)
    assert "my_data.py, line 1" in str(error.value)
    assert "\n" not in str(error.value)


def test_what_cannot_be_imported_is_said_too(toy):
    source = toy("return X, y")
    with pytest.raises(DataError, match=r"my_data.py has no 'lod' \(did you mean 'load'\?\)"):
        load_raw({"loader": "my_data.py:lod"})
    with pytest.raises(DataError, match=r"my_data.py:y failed: .*my_data.py: TypeError: .*not callable"):
        load_raw({"loader": "my_data.py:y"})
    with pytest.raises(
        ConfigError, match=r"dataset.function.loader: none.py: this file of code cannot be read"
    ):
        load_raw({"loader": "none.py:load"})
    with pytest.raises(ConfigError, match=r"dataset.function.loader: expected text \(got 3\)"):
        load_raw({"loader": 3})
    with pytest.raises(ConfigError, match=r"dataset.function.target: unknown key"):
        load_raw({**source, "target": "y"})


def test_other_processes_read_what_is_kept_and_a_mapping_is_called_anew(toy):
    written = toy("CALLS.touch(); CALLS.write_text(CALLS.read_text() + '.'); return X, y")
    source = validated(Source, written, "dataset")
    assert fingerprint(source) is None
    assert source.shape_under(Protocol(split={"kind": "all"})) is None
    first = load_raw(source)
    assert (
        load_raw(pickle.loads(pickle.dumps(source))).fingerprint == fingerprint(source) == first.fingerprint
    )
    assert source.shape_under(Protocol(split={"kind": "all"})).n_features == 2
    assert Path("calls").read_text() == "."
    array = Path(first.parts["train"].X.filename)
    before = array.stat().st_ino
    load_raw(written)
    assert Path("calls").read_text() == ".."
    assert array.stat().st_ino == before  # the same numbers are not written again
    assert fingerprint(toy("return 2 * X, y")) is None


def test_other_data_of_the_same_code_replace_those_kept(toy, tmp_path):
    written = toy("k = float(Path('k').read_text()); return k * X, y")
    source = validated(Source, written, "dataset")
    (tmp_path / "k").write_text("1")
    before = load_raw(written).fingerprint
    (tmp_path / "k").write_text("2")
    assert load_raw(source).fingerprint == before
    assert load_raw(written).fingerprint == load_raw(source).fingerprint == fingerprint(source) != before
    with pytest.raises(DataError, match=f"my_data.py:load: expected the fingerprint {before}, got"):
        load_raw({**written, "fingerprint": before})
    (tmp_path / "k").write_text("1")
    assert load_raw({**written, "fingerprint": before}).verified


def test_a_config_names_a_file_beside_it(tmp_path, caplog):
    (tmp_path / "my_data.py").write_text(f"{TOY}    return X, y\n")

    def read(code):
        origin = SimpleNamespace(path=tmp_path / "c.yaml", code=code)
        return TypeAdapter(Source).validate_python({"loader": "my_data.py:load"}, context=origin)

    assert load_raw(read("name")).name == "my_data.py:load"
    assert caplog.text == ""
    for _ in range(2):
        read("run").renew(AS_SET)
    assert caplog.messages == [f"{tmp_path}/my_data.py is imported, since `dataset` names it"]
    with pytest.raises(ValueError, match=r"'my_data.py:load' is code, which --no-code refuses"):
        read("refuse")
    (tmp_path / "my_data.py").unlink()
    assert fingerprint(read("name")) is None
    with pytest.raises(ValueError, match=r"my_data.py: this file of code cannot be read"):
        read("run")


def test_short_names_of_packages_are_loaders(tmp_path, monkeypatch):
    known = {"adult": "no:no", "toy": "sklearn.datasets:load_iris"}
    for module in (sources, loader):
        monkeypatch.setattr(module, "entry_points", lambda group: known)
    monkeypatch.setattr("sklearn.datasets.load_iris", lambda: (np.eye(4), [0, 1, 0, 1]))
    source = validated(Source, "toy", "dataset")
    assert isinstance(source, LoaderSource)
    assert (source.name, source.loader.version.split()[0]) == ("toy", "scikit-learn")
    assert json.loads(source.model_dump_json())["loader"] == "toy"
    assert source == validated(Source, {"loader": "toy"}, "dataset")
    assert load_raw("toy").n_features == 4
    assert validated(Source, "adult", "dataset") == RegisteredSource(name="adult")
    with pytest.raises(ConfigError, match="unknown dataset 'nosuch'"):
        load_raw("nosuch")
