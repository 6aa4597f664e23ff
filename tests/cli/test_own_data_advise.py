"""`kfeat advise`: for a file, what it says when something is wrong, and what `kfeat new` makes of it."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kfeat.experiments.config import load_experiment
from kfeat.kernels import Gaussian
from kfeat.maps import maps_for
from kfeat.text import in_yaml
from tests.cli.commands import kfeat, refusal, succeed
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
    assert "three.csv: 400 rows (322 for training), 6 features" in told
    assert "trained on 322 rows" in fitted


@pytest.mark.usefixtures("quick")
@pytest.mark.filterwarnings("ignore:Nystrom. the kernel has the numerical rank")
@pytest.mark.parametrize(
    ("options", "n"),
    [
        ([], 396),
        (["--set", "missing=drop"], 356),
        (["--group", "customer"], 396),
        (["--weight", "weight"], 396),
    ],
)
def test_all_commands_count_the_same_rows(own, options, n):
    """Rows without a label, or dropped for an empty cell, do not count, rows of weight 0 do not train."""
    frame = pd.read_csv(own).assign(customer=np.arange(400) // 3, weight=np.arange(400) % 5 // 2)
    frame = pd.concat([frame[:300], frame[:100]])  # a row that occurs twice counts twice
    frame.iloc[::10, 0], frame.iloc[1::100, 6] = None, None
    frame.to_csv("rows.csv", index=False)
    told = succeed("new", "rows.csv", "--target", "buys", *options).stdout
    n_train = re.match(rf"rows.csv: {n} rows \((\d+) for training\), ", told)[1]
    if not options:
        assert told.split(";")[0] + ", class" in succeed("advise", "rows.csv", "--target", "buys").stdout
    assert f"trained on {n_train} rows" in succeed("fit", "rows.yaml", "--model", "m").stdout
    assert f" of {n_train} training rows" in succeed("tune", "rows.yaml").stdout


@pytest.mark.parametrize(("n", "D"), [(70, 0), (200, 64), (400, 256)])
def test_new_writes_the_map_that_is_advised(own, n, D):
    lines = Path(own).read_text().splitlines(keepends=True)
    Path(own).write_text("".join(lines[: n + 1]))
    advised = json.loads(succeed("advise", own, "--target", "buys", "--format", "json").stdout)
    succeed("new", own, "--target", "buys")
    (setting,) = load_experiment(Path("own.yaml")).settings
    assert [{"name": one.name, **one.given} for one in setting.maps] == [advised["advice"]["entry"]] * (D > 0)
    assert advised["advice"]["D"] == D
    assert [solver.name for solver in setting.solvers.all] == ["newton_cv" if D else "newton"]
    said = re.search(
        r"# `kfeat advise` recommends (.*) for (\d+) training rows\n", Path("own.yaml").read_text()
    )
    assert said[1] == (in_yaml(advised["advice"]["entry"]) if D else "a linear model without a map")
    assert int(said[2]) == advised["n"]
    succeed("fit", "own.yaml", "--model", "m")


def test_new_has_the_maps_that_the_user_names(own):
    succeed("new", own, "--target", "buys", "--maps", "orf, nystrom")
    text = Path("own.yaml").read_text()
    advised = "`kfeat advise` recommends {name: nystrom, n_components: 256} for 321 training rows"
    assert f"# the maps of --maps; {advised}\n" in text
    (setting,) = load_experiment(Path("own.yaml")).settings
    assert [(one.name, one.given["n_components"]) for one in setting.maps] == [("orf", 256), ("nystrom", 256)]
    succeed("fit", "own.yaml", "--model", "m", "--maps", "orf")


@pytest.mark.parametrize(
    ("name", "near"), [("rff", " (did you mean 'random_fourier'?)"), ("tensor_sketch", ""), ("", "")]
)
def test_a_map_that_is_unknown_or_of_other_kernels_is_one_sentence(own, name, near):
    told = refusal("new", own, "--target", "buys", "--maps", f"orf,{name}")
    known = f"known are {', '.join(maps_for(Gaussian()))}"
    assert f"--maps: expected maps of the Gaussian kernel, got {name!r}{near}; {known}\n" in told
    assert not Path("own.yaml").exists()
