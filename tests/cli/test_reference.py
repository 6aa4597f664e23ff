"""Lists of what a config can name, and the schema."""

import json
from importlib import metadata
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kfeat.experiments.component import read_component, registries
from kfeat.experiments.config import load_experiment
from kfeat.experiments.reference import component_helps, experiment_schema
from kfeat.experiments.shipped import config_files
from kfeat.experiments.yaml import read_mapping
from kfeat.parameters import parameter_model
from kfeat.text import in_yaml
from tests.cli.commands import kfeat, refusal

CONFIGS = sorted(Path("configs").resolve().rglob("*.yaml"))
VALIDATOR = Draft202012Validator(experiment_schema())


@pytest.mark.parametrize("part", ["kernel", "map", "solver"])
def test_every_class_is_explained_with_all_parameters_and_yaml_that_works(part):
    for name, cls in registries()[part].items():
        one = component_helps(part)[name]
        assert [each for group in one.parameters for each in group.names] == list(
            parameter_model(cls).model_fields
        )
        assert all(group.meaning and group.kind for group in one.parameters)
        assert read_component(one.entry, part).given == {}


def test_the_lists_name_everything_and_one_is_told_in_full():
    for command, part in (("kernels", "kernel"), ("maps", "map"), ("solvers", "solver")):
        shown = kfeat(command).stdout
        assert {line for line in shown.splitlines() if not line.startswith(" ")} == set(registries()[part])
    told = kfeat("solvers", "newton_cv").stdout
    assert "C_min, C_max, C_factor: float" in told
    assert "mapped: {name: newton_cv, C_min: 0.015625" in told
    assert "exact: {name: libsvm, " in kfeat("solvers", "libsvm").stdout
    assert "did you mean 'gaussian'" in refusal("kernels", "gausian")


def test_classes_of_packages_are_listed_with_their_places(monkeypatch):
    points = {"theirs": "click.core:Group", "lost": "no_such_package:Mine"}
    monkeypatch.setattr("kfeat.place.entry_points", lambda group: points if group == "kfeat.maps" else {})
    *_, lost, place, theirs, package = kfeat("maps").stdout.splitlines()
    assert (lost, place, theirs) == ("lost", "  no_such_package:Mine", "theirs")
    assert package == f"  click.core:Group, of click {metadata.version('click')}"
    documents = json.loads(kfeat("maps", "--format", "json").stdout)
    assert documents[-2] == {"name": "lost", "place": "no_such_package:Mine", "package": None}
    assert "theirs" not in kfeat("solvers").stdout


@pytest.mark.slow
def test_every_config_validates_against_the_schema():
    for path in (path for path in CONFIGS if path.name != "_values.yaml"):  # the numbers of findings
        assert [error.message for error in VALIDATOR.iter_errors(read_mapping(path).value)] == [], path


@pytest.mark.parametrize(
    "change",
    [
        {"kernal": {"name": "gaussian"}},
        {"kernel": {"name": "gausian"}},
        {"kernel": {"name": "gaussian", "degree": 2}},
        {"maps": [{"name": "orf", "n_components": 0}]},
        {"solvers": {"mapped": {"name": "libsvm"}}},
        {"protocol": {"scale": "zscores"}},
        {"protocol": {"split": {"kind": "fraction", "train": 2}}},
        {"repeats": 0},
    ],
)
def test_the_schema_marks_what_is_wrong(change):
    good = {"title": "t", "dataset": "digits", "kernel": {"name": "gaussian", "gamma": ["median", 1]}}
    assert VALIDATOR.is_valid(good)
    assert not VALIDATOR.is_valid({**good, **change})


def test_the_schema_is_json():
    assert json.loads(kfeat("schema").stdout)["$schema"].endswith("2020-12/schema")


def test_texts_that_look_like_numbers_stay_texts(write):
    path = write(**{"{name: tensor_sketch,": "{name: tensor_sketch, label: '1e-3',"})
    assert load_experiment(path).settings[0].maps[0].label == "1e-3"
    values = {"a": "1e5", "b": 1e5, "c": "-2.E+3", "d": "1e"}
    assert in_yaml(values) == "{a: '1e5', b: 100000.0, c: '-2.E+3', d: 1e}"


def test_configs_that_are_hidden_are_passed_over_and_both_endings_count(write):
    text = write().read_text()
    for place in ("c/a.yaml", "c/b.yml", "c/_shared.yaml", "c/.checkpoints/a-copy.yaml", "c/.#a.yaml"):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_text(text)
    assert [path.name for path in config_files((Path("c"),))] == ["a.yaml", "b.yml"]
