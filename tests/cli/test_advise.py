"""`kfeat advise`: for a file and for a dataset, and what it says when something is wrong."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import kfeat, succeed


@pytest.fixture
def own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    label = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    lines = [",".join([*(f"{x:.4f}" for x in row), y]) for row, y in zip(X, label, strict=True)]
    Path("own.csv").write_text("a,b,c,d,e,f,buys\n" + "\n".join(lines) + "\n")
    return "own.csv"


def test_advice_names_method_cost_evidence_and_skill(own):
    found = succeed("advise", own, "--target", "buys", "--budget", "10s")
    assert "own.csv: 320 training rows, 6 features, classification." in found.output
    assert re.search(r"Use the kernel (gaussian|laplacian|polynomial \d) and .+\.", found.output)
    assert re.search(r"Expect \d+\.\d points of accuracy (less|more) than the best exact", found.output)
    assert re.search(r"Evidence: the survey, mostly \w+ \(\d+%\)", found.output)
    assert re.search(r"such advice lost \d+\.\d points on average", found.output)


def test_more_rows_and_the_same_budget_need_a_cheaper_method(own):
    few, many = (
        kfeat("advise", own, "--target", "buys", "--budget", "10s", "--rows", rows).output
        for rows in ("1000", "10000000")
    )
    assert "1,000 training rows" in few
    assert "10,000,000 training rows" in many
    method = [re.search(r"Use the kernel .*", text) for text in (few, many)]
    assert all(method)
    assert str(method[0]) != str(method[1])


def test_only_the_kernel_that_is_asked_for(own):
    found = kfeat("advise", own, "--target", "buys", "--kernel", "laplacian")
    assert "Use the kernel laplacian and" in found.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "buys", "--kernel", "rbf"], "the survey has no kernel 'rbf'; it has gaussian,"),
        (["--target", "buys", "--budget", "1s", "--rows", "100000000000"], "give a longer --budget"),
        ([], "no target: name the column with the labels with --target"),
        (["--target", "sells"], "sells"),
    ],
)
def test_wrong_requests_say_what_would_be_right(own, options, words):
    found = kfeat("advise", own, *options)
    assert found.exit_code == 2
    assert words in found.output.replace("\n", " ")


def test_a_name_that_is_neither_file_nor_dataset(own):
    found = kfeat("advise", "adlut")
    assert found.exit_code == 2
    assert "adlut" in found.output
