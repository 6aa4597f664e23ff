"""A file of one's own: `kfeat new`, `kfeat tune`, and what they say when something is wrong."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kfeat.experiments.config import load_experiment
from kfeat.experiments.run import planned
from kfeat.experiments.trial import run_trial
from kfeat.own import bench
from kfeat.own import search as search_module
from kfeat.text import in_yaml
from tests.cli.commands import kfeat, refusal, succeed
from tests.own.asking import Direct


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
    succeed("new", "people.csv", "--target", "income", "--out", "p.yaml")
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


def test_a_model_of_a_first_config_is_scored() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 3))
    lines = [",".join(map(str, [*row.round(3), "rare" if row[0] > 1.2 else "common"])) for row in rows]
    Path("rare.csv").write_text("\n".join(["a,b,c,y", *lines, ""]))
    succeed("new", "rare.csv", "--target", "y", "--out", "r.yaml")
    assert "# exact: {name: libsvm_cv}" in Path("r.yaml").read_text()
    succeed("fit", "r.yaml", "--model", "r.kfeat")
    scored = kfeat("score", "--model", "r.kfeat", "rare.csv")
    accuracy, alone = re.findall(r"[\d.]+ %", scored.stdout)
    assert float(accuracy[:-2]) > 95 > float(alone[:-2]) > 80
    assert f"accuracy {accuracy} (always the most frequent class: {alone}) on 300 rows" in scored.stdout


def test_rows_that_are_mostly_equal_have_the_mean_distance_for_a_bandwidth() -> None:
    rows = "".join(f"{'abc'[0 if i % 10 else 1 + i % 3 // 2]},{i % 2}\n" for i in range(200))
    Path("skew.csv").write_text("word,y\n" + rows)
    succeed("new", "skew.csv", "--target", "y", "--out", "s.yaml")
    assert "gamma: mean_distance" in Path("s.yaml").read_text()
    succeed("fit", "s.yaml", "--model", "s.kfeat")
    refused = kfeat("fit", "s.yaml", "--model", "t.kfeat", "--set", "kernel.gamma=median")
    assert "half of the pairs of rows are equal: set the kernel's bandwidth to mean" in refused.stderr


def test_classes_that_are_no_whole_numbers_are_refused_at_once() -> None:
    Path("stars.csv").write_text("a,y\n" + "".join(f"{i},{1.5 + i % 2}\n" for i in range(40)))
    told = "stars.csv: expected words or whole numbers below 2^53 as classes, got 1.5; write words"
    refused = kfeat("new", "stars.csv", "--target", "y", "--task", "classification")
    assert refused.exit_code == 2
    assert told in refused.stderr
    change = ("--set", "dataset.task=classification", "--set", "solvers.mapped={name: liblinear}")
    succeed("new", "stars.csv", "--target", "y", "--out", "s.yaml")
    for command in (("run", "s.yaml"), ("fit", "s.yaml", "--model", "s.kfeat")):
        assert told in refusal(*command, *change)


def test_few_rows_of_a_regression_are_fitted_and_what_has_no_value_is_null() -> None:
    Path("few.csv").write_text("a,y\n1,1.5\n2,2.5\n3,3.25\n4,4.5\n5,5.75\n")
    succeed("new", "few.csv", "--target", "y", "--task", "regression", "--out", "f.yaml")
    assert "name: ridge}" in Path("f.yaml").read_text()
    succeed("fit", "f.yaml", "--model", "f.kfeat")
    Path("one.csv").write_text("a,y\n1,1.5\n")
    scored = kfeat("score", "--model", "f.kfeat", "one.csv", "--format", "json")
    assert json.loads(scored.stdout, parse_constant=pytest.fail)["r2"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no target"),
        (["--target", "incom"], r"did you mean 'income'"),
        (["--target", "age", "--task", "classification"], "set `task: regression`"),
        (["--target", "same"], "single class, '1'"),
    ],
)
def test_what_cannot_be_is_one_sentence(words: list[str], said: str) -> None:
    with open("data.csv", "w") as file:
        file.write("age,job,income,same\n" + "".join(f"{i}.5,{i % 3},{i % 2},1\n" for i in range(60)))
    assert said in refusal("new", "data.csv", *words)
    assert not Path("data.yaml").exists()


@pytest.mark.parametrize(("cell", "said"), [("{i},25", "decimal point, not a comma"), ("{i}.25", "'7O'")])
def test_slips_in_a_column_of_numbers_are_named_and_not_left_out_with_it(cell: str, said: str) -> None:
    cells = [cell.format(i=i) for i in range(100)]
    if "." in cell:
        cells[6] = "7O"
    lines = [f"{each};{i % 2}\n" for i, each in enumerate(cells)]
    Path("slips.csv").write_text("a;y\n" + "".join(lines))
    found = refusal("new", "slips.csv", "--target", "y")
    assert said in found
    assert "column a" in found


def test_a_config_is_not_replaced() -> None:
    people(60)
    Path("people.yaml").write_text("mine")
    assert "people.yaml exists" in refusal("new", "people.csv", "--target", "income")
    assert Path("people.yaml").read_text() == "mine"


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
    succeed("new", "data.csv", *words)
    assert expected in Path("data.yaml").read_text()
    load_experiment(Path("data.yaml"))


def test_tune_writes_a_config_a_table_and_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "MOST", 3)
    monkeypatch.setattr(bench, "ScorerProcess", Direct)
    people()
    kfeat("new", "people.csv", "--target", "income", "--out", "p.yaml")
    before = load_experiment(Path("p.yaml")).settings[0]
    tuned = succeed("tune", "p.yaml", "--budget", "5m", "--out", "best.yaml")
    assert "by which nothing was chosen, the best scores" in tuned.stdout
    (after,) = load_experiment(Path("best.yaml")).settings
    assert after.datasets == before.datasets
    assert after.protocols[0].split == before.protocols[0].split  # the same test rows
    assert len(after.mapped_solvers) + len(after.exact_solvers) == 1
    folder = Path("runs/p/tune")
    assert {"table.csv", "table.md", "figure.svg", "figure.png"} <= {one.name for one in folder.iterdir()}
    lines = (folder / "table.csv").read_text().splitlines()
    assert sum(",True," in line for line in lines) == 1  # the config's own
    assert sum(",exact," in line for line in lines) >= 2
    assert "the most accurate" in tuned.stdout
    succeed("fit", "best.yaml", "--model", "best.kfeat")
    succeed("tune", "p.yaml", "--prefer", "speed", "--out", "quick.yaml")
    assert "rows of earlier calls were used" in succeed("tune", "p.yaml", "--out", "best.yaml").stdout
    Path("mine.yaml").write_text("title: mine\n")
    assert kfeat("tune", "p.yaml", "--out", "mine.yaml").exit_code == 2
    assert Path("mine.yaml").read_text() == "title: mine\n"


def test_a_split_that_each_repeat_draws_is_fixed_in_the_tuned_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "MOST", 0)
    monkeypatch.setattr(bench, "ScorerProcess", Direct)
    people(60)
    kfeat("new", "people.csv", "--target", "income", "--out", "p.yaml")
    drawn = ["--set", "protocol.split={kind: fraction, train: 0.7}"]
    succeed("tune", "p.yaml", *drawn)
    tuned: Any = load_experiment(Path("p_tuned.yaml")).settings[0].protocols[0]
    assert tuned.split.train == 0.7
    assert tuned.split.seed is not None
    assert not tuned.random


def test_new_reads_dates_gaps_and_empty_columns() -> None:
    """What a person's spreadsheet holds is found out, and the config runs."""
    rows = [f"{i}.5;2024-01-{1 + i % 28:02};;{'' if i % 7 == 0 else i % 3};{i % 2}" for i in range(60)]
    Path("own.csv").write_text("price;when;empty;rooms;y\n" + "\n".join([*rows, "1.5;2024-01-01;;2;"]) + "\n")
    succeed("new", "own.csv", "--target", "y")
    succeed("new", "own.csv", "--target", "y", "--set", "drop=[rooms]", "--out", "o.yaml")
    assert "drop: [empty, rooms]" in Path("o.yaml").read_text()
    text = Path("own.yaml").read_text()
    assert "delimiter: ;" in text
    assert "drop: [empty]" in text
    assert "missing: mean" in text
    assert "categorical" not in text
    assert "# Left out (`drop`): empty (no value)." in text
    assert "# own.csv: 60 rows" in text
    succeed("run", "own.yaml", "--repeats", "1", "-q")


def test_new_leaves_out_what_counts_rows_is_constant_or_a_copy() -> None:
    rng = np.random.default_rng(0)
    lines = [
        f"{1000 + i},{a:.3f},{a:.3f},eu,{y},{y}"
        for i, (a, y) in enumerate(zip(rng.random(60), rng.integers(2, size=60), strict=True))
    ]
    Path("c.csv").write_text("\n".join(["id,a,again,region,leak,y", *lines]) + "\n")
    succeed("new", "c.csv", "--target", "y")
    text = " ".join(Path("c.yaml").read_text().replace("\n#", " ").split())
    assert "drop: [id, again, region, leak]" in text
    told = [
        "id (numbers that count the rows)",
        "again (the same as a)",
        "region (one value in all rows)",
        "leak (the same as y)",
    ]
    assert all(said in text for said in told)


@pytest.mark.parametrize(
    ("header", "line", "more", "dropped"),
    [
        ("a,again,b,y", lambda i: (i % 7, i % 7, i % 5, i % 2), ["--set", "drop=[a]"], ["a"]),
        ("t,t2,y", lambda i: (i, i, i % 2), [], ["t2"]),
        (",x,y", lambda i: (i, i, i % 2), [], ["Unnamed: 0"]),
        ("id,leak,b,y", lambda i: (i, i % 2, i % 5, i % 2), [], ["id", "leak"]),
        ("0,no,b: c,d,y", lambda i: (7, 8, 9, i * i, i % 2), [], ["0", "no", "b: c"]),
        ("gaps,name,b,y", lambda i: (2 * i, f"p{i}", i * i, i % 2), [], ["name"]),
    ],
)
def test_new_keeps_one_of_each_and_the_time_where_it_is_all_there_is(
    header: str, line: Callable[[int], tuple[int | str, ...]], more: list[str], dropped: list[str]
) -> None:
    lines = [header, *(",".join(map(str, line(i))) for i in range(60))]
    Path("c.csv").write_text("\n".join(lines) + "\n")
    succeed("new", "c.csv", "--target", "y", *more)
    assert f"drop: {in_yaml(dropped)}" in Path("c.yaml").read_text()
    succeed("data", "info", "c.csv", "--target", "y", "--set", f"drop={in_yaml(dropped)}")


def test_new_takes_what_is_said_of_a_file_and_finds_blanks_and_lines_without_a_header() -> None:
    lines = [f"{i / 10} {i % 5} class{i % 2}" for i in range(50)]
    Path("iris.csv").write_text("\n".join(lines) + "\n")
    succeed("new", "iris.csv", "--target", "2")
    text = Path("iris.yaml").read_text()
    assert "target: 2" in text
    assert "header: false" in text
    assert "delimiter: whitespace" in text
    succeed("new", "iris.csv", "--set", "target=2", "--set", "drop=[1]", "--out", "i.yaml")
    assert "drop: [1]" in Path("i.yaml").read_text()
    assert "delimitr" in refusal("new", "iris.csv", "--target", "2", "--set", "delimitr=;")


def test_new_looks_into_parquet_too() -> None:
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    import pandas as pd

    frame = pd.DataFrame({"a": range(40), "town": ["X", "Y"] * 20, "y": [0, 1] * 20})
    frame.to_parquet("own.parquet")
    succeed("new", "own.parquet", "--target", "-1")
    text = Path("own.yaml").read_text()
    assert "target: y" in text
    assert "categorical: one_hot" in text
    Path("cut.parquet").write_bytes(Path("own.parquet").read_bytes()[:300])
    frame.assign(many=[[1, 2]] * 40).to_parquet("lists.parquet")
    succeed("new", "lists.parquet", "--target", "y")
    assert "drop: [a, many]" in Path("lists.yaml").read_text()
    assert "column many: expected numbers or words, got array([1, 2])" in refusal(
        "data", "info", "lists.parquet", "--target", "y", "--set", "categorical=one_hot"
    )
    assert "cut.parquet: cannot be read as parquet" in refusal("data", "info", "cut.parquet")


def test_tune_refuses_a_place_that_is_not_there_before_it_searches() -> None:
    people()
    succeed("new", "people.csv", "--target", "income", "--out", "p.yaml")
    assert "the tuned config cannot be written" in refusal(
        "tune", "p.yaml", "--budget", "10h", "--out", "nowhere/t.yaml"
    )
    assert not Path("runs").exists()


def test_nothing_that_is_read_is_replaced() -> None:
    """Predictions in the place of the data, a model in the place of the config: both are slips."""
    Path("own.csv").write_text("a,b,y\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(40)))
    succeed("new", "own.csv", "--target", "y")
    config, data = Path("own.yaml").read_text(), Path("own.csv").read_text()
    np.savez("arrays.npz", X=np.zeros((3, 2)))  # a zip, as a model is
    for name in ("own.yaml", "own.csv", "arrays.npz"):
        assert "exists and is not a model" in refusal("fit", "own.yaml", "--model", name)
    succeed("fit", "own.yaml", "--model", "m")
    succeed("fit", "own.yaml", "--model", "m")
    for out in ("own.csv", "m"):
        assert "is an input file" in refusal("predict", "--model", "m", "own.csv", "--out", out)
    assert (Path("own.yaml").read_text(), Path("own.csv").read_text()) == (config, data)


def test_weights_of_classes_are_named_by_the_words_of_the_labels() -> None:
    people()
    succeed("new", "people.csv", "--target", "income", "--out", "p.yaml")
    weighted = "solvers.mapped={name: newton, class_weight: {high: 50.0, low: 1.0}}"
    succeed("run", "p.yaml", "--no-exact", "--repeats", "1", "--set", weighted, "-q")
    wrong = kfeat("run", "p.yaml", "--no-exact", "--repeats", "1", "--set", weighted.replace("high", "rich"))
    assert wrong.exit_code == 1
    assert "there are no rows of ['rich']" in wrong.stderr


def test_a_target_of_numbers_with_a_stray_word_is_no_classification() -> None:
    cells = ["n/v" if i == 5 else str(i / 8) for i in range(100)]
    Path("rent.csv").write_text("a,y\n" + "".join(f"{i % 7},{cell}\n" for i, cell in enumerate(cells)))
    assert "row 6, column y: expected numbers, got 'n/v' (99 of 100 rows are numbers); correct it" in refusal(
        "new", "rent.csv", "--target", "y"
    )
    Path("names.csv").write_text("a,y\n" + "".join(f"{i % 7},word {i}\n" for i in range(100)))
    assert "--task classification makes them classes" in kfeat("new", "names.csv", "--target", "y").stderr
    succeed("new", "names.csv", "--target", "y", "--task", "classification")


def test_rows_without_a_label_are_told(caplog: pytest.LogCaptureFixture) -> None:
    Path("few.csv").write_text("a,y\n" + "".join(f"{i},{('x', 'z', '')[i % 3]}\n" for i in range(60)))
    succeed("new", "few.csv", "--target", "y")
    assert "few.csv: 20 of 60 rows have no label and are left out" in caplog.text


def test_tune_of_too_few_rows_says_how_many_it_takes() -> None:
    Path("nine.csv").write_text("a,y\n" + "".join(f"{i},{'xz'[i % 2]}\n" for i in range(9)))
    succeed("new", "nine.csv", "--target", "y")
    assert "nine.csv: cross-validation in 5 folds needs 5 training rows of some class" in refusal(
        "tune", "nine.yaml", "--budget", "3s"
    )
