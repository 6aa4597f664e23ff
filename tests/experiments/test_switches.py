import re
from functools import partial

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.switches import choices
from tests.switches import SWITCHED


@pytest.fixture
def load(load_text):
    return partial(load_text, SWITCHED)


def test_every_parameter_that_numbers_depend_on_is_a_switch(load):
    found = choices(load().settings)
    for key in (
        "dataset", "protocol.scale", "protocol.split", "protocol.binarise", "protocol.constant_features",
        "protocol.dtype", "kernel.degree", "kernel.gamma", "kernel.coef0", "map.n_components", "map.hashing",
        "map.degree_law", "map.h01", "solver.C", "solver.bias", "solver.shrinking", "solver.max_iter",
        "repeats",
    ):  # fmt: skip
        assert key in found, key
    assert "solver.cache_mb" not in found
    assert {v.place[0] for v in found["map.degree_law"]} == {"random_maclaurin"}
    assert {v.place[0] for v in found["solver.C"]} == {"liblinear", "newton", "libsvm"}
    assert {v.value for v in found["map.degree_law"]} == {"geometric", "truncated", "proportional"}
    assert all(v.default for v in found["solver.bias"])
    assert not any(v.default for v in found["map.n_components"])


def test_what_is_not_run_has_no_switches(load):
    found = choices(load("solvers.mapped=null").settings)
    assert not any(key.startswith("map") for key in found)
    assert "solver.bias" not in found
    assert "solver.shrinking" in found


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ("1.key=map.degree_lw", "[1].key: 'map.degree_lw' is not a key"),
        ("1.key=map.degree_lw", "(did you mean 'map.degree_law'?)"),
        ("2.key=solvers.mapped.C", "'solvers.mapped.C' is not a key"),
        ("2.key=solver.libsvn.C", "(did you mean 'solver.libsvm.C'?)"),
        ("2.key=map.newton.C", "'map.newton.C' is not a key"),
        ("5.value=null", "; a choice without a key needs a `value`"),
        ("3.value=3", "[3].value: expected text"),
        ("3.value='3'", "[3].value: the config itself holds the value of solver.libsvm.eps"),
        ("2.key=protocol.scale", "[2].key: 'protocol.scale' is listed twice"),
        ("0.alternatives=[zscore]", "[0].alternatives: unknown key"),
        ("1.status=guessed", "[1].status: expected 'known', 'inferred' or 'open'"),
        ("1.key=map.degree_lw 2.key=solver.libsvn.C", "2 problems in this file"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(load, overrides, words):
    with pytest.raises(ConfigError) as error:
        load(*(f"switches.{each}" for each in re.split(r" (?=\d\.)", overrides)))
    expected = f"switches{words}" if words.startswith("[") else words
    assert expected in str(error.value), error.value
