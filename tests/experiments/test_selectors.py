from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kfeat.experiments.load import load_experiment
from kfeat.experiments.plan import plan
from kfeat.experiments.selectors import matches


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
def test_a_selector_takes_equal_values_or_one_of_a_list(
    write: Callable[..., Path], selector: dict[str, Any], number: int
) -> None:
    experiment = load_experiment(write())
    trials = plan(experiment, dict.fromkeys(experiment.datasets, "f"))
    assert sum(matches(selector, trial) for trial in trials) == number
