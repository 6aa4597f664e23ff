"""Cited claims are found by name, and judged on the rows of the first folder that has any."""

import pytest

from kfeat.analysis.judgement import Evidence
from kfeat.errors import ConfigError
from kfeat.experiments.config import load_experiment
from kfeat.experiments.paper import Citation
from kfeat.experiments.run import plan_from_rows, rows_of
from kfeat.experiments.store import write_rows
from tests.cells import fake_row

CLAIM = """
claims:
  - {id: learns, kind: own, text: It learns, where: Section 1, value: {map: tensor_sketch}, above: 80}
  - {text: So it is, where: Section 1, value: {map: tensor_sketch}, above: 80}
"""


@pytest.fixture
def cited(write):
    """An experiment with a claim that has an id."""
    return load_experiment(write(CLAIM))


@pytest.fixture
def citing(cited):
    """Another experiment beside it."""
    path = cited.path.with_name("other.yaml")
    path.write_text(cited.path.read_text())
    return load_experiment(path)


def with_rows(experiment, root, accuracy):
    """A folder of rows with about this accuracy."""
    trials = [trial for trial in plan_from_rows(experiment, []) if trial.map]
    rows = [fake_row(trial, accuracy + 0.001 * trial.repeat) for trial in trials]
    write_rows(root / experiment.name, rows)
    return root


def verdict(citing, *roots, claim="small#learns"):
    experiment, _, name = claim.partition("#")
    return Evidence(*roots).within(citing, [])(Citation(experiment, name)).verdict


def test_the_rows_are_those_of_the_first_folder_that_has_any(cited, citing, tmp_path):
    good, bad = with_rows(cited, tmp_path / "good", 0.9), with_rows(cited, tmp_path / "bad", 0.7)
    empty = tmp_path / "empty"
    assert verdict(citing, empty, good, bad) == "reproduced"
    assert verdict(citing, bad, good) == "refuted"
    assert verdict(citing, empty) == "missing"
    assert verdict(citing) == "missing"


def test_rows_of_another_plan_do_not_hide_those_that_are_cited(cited, citing, tmp_path):
    good = with_rows(cited, tmp_path / "good", 0.9)
    other = with_rows(load_experiment(cited.path, ["seed=5"]), tmp_path / "other", 0.7)
    assert verdict(citing, other, good) == "reproduced"


def test_rows_that_are_being_published_go_before_those_that_were(cited, citing, tmp_path):
    bad = with_rows(cited, tmp_path / "bad", 0.7)
    good = rows_of(cited, with_rows(cited, tmp_path / "good", 0.9))
    look_up = Evidence(bad, pending={cited.name: good}).within(citing, [])
    assert look_up(Citation(cited.name, "learns")).verdict == "reproduced"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("small#rain", "no claim small#rain; ids there: learns"),
        ("nowhere#rain", "nowhere, but .*nowhere.yaml does not exist"),
    ],
)
def test_a_citation_of_nothing_is_an_error(citing, claim, words):
    with pytest.raises(ConfigError, match=words):
        verdict(citing, claim=claim)


@pytest.mark.parametrize("text", ["learns", "#learns", "small#", "small", 3])
def test_a_citation_names_an_experiment_and_a_claim(cited, text):
    claim = "{text: So, where: A, value: {map: tensor_sketch}, above: 9, explanation: Rain, "
    more = f"  - {claim}evidence: [{text!r}]}}"
    cited.path.write_text(cited.path.read_text() + more + "\n")
    with pytest.raises(ConfigError, match=r"claims\[2\]\.evidence\[0\].*experiment#id"):
        load_experiment(cited.path)
