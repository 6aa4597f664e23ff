"""Kernels and maps within others, in YAML: read, named, kept in rows, and refused where they do not fit."""

import pytest

from kfeat.analysis.names import component
from kfeat.data import Access, RegisteredSource, fingerprint
from kfeat.errors import ConfigError
from kfeat.experiments.component import registries
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import every_trial
from kfeat.experiments.trial import run_trial

KERNEL = """{name: sum, weights: [1, 2],
  kernels: [{name: gaussian, gamma: median}, {name: polynomial, degree: [2, 3]}]}"""
MAPS = """[{name: stacked,
  maps: [{name: random_fourier, n_components: [8, 16]}, {name: tensor_sketch, n_components: 9}]}]"""


@pytest.fixture
def load(write):
    def loaded(*overrides, kernel=KERNEL, maps=MAPS):
        return load_experiment(write(), [f"kernel={kernel}", f"maps={maps}", *overrides], exact=False)

    return loaded


def test_lists_within_are_values_and_their_items_have_axes(load):
    (setting,) = load().settings
    assert [len(setting.kernels), len(setting.maps)] == [2, 2]
    assert [kernel.build().formula for kernel in setting.kernels] == [
        f"[exp(-gamma ||x - y||^2), gamma = median] + 2 [<x, y>^{p}]" for p in (2, 3)
    ]
    assert [[part.n_components for part in item.build().maps] for item in setting.maps] == [[8, 9], [16, 9]]


def test_a_row_has_every_parameter_of_what_is_within_and_its_bandwidth(
    load,
):
    trial = next(every_trial(load(), {RegisteredSource(name="digits"): fingerprint("digits") or ""}))
    row = run_trial(trial, threads=1, alone=False, access=Access(offline=True))
    assert row["status"] == "done"
    assert row["kernel"]["kernels"][1] == {
        "name": "polynomial", "version": 1, "degree": 2, "gamma": 1.0, "coef0": 0.0,
    }  # fmt: skip
    assert row["map"]["maps"][0]["n_components"] == 8
    assert row["columns"]["live"] == 17
    assert row["learnt"]["kernel"].keys() == {"kernels.0.gamma"}


def test_ids_and_draws_depend_on_what_is_within_but_draws_not_on_versions(load, monkeypatch):
    def trials():
        return list(every_trial(load("repeats=1"), {RegisteredSource(name="digits"): "x"}))

    before = trials()
    seeds = [trial.seeds for trial in before]
    assert len({trial.id for trial in before}) == len({trial.seeds["map"] for trial in before}) == 4
    flat = before[0].describe()
    assert flat["kernel.kernels"] == "gaussian + polynomial"
    assert flat["kernel.kernels.1.degree"] == 2
    assert flat["map.maps.0.n_components"] == 8
    monkeypatch.setattr(registries()["map"]["tensor_sketch"], "algorithm_version", 99)
    assert not {trial.id for trial in trials()} & {trial.id for trial in before}
    assert [trial.seeds for trial in trials()] == seeds


def test_names_say_what_is_stacked(load):
    maps = load().settings[0].maps
    assert [component(item, maps) for item in maps] == [
        f"Stacked, Random Fourier (D = {size}) + Tensor Sketch (D = 9)" for size in (8, 16)
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("maps.0.maps.0.n_component=3", r"maps\[0\].maps\[0\].n_component: unknown key \(did you mean"),
        ("maps.0.maps.0.name=tensor_sketch", "TensorSketch cannot approximate Gaussian.*maps that can"),
        ("kernel.kernels.0.name=gausian", r"kernel.kernels\[0\].name: unknown kernel 'gausian' \(did you"),
        ("maps.0.maps=[{name: tensor_sketch}]", "expected one map per kernel, got 1 for 2 kernels"),
        ("kernel.kernels=[]", "Sum: expected at least one kernel"),
        ("kernel.weights=[1]", "a weight above 0 for each, got 2 kernels"),
        ("maps.0.maps=3", r"maps\[0\].maps: expected a list"),
        ("maps.0.maps=[3]", r"maps\[0\].maps\[0\]: expected a mapping with a `name`"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(load, override, message):
    with pytest.raises(ConfigError, match=message):
        load(override)
