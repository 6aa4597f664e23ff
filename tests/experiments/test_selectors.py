"""Flat keys: a row has those of its trial, so that what a config selects can be selected among rows."""

from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.selectors import flat, ids_beginning, learnt_values, matches
from kfeat.experiments.trial import header

CONFIGS = Path(__file__).parents[2] / "configs"
# Between them: sums and stacks of components, generated data, files, splits of every kind, and measures.
NAMES = [
    "quickstart",
    "bellet_2020/kernel_error",
    "chang_2017",
    "survey/choices_kernels",
    "survey/maps_smoke",
    "yang_2014",
    "pham_pagh_2013/lemmas",
]
FILES = [
    file
    for name in NAMES
    for file in sorted((CONFIGS / name).rglob("[!_]*.yaml"))[:4] or [CONFIGS / f"{name}.yaml"]
]


@pytest.mark.parametrize(
    ("selector", "number"),
    [
        ({}, 5),
        ({"map": "tensor_sketch"}, 2),
        ({"map": ["tensor_sketch", "exact"]}, 3),
        ({"map": []}, 0),
        ({"map": "tensor_sketch", "map.n_components": [32, 64]}, 2),
        ({"map": "exact", "map.n_components": 64}, 0),
        ({"protocol.scale": [{"divide": 16.0}]}, 5),
        ({"protocol.scale": []}, 0),
        ({"nonesuch": None}, 0),
    ],
)
def test_a_selector_takes_equal_values_or_one_of_a_list(write, selector, number):
    experiment = load_experiment(write())
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    assert sum(matches(selector, trial) for trial in trials) == number


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_a_row_says_of_its_trial_what_the_plan_says(path):
    experiment = load_experiment(path)
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    for trial in trials[:: max(1, len(trials) // 20)]:
        found, planned = flat(header(trial)), trial.describe()
        resources = {
            f"{part}.{key}"
            for part, item in {"kernel": trial.kernel, **trial.components}.items()
            if item is not None
            for key in item.parameters.keys() - item.numeric()
        }
        same = {key: value for key, value in planned.items() if key not in resources}
        assert {key: found.get(key) for key in same} == same
        assert all(
            key.endswith(".version") or key.startswith("dataset.") for key in found.keys() - same.keys()
        )


def test_what_was_learnt_stands_under_keys_of_its_own():
    row = {"learnt": {"kernel": {"gamma": 0.5, "kernels.0.gamma": 2.0}, "solver": {"eps": 0.1}}}
    expected = {"learnt.kernel.gamma": 0.5, "learnt.kernel.kernels.0.gamma": 2.0, "learnt.solver.eps": 0.1}
    assert dict(learnt_values(row)) == expected
    assert dict(learnt_values({"status": "failed"})) == {}


IDS = ["abc1", "abc2", "abd", "e", "ef"]


def test_a_beginning_that_only_one_id_has_stands_for_it():
    assert ids_beginning(["abd", "abc2", "ab" + "d"], IDS, "x") == ["abd", "abc2"]
    assert ids_beginning(["e"], IDS, "x") == ["e"]  # a whole id, though another begins so


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ("abc", "'abc' begins the ids of 2 trials of small.yaml: abc1, abc2"),
        ("x", "no trial of small.yaml has an id that begins with 'x'"),
        ("", "no trial of small.yaml"),
    ],
)
def test_another_beginning_is_a_sentence(prefix, words):
    with pytest.raises(ConfigError) as refused:
        ids_beginning([prefix], IDS, "small.yaml")
    assert words in str(refused.value)
