import pytest

from kfeat.analysis.judgement import judge_experiment
from kfeat.errors import ConfigError
from kfeat.render.report import render
from kfeat.render.switches import lines, ranked, render_switches
from tests.cells import cells_with, fake_row
from tests.switches import SWITCHED

RANKED = """\
title: Digits, which scale
dataset: digits
protocol:
  - {scale: none, split: &split {kind: sample, n_train: 300, n_test: 200, seed: 0}}
  - {scale: unit_rows, split: *split}
  - {scale: zscore, split: *split}
kernel: {name: polynomial, degree: 2, coef0: 1}
maps:
  - {name: tensor_sketch, n_components: 32}
  - {name: random_maclaurin, n_components: 32}
solvers: {mapped: {name: liblinear}}
repeats: 2
ranking: [protocol.scale]
reported:
  source: A Paper
  runs: 5
  numbers:
    - {for: {map: tensor_sketch}, mean: 90, sd: 1, where: Table 1}
    - {for: {map: random_maclaurin}, mean: 80, sd: 0.1, where: Table 1}
"""
SCORES = {"none": (0.91, 0.70), "unit_rows": (0.88, 0.81), "zscore": (0.95, 0.80)}


@pytest.fixture
def switched(load_text):
    return load_text(SWITCHED)


def test_every_switch_is_shown_with_its_status(switched):
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
    assert found["solver version"].value == "LIBLINEAR 1.92"
    assert (found["map.n_components"].status, found["map.n_components"].default) == ("not stated", False)
    assert (found["protocol.dtype"].status, found["protocol.dtype"].default) == ("not stated", True)
    assert found["repeats"].value == "3"


def test_values_that_differ_name_where_they_hold(load_text):
    text = SWITCHED.replace("  - protocol: {scale: none", "  - dataset: adult\n    protocol: {scale: none")
    found = {line.key: line.value for line in lines(load_text(text))}
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


def test_the_text_fits_a_terminal_of_100_columns(switched):
    text = render_switches(switched)
    assert max(map(len, text.splitlines())) <= 100
    assert "inferred    protocol.scale = {divide: 16}, none\n            it fits the table\n" in text
    assert (
        "not stated, at their defaults: protocol.binarise = none; protocol.constant_features = keep" in text
    )
    assert "stated, but not used in this experiment: measure.n_rows." in text
    total = len(lines(switched))
    assert f"{total} switches: 3 known, 2 inferred, 1 open, {total - 6} not stated." in " ".join(text.split())


@pytest.fixture
def tried(load_text):
    """Three values of one switch, two printed numbers: 90 ± 1 and 80 ± 0.1."""
    return load_text(RANKED)


def cells_of(experiment, scores=SCORES, lost=""):
    """Cells with these mean accuracies of the two maps by scale; the second run on `lost` has failed."""

    def row(trial):
        scale = next(iter(trial.protocol.scale), "none")
        mean = scores[str(scale)][trial.describe()["map"] == "random_maclaurin"]
        failed = {"status": "failed", "reason": "planted"} if scale == lost and trial.repeat else {}
        return fake_row(trial, mean + (-0.01, 0.01)[trial.repeat], **failed)

    return cells_with(experiment, row)


def test_choices_are_ranked_by_their_mean_distance_from_the_printed_numbers(tried):
    choices = ranked(tried, cells_of(tried))
    assert [choice.values for choice in choices] == [("unit_rows",), ("zscore",), ("none",)]
    # max(1, 2 sd) is 2 for the first number and 1, not 0.2, for the second.
    assert [choice.distance for choice in choices] == pytest.approx(
        [(2 / 2 + 1 / 1) / 2, (5 / 2 + 0) / 2, (1 / 2 + 10 / 1) / 2]
    )


def test_equal_distances_share_a_rank_and_without_all_runs_there_is_none(tried):
    cells = cells_of(tried, SCORES | {"zscore": SCORES["unit_rows"]})
    ranks = [line[:4] for line in render(tried, cells, "markdown").splitlines()[4:7]]
    assert ranks == ["| 1 ", "| 1 ", "| 3 "]
    text = render(tried, cells_of(tried, lost="unit_rows"), "markdown")
    assert [line[:4] for line in text.splitlines()[4:7]] == ["| 1 ", "| 2 ", "| – "]
    assert "without all of its trials nothing is ranked" in text


def test_a_cell_without_the_key_counts_in_every_choice(load_text):
    laws = "name: random_maclaurin, degree_law: [geometric, truncated]"
    text = RANKED.replace("name: random_maclaurin", laws).replace("[protocol.scale]", "[map.degree_law]")
    experiment = load_text(text)
    choices = ranked(experiment, cells_of(experiment))
    assert [choice.values for choice in choices] == [("geometric",), ("truncated",)]
    maps = [cell.trial.describe()["map"] for cell in choices[0].cells]
    assert maps == ["tensor_sketch", "random_maclaurin"] * 3


def test_the_numbers_of_a_ranking_get_no_verdict(tried):
    assert judge_experiment(tried, cells_of(tried), {}).numbers == []


def test_a_ranking_needs_known_keys_and_printed_numbers(load_text):
    with pytest.raises(ConfigError, match=r"ranking: no trial has the key 'protocol.scal' \(did you mean"):
        load_text(RANKED, "ranking=[protocol.scal]")
    other = load_text(RANKED.replace("[protocol.scale]", "[map.rank]"))
    with pytest.raises(ConfigError, match="ranking: no cell with a printed number has map"):
        ranked(other, cells_of(other))
