"""`kfeat advise`: for a file, and what it says when something is wrong."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import kfeat, succeed
from tests.survey.planted import PAST, plant


@pytest.fixture(autouse=True)
def own(monkeypatch):
    plant(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    label = np.where(X[:, 0] * X[:, 1] > 0.6, "yes", "no")
    lines = [",".join([*(f"{x:.4f}" for x in row), y]) for row, y in zip(X, label, strict=True)]
    Path("own.csv").write_text("a,b,c,d,e,f,buys\n" + "\n".join(lines) + "\n")
    return "own.csv"


def test_advice_names_probe_method_cost_evidence_and_skill(own):
    output = succeed("advise", own, "--target", "buys", "--budget", "0.5s", "--rows", "16000").output
    assert "own.csv: 16,000 training rows, 6 features, classification." in output
    assert re.search(r"A probe of 1,000 rows at most, in % of accuracy: linear \d+\.\d, nystrom", output)
    assert re.search(
        r"Use the Gaussian kernel, the map {name: nystrom, .+}, and Newton's linear SVM\.", output
    )
    assert re.search(r"Expect \d+% of what the study's best method gains .+ about \d\.\d s of CPU", output)
    assert re.search(r"Evidence: the study, mostly [nw]\d \(\d+%\)", output)
    assert "advice lost 21% [" in output


@pytest.fixture
def unprobed(monkeypatch):
    """No probe, which takes half a second."""
    monkeypatch.setattr("kfeat.own.new_config.probe", lambda X, y, traits: {})


@pytest.mark.usefixtures("unprobed")
def test_more_rows_and_the_same_budget_need_a_cheaper_method(own):
    few, many = (
        succeed("advise", own, "--target", "buys", "--budget", "10s", "--rows", rows).output
        for rows in ("900", "1000000")
    )
    assert "900 training rows" in few
    assert "Use the exact SVM (LIBSVM) with the Gaussian kernel." in few
    assert "Use the Gaussian kernel, the map {name: nystrom, n_components: 64}" in many


@pytest.mark.usefixtures("unprobed")
def test_a_rule_is_advised_where_advice_is_not_shown_to_be_better(own, monkeypatch):
    near = PAST.copy()
    near.loc[near["rule"] == "the linear model", "regret"] = [0.0, 0.4] * 6
    plant(monkeypatch, near)
    output = succeed("advise", own, "--target", "buys").output
    assert "Use Newton's linear SVM on the scaled features, without a kernel." in output
    assert "not shown to be better than always the linear model" in output


@pytest.mark.usefixtures("unprobed")
def test_a_rare_class_needs_another_metric(own):
    text = Path(own).read_text()
    assert "of the rows have the class" not in succeed("advise", own, "--target", "buys").output
    Path(own).write_text(text.replace("yes", "no", text.count("yes") - 20))
    output = succeed("advise", own, "--target", "buys").output
    assert "Only 5.0% of the rows have the class yes" in output
    assert "`kfeat tune --metric balanced_accuracy` or `--metric roc_auc`" in output


@pytest.mark.usefixtures("unprobed")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["own.csv", "--target", "buys", "--budget", "1s", "--rows", "100000000000"],
            "give a longer --budget",
        ),
        (["own.csv"], "no target: name the column with the labels with --target"),
        (["own.csv", "--target", "sells"], "sells"),
        (["adlut"], "adlut"),
    ],
)
def test_wrong_requests_say_what_would_be_right(options, words):
    found = kfeat("advise", *options)
    assert found.exit_code == 2
    assert words in found.output.replace("\n", " ")
