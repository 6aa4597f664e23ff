"""A file of one's own: `kfeat new`, `kfeat tune`, and what they say when something is wrong."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kfeat.experiments.load import load_experiment
from kfeat.experiments.run import planned
from kfeat.experiments.trial import run_trial
from kfeat.tuning import process
from kfeat.tuning import search as search_module
from tests.cli.test_run import kfeat
from tests.tuning.asking import Direct


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def people(n: int = 160) -> Path:
    """A table with words, missing values, CRLF, an index without a name and a column of names."""
    rng = np.random.default_rng(5)
    with open("people.csv", "w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(["", "age", "job", "who", "income"])
        for i, age in enumerate(rng.integers(18, 80, n)):
            job = rng.choice(["smith", "baker", "clerk"])
            income = "high" if (age - 45) ** 2 < 150 else "low"
            writer.writerow([i, "" if i % 9 == 0 else age, job, f"person {i}", income])
    return Path("people.csv")


def test_a_first_config_runs_as_it_is() -> None:
    people()
    made = kfeat("new", "people.csv", "--target", "income", "--out", "p.yaml")
    assert made.exit_code == 0, made.output
    text = Path("p.yaml").read_text()
    assert "drop: ['Unnamed: 0', who]" in text
    assert "missing: mean" in text
    assert "classes: " in text
    assert "low (" in text
    (here,) = load_experiment(Path("p.yaml")).settings
    assert [one.name for one in here.maps] == ["orf"]
    assert [one.name for one in here.mapped_solvers] == ["newton_cv"]
    trial = planned(load_experiment(Path("p.yaml")))[0]
    row = run_trial(trial, threads=1, alone=False, mirror=None, offline=True)
    assert row["status"] == "done", row
    assert row["accuracy"] > 0.8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no target"),
        (["--target", "incom"], r"did you mean 'income'"),
        (["--target", "age", "--task", "classification"], "say --task regression"),
        (["--target", "same"], "single class, '1'"),
    ],
)
def test_what_cannot_be_is_one_sentence(words: list[str], said: str) -> None:
    with open("data.csv", "w") as file:
        file.write("age,job,income,same\n" + "".join(f"{i}.5,{i % 3},{i % 2},1\n" for i in range(60)))
    found = kfeat("new", "data.csv", *words)
    assert found.exit_code == 2
    assert said in found.stderr
    assert not Path("data.yaml").exists()


def test_a_config_is_not_replaced_unless_forced() -> None:
    people(60)
    Path("people.yaml").write_text("mine")
    refused = kfeat("new", "people.csv", "--target", "income")
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert Path("people.yaml").read_text() == "mine"
    assert kfeat("new", "people.csv", "--target", "income", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("a;b;y\n" + "1;2;0\n3;4;1\n" * 30, ["--target", "y"], "delimiter: ;"),
        ("1,2,0\n3,4,1\n" * 30, ["--target", "2"], "target: 2, header: false"),
        ("a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(80)), ["--target", "y"], "name: ridge_cv"),
    ],
)
def test_files_as_people_have_them(text: str, words: list[str], expected: str) -> None:
    Path("data.csv").write_text(text)
    made = kfeat("new", "data.csv", *words)
    assert made.exit_code == 0, made.output
    assert expected in Path("data.yaml").read_text()
    load_experiment(Path("data.yaml"))


def test_tune_writes_a_config_a_table_and_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "MOST", 3)
    monkeypatch.setattr(process, "Assistant", Direct)
    people()
    kfeat("new", "people.csv", "--target", "income", "--out", "p.yaml")
    before = load_experiment(Path("p.yaml")).settings[0]
    tuned = kfeat("tune", "p.yaml", "--budget", "5m", "--out", "best.yaml")
    assert tuned.exit_code == 0, tuned.output
    assert "by which nothing was chosen, it scores" in tuned.stdout
    (after,) = load_experiment(Path("best.yaml")).settings
    assert (after.datasets, after.protocols) == (before.datasets, before.protocols)  # the same test rows
    assert [one.name for one in after.mapped_solvers] == ["newton"]
    folder = Path("runs/p/tune")
    assert {"table.csv", "table.md", "figure.svg", "figure.png"} <= {one.name for one in folder.iterdir()}
    assert len((folder / "table.csv").read_text().splitlines()) == 1 + 4  # its own, and three
    again = kfeat("tune", "p.yaml", "--out", "best.yaml")
    assert again.exit_code == 0
    assert "rows of earlier calls were used" in again.stdout
    Path("mine.yaml").write_text("title: mine\n")
    refused = kfeat("tune", "p.yaml", "--out", "mine.yaml")
    assert refused.exit_code == 2
    assert Path("mine.yaml").read_text() == "title: mine\n"


def test_a_split_that_each_repeat_draws_is_fixed_in_the_tuned_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "MOST", 0)
    monkeypatch.setattr(process, "Assistant", Direct)
    people(60)
    kfeat("new", "people.csv", "--target", "income", "--out", "p.yaml")
    drawn = ["--set", "protocol.split={kind: fraction, train: 0.7}"]
    assert kfeat("tune", "p.yaml", *drawn).exit_code == 0
    tuned: Any = load_experiment(Path("p_tuned.yaml")).settings[0].protocols[0]
    assert tuned.split.train == 0.7
    assert tuned.split.seed is not None
    assert not tuned.random
