from pathlib import Path

import pytest

from kfeat.experiments.config import Experiment, load_experiment
from kfeat.render.protocol import lines, render_switches
from tests.switches import SWITCHED


@pytest.fixture
def switched(tmp_path: Path) -> Experiment:
    path = tmp_path / "switched.yaml"
    path.write_text(SWITCHED)
    return load_experiment(path)


def test_every_switch_is_shown_with_its_status(switched: Experiment) -> None:
    found = {line.key: line for line in lines(switched)}
    assert {key: line.status for key, line in found.items() if line.status != "not stated"} == {
        "protocol.scale": "inferred",
        "map.degree_law": "known",
        "map.domain": "known",
        "solver.C": "open",
        "solver.libsvm.eps": "inferred",
        "solver version": "known",
    }
    assert found["solver.C"].evidence == "not printed"
    assert found["protocol.scale"].alternatives == "unit_rows, zscore"
    assert found["solver version"].value == "LIBLINEAR 1.92"
    assert (found["map.n_components"].status, found["map.n_components"].default) == ("not stated", False)
    assert (found["protocol.dtype"].status, found["protocol.dtype"].default) == ("not stated", True)
    assert found["repeats"].value == "3"


def test_values_that_differ_name_where_they_hold(tmp_path: Path) -> None:
    text = SWITCHED.replace("  - protocol: {scale: none", "  - dataset: adult\n    protocol: {scale: none")
    path = tmp_path / "switched.yaml"
    path.write_text(text)
    found = {line.key: line.value for line in lines(load_experiment(path))}
    expected = {
        "protocol.scale": "digits: {divide: 16}; adult: none",
        "protocol.split": "{kind: sample, n_train: 300, n_test: 200, seed: 0}",
        "map.degree_law": "digits: geometric; adult: truncated, proportional",
        "solver.max_iter": "newton: 300; libsvm: null",
        "solver.C": "1",
        "kernel.coef0": "0, 1",
        # A key with a component's name leaves the others to the key without.
        "solver.libsvm.eps": "0.001",
        "solver.eps": "liblinear: null; newton: 0.01",
        "solver.solver_type": "liblinear: 1; libsvm: 0",
    }
    assert {key: found[key] for key in expected} == expected


def test_the_text_fits_a_terminal_of_100_columns(switched: Experiment) -> None:
    text = render_switches(switched)
    assert max(map(len, text.splitlines())) <= 100
    assert "inferred    protocol.scale = {divide: 16}, none\n            it fits the table\n" in text
    assert "            to try: unit_rows, zscore\n" in text
    assert (
        "not stated, at their defaults: protocol.binarise = none; protocol.constant_features = keep" in text
    )
    assert "stated, but not used in this experiment: measure.n_rows." in text
    total = len(lines(switched))
    assert f"{total} switches: 3 known, 2 inferred, 1 open, {total - 6} not stated." in " ".join(text.split())
