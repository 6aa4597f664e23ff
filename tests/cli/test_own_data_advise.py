"""`kfeat advise`: for a file, and what it says when something is wrong."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.commands import kfeat, succeed
from tests.survey.planted import plant


@pytest.fixture(autouse=True)
def own(monkeypatch):
    plant(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    label = np.where(X[:, 0] * X[:, 1] > 0.6, "yes", "no")
    lines = [",".join([*(f"{x:.4f}" for x in row), y]) for row, y in zip(X, label, strict=True)]
    Path("own.csv").write_text("a,b,c,d,e,f,buys\n" + "\n".join(lines) + "\n")
    return "own.csv"


def test_advice_names_a_map_its_cost_and_what_rules_lose(own):
    output = succeed("advise", own, "--target", "buys", "--rows", "16000").output
    assert "own.csv: 16,000 training rows, 6 features, classification." in output
    assert (
        "Use the Gaussian kernel, the map {name: nystrom, n_components: 256}, and Newton's linear SVM.\n"
        in output
    )
    assert "Expect about 0.4 s of CPU time to map and train, by the rows of n.\n" in output
    assert re.search(
        r"Why: this is a rule of thumb \(Nystrom with 256 landmarks, with 64 or a linear model where these "
        r"take too long\)\. Within 0\.1 to 30 s it lost \d+% of the best gain over the linear model "
        r"\(95% CI -?\d+% to \d+%\)",
        output,
    )
    assert re.search(r"random Fourier features with 1,024 columns [+-]\d+% \(CI [+-]\d+% to [+-]\d+%", output)
    assert "loses least" not in output + succeed("advise", "--help").output


def test_more_rows_and_the_same_budget_need_a_smaller_map_or_none(own):
    few, many, most = (
        succeed("advise", own, "--target", "buys", "--budget", "1s", "--rows", rows).output
        for rows in ("900", "100000", "1000000")
    )
    assert "900 training rows" in few
    assert "n_components: 256" in few
    assert "n_components: 64" in many
    assert (
        "Use Newton's linear SVM on the scaled features: no map of the rule fits the rows and the budget."
        in most
    )


def test_a_rare_class_needs_another_metric(own):
    text = Path(own).read_text()
    assert "of the rows have the class" not in succeed("advise", own, "--target", "buys").output
    Path(own).write_text(text.replace("yes", "no", text.count("yes") - 20))
    output = succeed("advise", own, "--target", "buys").output
    assert "Only 5.0% of the rows have the class yes" in output
    assert "`kfeat tune --metric balanced_accuracy` or `--metric roc_auc`" in output


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


def test_the_training_rows_are_those_that_fit_trains(own):
    """The split takes four fifths of each class, rounded up, so that there may be a row more."""
    frame = pd.read_csv(own)
    classes = np.arange(len(frame)) % 3  # 134, 133 and 133 rows
    frame.assign(buys=np.array(["a", "b", "c"])[classes]).to_csv("three.csv", index=False)
    told = succeed("advise", "three.csv", "--target", "buys").output
    succeed("new", "three.csv", "--target", "buys", "--out", "three.yaml")
    fitted = succeed("fit", "three.yaml", "--model", "three.kfeat", "--no-exact").output
    (advised,), (trained,) = (
        re.findall(pattern, text)
        for pattern, text in ((r"(\d+) training rows", told), (r"trained on (\d+) rows", fitted))
    )
    assert advised == trained == "322"
