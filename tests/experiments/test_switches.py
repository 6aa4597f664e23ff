from collections.abc import Callable
from pathlib import Path

import pytest

from kfeat.errors import ConfigError
from kfeat.experiments.load import Experiment, load_experiment
from kfeat.experiments.switches import check_switches, choices, turned
from tests.switches import SWITCHED


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Experiment]:
    def loader(*overrides: str) -> Experiment:
        path = tmp_path / "switched.yaml"
        path.write_text(SWITCHED)
        return load_experiment(path, overrides)

    return loader


def test_every_parameter_that_numbers_depend_on_is_a_switch(load: Callable[..., Experiment]) -> None:
    found = choices(load())
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
    found = choices(load("solvers.mapped=null"))
    assert not any(key.startswith("map") for key in found)
    assert "solver.bias" not in found
    assert "solver.shrinking" in found


def test_a_switch_is_turned_in_every_setting_and_component_that_has_it(
    load: Callable[..., Experiment],
) -> None:
    experiment = load()
    scaled = turned(experiment, "protocol.scale", "unit_rows")
    assert [p.scale for s in scaled.settings for p in s.protocols] == [("unit_rows",)] * 2
    assert [p.split for s in scaled.settings for p in s.protocols] == [
        p.split for s in experiment.settings for p in s.protocols
    ]
    heavy = turned(experiment, "solver.C", 10)
    assert [x.parameters["C"] for s in heavy.settings for x in s.mapped_solvers] == [10.0] * 4
    assert [x.parameters["C"] for s in heavy.settings for x in s.exact_solvers] == [1.0] * 2
    one = turned(experiment, "solver.newton.C", 10)
    assert [x.parameters["C"] for s in one.settings for x in s.mapped_solvers] == [1, 10, 1, 10]
    laws = turned(experiment, "map.degree_law", "truncated")
    assert [x.parameters.get("degree_law") for s in laws.settings for x in s.maps] == [
        None, "truncated", "truncated", "truncated",
    ]  # fmt: skip
    kernels = turned(experiment, "kernel.gamma", 0.5)
    assert [(x.parameters["gamma"], x.parameters["coef0"]) for x in kernels.settings[1].kernels] == [
        (0.5, 0), (0.5, 1),
    ]  # fmt: skip


def test_turning_to_the_value_that_is_there_changes_nothing(load: Callable[..., Experiment]) -> None:
    experiment = load()
    assert turned(experiment, "solver.C", 1) == experiment
    assert turned(experiment, "solver.C", 1.5) != experiment
    assert turned(experiment, "map.hashing", "table") == experiment


def test_good_switches_pass(load: Callable[..., Experiment]) -> None:
    check_switches(load())
    check_switches(load("switches.0.alternatives=[{divide: 255}, [zscore, unit_rows], none]"))
    check_switches(
        load("switches.0.key=protocol.split", "switches.0.alternatives=[{kind: fraction, train: 0.6}]")
    )


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("switches.1.key=map.degree_lw", "switches[1].key: 'map.degree_lw' is no key"),
        ("switches.1.key=map.degree_lw", "(did you mean 'map.degree_law'?)"),
        ("switches.2.key=solvers.mapped.C", "'solvers.mapped.C' is no key"),
        ("switches.2.key=solver.libsvn.C", "(did you mean 'solver.libsvm.C'?)"),
        ("switches.2.key=map.newton.C", "'map.newton.C' is no key"),
        ("switches.5.value=null", "; a choice that no key holds needs a `value`"),
        ("switches.3.value=3", "switches[3].value: expected text"),
        ("switches.3.value='3'", "switches[3].value: the config itself holds the value of solver.libsvm.eps"),
        ("switches.2.key=protocol.scale", "switches[2].key: 'protocol.scale' stands there twice"),
        ("switches.5.alternatives=[x]", "switches[5].alternatives: solver version cannot be turned"),
        ("switches.2.key=repeats", "switches[2].alternatives: repeats cannot be turned"),
        ("switches.0.alternatives=[zscor]", "switches[0].alternatives[0]: expected 'minmax'"),
        ("switches.0.alternatives=[zscor]", "(got 'zscor') (did you mean 'zscore'?)"),
        ("switches.0.alternatives=[zscore, {divid: 2}]", "switches[0].alternatives[1].divid: unknown key"),
        ("switches.1.alternatives=[geometic]", "switches[1].alternatives[0]: expected 'geometric'"),
        ("switches.2.alternatives=[2, -1]", "switches[2].alternatives[1]: expected more than 0"),
        ("switches.2.alternatives=['1']", "[2].alternatives[0]: expected a number (got '1')"),
        ("switches.1.status=guessed", "switches[1].status: expected 'known', 'inferred' or 'open'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(
    load: Callable[..., Experiment], override: str, words: str
) -> None:
    with pytest.raises(ConfigError) as error:
        check_switches(load(override))
    assert words in str(error.value), error.value


def test_what_does_not_go_together_is_told(load: Callable[..., Experiment]) -> None:
    key = "switches.2.key=solver.liblinear.solver_type"
    with pytest.raises(
        ConfigError, match=r"switches\[2\].alternatives\[1\]: solvers: liblinear with these .* for regression"
    ):
        check_switches(load(key, "switches.2.alternatives=[2, 11]"))
    with pytest.raises(ConfigError, match=r"problems in this file(.|\n)*switches\[0\](.|\n)*switches\[2\]"):
        check_switches(load("switches.0.alternatives=[zscor]", "switches.2.alternatives=[0]"))
