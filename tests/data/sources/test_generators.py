"""Generated data: the same for the same specification, with labels that mean what they say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import PolynomialFeatures

from kfeat.data import fingerprint, load, load_raw
from kfeat.data.access import AS_SET
from kfeat.data.sources.generators import Dense, Normal, Quadric, UnitBall
from kfeat.data.sources.large_quadric import LargeQuadric
from kfeat.errors import ConfigError, DataError

KINDS = {"unit_ball": UnitBall, "dense": Dense, "normal": Normal, "quadric": Quadric}
SPECS = [cls(name=name, n=400, d=5) for name, cls in KINDS.items()]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_the_same_specification_gives_the_same_numbers(spec):
    a, b = spec.load(AS_SET).parts["train"], spec.load(AS_SET).parts["train"]
    assert np.array_equal(a.X, b.X)
    assert np.array_equal(a.y, b.y)
    other = spec.model_copy(update={"seed": 1}).load(AS_SET).parts["train"]
    assert not np.array_equal(a.X, other.X)
    others = [spec.model_copy(update=change) for change in ({}, {"seed": 1}, {"n": 401}, {"d": 6})]
    assert len({one.pinned for one in others}) == 4


@pytest.mark.parametrize("spec", SPECS[:3], ids=lambda spec: spec.name)
def test_a_linear_machine_learns_linear_labels(spec):
    part = spec.load(AS_SET).parts["train"]
    assert LogisticRegression(C=1e6, max_iter=1000).fit(part.X, part.y).score(part.X, part.y) > 0.98


def test_a_quadric_needs_degree_two_and_a_share_of_its_labels_is_wrong():
    true, noisy = (
        Quadric(name="quadric", n=4000, d=5, noise=noise).load(AS_SET).parts["train"] for noise in (0.0, 0.1)
    )
    machine, squares = LogisticRegression(C=1e6, max_iter=1000), PolynomialFeatures(2).fit_transform(true.X)
    assert machine.fit(true.X, true.y).score(true.X, true.y) < 0.6
    assert machine.fit(squares, true.y).score(squares, true.y) > 0.98
    assert_array_equal(true.X, noisy.X)
    assert abs(np.mean(true.y != noisy.y) - 0.1) < 4 * np.sqrt(0.09 / 4000)


SPEC = {"name": "large_quadric", "n": 70_000, "d": 4}
IN_ORDER = {"split": {"kind": "in_order", "n_train": 69_000}}


def mapped(X):
    while isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        X = X.base
    return isinstance(X, np.memmap)


def test_the_first_rows_do_not_depend_on_how_many_there_are(tmp_path):
    for task in ("classification", "regression"):
        whole, part = (
            load_raw({**SPEC, "n": n, "task": task}, cache=tmp_path).parts["train"] for n in (70_000, 66_000)
        )
        assert whole.X.dtype == np.float32
        assert_array_equal(whole.X[:66_000], part.X)
        assert_array_equal(whole.y[:66_000], part.y)


def test_they_are_generated_once_and_mapped(tmp_path, monkeypatch):
    first = load_raw(SPEC, cache=tmp_path)
    monkeypatch.setattr(LargeQuadric, "generate", None)
    again = load_raw(SPEC, cache=tmp_path)
    assert again.fingerprint == first.fingerprint == fingerprint(SPEC)
    assert again.verified
    assert mapped(again.parts["train"].X)
    assert [path.name for path in tmp_path.iterdir()] == ["generated"]


def test_targets_mean_what_the_specification_says(tmp_path):
    def part(**more):
        return load_raw({**SPEC, **more}, cache=tmp_path).parts["train"]

    exact, values = part(noise=0.0).y, part(noise=0.0, task="regression")
    assert abs(np.mean(exact != part(noise=0.1).y) - 0.1) < 4 * np.sqrt(0.09 / 70_000)
    assert 0.4 < np.mean(exact == 1) < 0.6
    assert abs(values.y.mean()) < 5 / np.sqrt(70_000)
    assert abs(values.y.std() - 1) < 0.02
    assert_array_equal(np.sign(values.y), exact)
    squares = PolynomialFeatures(2).fit_transform(values.X[:2000].astype(float))
    assert Ridge(alpha=1e-6).fit(squares, values.y[:2000]).score(squares, values.y[:2000]) > 0.9999
    assert abs((part(noise=0.3, task="regression").y - values.y).std() - 0.3) < 0.01


def test_a_split_in_order_copies_nothing(tmp_path):
    raw = load_raw(SPEC, cache=tmp_path)
    data = load(SPEC, IN_ORDER, cache=tmp_path, on_disk=True)
    assert mapped(data.X_train)
    assert (data.X_train.shape, data.X_test.shape) == ((69_000, 4), (1000, 4))
    assert_array_equal(np.concatenate([data.X_train, data.X_test]), raw.parts["train"].X)
    held = load(SPEC, IN_ORDER, cache=tmp_path, random_state=5)
    assert not mapped(held.X_train)
    assert_array_equal(held.X_train, data.X_train)
    assert_array_equal(held.y_test, data.y_test)


@pytest.mark.parametrize(
    "protocol",
    [
        {**IN_ORDER, "scale": "zscore"},
        {**IN_ORDER, "dtype": "float64"},
        {"split": {"kind": "sample", "n_train": 5000, "n_test": 100}},
        {"split": {"kind": "fraction", "train": 0.5}, "scale": "minmax", "constant_features": "drop"},
    ],
)
def test_what_the_protocol_changes_is_the_same_in_a_file(tmp_path, protocol):
    held, on_disk = (
        load(SPEC, protocol, cache=tmp_path, random_state=3, on_disk=place) for place in (False, True)
    )
    assert mapped(on_disk.X_train)
    assert not mapped(held.X_train)
    assert on_disk.X_train.dtype == held.X_train.dtype
    assert_array_equal(on_disk.X_train, held.X_train)
    assert_array_equal(on_disk.X_test, held.X_test)
    assert_array_equal(on_disk.y_train, held.y_train)


def test_a_split_in_order_needs_rows_for_both_sides(tmp_path):
    for n_train, n_test in ((70_000, None), (80_000, None), (60_000, 20_000)):
        split = {"kind": "in_order", "n_train": n_train} | ({"n_test": n_test} if n_test else {})
        with pytest.raises(DataError, match=r"large_quadric: expected .* rows?, got"):
            load(SPEC, {"split": split}, cache=tmp_path)
    small = load(SPEC, {"split": {"kind": "in_order", "n_train": 10, "n_test": 20}}, cache=tmp_path)
    assert (small.X_train.shape[0], small.X_test.shape[0]) == (10, 20)


def test_more_than_a_disk_holds_is_refused():
    with pytest.raises(ConfigError, match="expected n \\* d to be"):
        load({**SPEC, "n": 10**9, "d": 1000})
    assert LargeQuadric(name="large_quadric", n=50_000_000, d=50).n == 50_000_000


MAKE = """
import sys
from kfeat.data import load
from kfeat.experiments.clock import peak_memory_mb
load({"name": "large_quadric", "n": 1000, "d": 20}, {"split": {"kind": "in_order", "n_train": 10}})
before = peak_memory_mb()
n = int(sys.argv[1])
source = {"name": "large_quadric", "n": n, "d": 200}
load(source, {"split": {"kind": "in_order", "n_train": n - 10}}, on_disk=True)
print(peak_memory_mb() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux")
def test_making_and_loading_takes_less_memory_than_the_data():
    shown = subprocess.run([sys.executable, "-c", MAKE, "200000"], capture_output=True, text=True, check=True)
    assert float(shown.stdout) < 0.7 * 200_000 * 200 * 4 / 1e6  # of 160 MB
