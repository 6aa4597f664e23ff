import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.config import Experiment, load_experiment
from kfeat.experiments.switches import choices, turn
from tests.switches import SWITCHED


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Experiment]:
    def loader(*overrides: str) -> Experiment:
        path = tmp_path / "switched.yaml"
        path.write_text(SWITCHED)
        return load_experiment(path, overrides)

    return loader


def test_every_parameter_that_numbers_depend_on_is_a_switch(load: Callable[..., Experiment]) -> None:
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


def test_what_is_not_run_has_no_switches(load: Callable[..., Experiment]) -> None:
    found = choices(load("solvers.mapped=null").settings)
    assert not any(key.startswith("map") for key in found)
    assert "solver.bias" not in found
    assert "solver.shrinking" in found


def test_a_switch_is_turned_in_every_setting_and_component_that_has_it(
    load: Callable[..., Experiment],
) -> None:
    settings = load().settings
    scaled = turn(settings, {"protocol.scale": "unit_rows"})
    assert [p.scale for s in scaled for p in s.protocols] == [("unit_rows",)] * 2
    assert [p.split for s in scaled for p in s.protocols] == [p.split for s in settings for p in s.protocols]
    heavy = turn(settings, {"solver.C": 10})
    assert [x.parameters["C"] for s in heavy for x in s.mapped_solvers] == [10.0] * 4
    assert [x.parameters["C"] for s in heavy for x in s.exact_solvers] == [1.0] * 2
    one = turn(settings, {"solver.newton.C": 10})
    assert [x.parameters["C"] for s in one for x in s.mapped_solvers] == [1, 10, 1, 10]
    laws = turn(settings, {"map.degree_law": "truncated"})
    assert [x.parameters.get("degree_law") for s in laws for x in s.maps] == [None, *["truncated"] * 3]
    kernels = turn(settings, {"kernel.gamma": 0.5})[1].kernels
    assert [(x.parameters["gamma"], x.parameters["coef0"]) for x in kernels] == [(0.5, 0), (0.5, 1)]


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
        ("5.alternatives=[x]", "[5].alternatives: solver version cannot be turned"),
        ("2.key=repeats", "[2].alternatives: repeats cannot be turned"),
        ("0.alternatives=[zscor]", "[0].alternatives[0]: expected 'minmax'"),
        ("0.alternatives=[zscor]", "(got 'zscor') (did you mean 'zscore'?)"),
        ("0.alternatives=[zscore, {divid: 2}]", "[0].alternatives[1].divid: unknown key"),
        ("1.alternatives=[geometic]", "[1].alternatives[0]: expected 'geometric'"),
        ("2.alternatives=[2, -1]", "[2].alternatives[1]: expected more than 0"),
        ("2.alternatives=['1']", "[2].alternatives[0]: expected a number (got '1')"),
        ("1.status=guessed", "[1].status: expected 'known', 'inferred' or 'open'"),
        (
            "2.key=solver.liblinear.solver_type 2.alternatives=[2,11]",
            "[2].alternatives[1]: solvers: liblinear with these parameters is for regression",
        ),
        ("0.alternatives=[zscor] 2.alternatives=[0]", "2 problems in this file"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    load: Callable[..., Experiment], overrides: str, words: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(*(f"switches.{each}" for each in re.split(r" (?=\d\.)", overrides)))
    expected = f"switches{words}" if words.startswith("[") else words
    assert expected in str(error.value), error.value
