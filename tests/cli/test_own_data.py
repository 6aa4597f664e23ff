"""A file of one's own: `kfeat new`, `kfeat tune`, and what they say when something is wrong."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock

from kfeat.cli.values import seconds_of
from kfeat.data import load
from kfeat.experiments.config import load_experiment
from kfeat.own import load_model
from kfeat.own.candidates import BOOSTING
from kfeat.own.result import SearchResult
from kfeat.text import in_yaml
from tests.cells import planned, run
from tests.cli.commands import kfeat, refusal, succeed, when_told
from tests.own.asking import churn


def table(path, header, row, n=60):
    """Write a CSV file with `n` rows."""
    Path(path).write_text("".join(f"{line}\n" for line in [header, *map(row, range(n))]))


def new(path, *options):
    """Return the config that `kfeat new` makes of a file, beside which it lies."""
    succeed("new", path, "--target", "y", *options)
    return Path(path).with_suffix(".yaml").read_text()


@pytest.fixture
def people():
    """A table with words, gaps, CRLF, an index without a name and a column of names, and p.yaml for it."""
    rng = np.random.default_rng(5)
    with open("people.csv", "w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(["", "age", "job", "who", "income"])
        for i, age in enumerate(rng.integers(18, 80, 160)):
            job = rng.choice(["smith", "baker", "clerk"])
            income = "high" if (age - 45) ** 2 < 150 else "low"
            writer.writerow([i, "" if i % 9 == 0 else age, job, f"person {i}", income])
    succeed("new", "people.csv", "--target", "income", "--out", "p.yaml")


@pytest.mark.usefixtures("people")
@pytest.mark.filterwarnings("ignore:Nystrom. the kernel has the numerical rank")
def test_a_first_config_runs_as_it_is():
    text = Path("p.yaml").read_text()
    assert "drop: ['Unnamed: 0', who]" in text
    assert "missing: mean" in text
    assert "classes: " in text
    assert "low (" in text
    (here,) = load_experiment(Path("p.yaml")).settings
    assert [one.name for one in here.maps] == ["nystrom"]
    assert [one.name for one in here.mapped_solvers] == ["newton_cv"]
    row = run(planned(Path("p.yaml"))[0])
    assert row["status"] == "done", row
    assert row["accuracy"] > 0.8


def test_a_model_of_a_first_config_is_scored():
    rows = np.random.default_rng(0).normal(size=(300, 3)).round(3)
    label = np.where(rows[:, 0] > 1.2, "rare", "common")
    table("r.csv", "a,b,c,y", lambda i: ",".join(map(str, [*rows[i], label[i]])), 300)
    assert "# exact: {name: libsvm_cv}" in new("r.csv")
    succeed("fit", "r.yaml", "--model", "r.kfeat")
    scored = kfeat("score", "--model", "r.kfeat", "r.csv")
    accuracy, alone, balanced = re.findall(r"[\d.]+ %", scored.stdout)
    assert float(accuracy[:-2]) > 95 > float(alone[:-2]) > 80
    assert f"accuracy {accuracy} (always the most frequent class: {alone}) on 300 rows" in scored.stdout
    assert f"; balanced accuracy {balanced}, F1 0." in scored.stdout


def test_rows_that_are_mostly_equal_have_the_mean_distance_for_a_bandwidth():
    table("s.csv", "word,y", lambda i: f"{'abc'[0 if i % 10 else 1 + i % 3 // 2]},{i % 2}", 200)
    assert "gamma: mean_distance" in new("s.csv")
    succeed("fit", "s.yaml", "--model", "s.kfeat")
    refused = kfeat("fit", "s.yaml", "--model", "t.kfeat", "--set", "kernel.gamma=median")
    assert "half of the pairs of rows are equal: set the kernel's bandwidth to mean" in refused.stderr


def test_classes_that_are_no_whole_numbers_are_refused_at_once():
    table("stars.csv", "a,y", lambda i: f"{i},{1.5 + i % 2}", 90)
    told = "stars.csv: expected words or whole numbers below 2^53 as classes, got 1.5; write words"
    assert told in refusal("new", "stars.csv", "--target", "y", "--task", "classification")
    change = ("--set", "dataset.task=classification", "--set", "solvers.mapped={name: liblinear}")
    new("stars.csv")
    for command in (("run", "stars.yaml"), ("fit", "stars.yaml", "--model", "s.kfeat")):
        assert told in refusal(*command, *change)


def test_few_rows_of_a_regression_are_fitted_and_what_has_no_value_is_null():
    Path("few.csv").write_text("a,y\n1,1.5\n2,2.5\n3,3.25\n4,4.5\n5,5.75\n")
    assert "name: ridge}" in new("few.csv", "--task", "regression")
    succeed("fit", "few.yaml", "--model", "f.kfeat")
    Path("one.csv").write_text("a,y\n1,1.5\n")
    scored = kfeat("score", "--model", "f.kfeat", "one.csv", "--format", "json")
    assert json.loads(scored.stdout, parse_constant=pytest.fail)["r2"] is None


@pytest.mark.parametrize(
    ("header", "row", "words", "said"),
    [
        ("a,y", lambda i: f"{i}.5,{i % 2}", [], "no target"),
        ("a,income", lambda i: f"{i}.5,{i % 2}", ["--target", "incom"], r"did you mean 'income'"),
        ("a,y", lambda i: f"{i % 2},{i}.5", ["--target", "y", "--task=classification"], "`task: regression`"),
        ("a,y", lambda i: f"{i},1", ["--target", "y"], "single class, '1'"),
        ("a;y", lambda i: f"{'7O' if i == 6 else i + 0.25};{i % 2}", ["--target", "y"], "column a: .* '7O'"),
        ("a,y", lambda i: f"{i % 7},{'n/v' if i == 5 else i / 8}", ["--target", "y"],
         r"row 6, column y: expected numbers, got 'n/v' \(99 of 100 rows are numbers\); correct it"),
        ("a,y", lambda i: f"{i % 7},word {i}", ["--target", "y"], "--task classification makes them classes"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(header, row, words, said):
    table("data.csv", header, row, 100)
    assert re.search(said, refusal("new", "data.csv", *words))
    assert not Path("data.yaml").exists()


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("name", ["new\nline.csv", "tab\t.csv", "es\x1bc.csv", "byte\udcff.csv"])
def test_a_name_that_no_config_can_have_is_refused_at_once(name):
    before = {*Path().glob("*.yaml")}
    Path(name).write_text("a,y\n" + "1,p\n2,q\n" * 20)
    refused = refusal("new", name, "--target", "y")
    assert "no config can have this file's name: expected one line of text" in refused
    assert refused.endswith("rename the file\n")
    assert {*Path().glob("*.yaml")} == before


def test_a_config_is_not_replaced():
    Path("people.yaml").write_text("mine")
    assert "people.yaml exists" in refusal("new", "people.csv", "--target", "income")
    assert Path("people.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("a;b;y\n" + "1;2;0\n3;4;1\n" * 30, [], "delimiter: ;"),
        ("1,2,0\n3,4,1\n" * 30, ["--target", "2"], "target: 2, header: false"),
        ("a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(80)), [], "name: ridge_cv"),
        ("a,y\n" + "".join(f"{i},word {i}\n" for i in range(80)), ["--task", "classification"], "target: y"),
    ],
)
def test_files_as_people_have_them(text, words, expected):
    Path("data.csv").write_text(text)
    assert expected in new("data.csv", *words)
    load_experiment(Path("data.yaml"))


@pytest.mark.usefixtures("people", "quick")
def test_tune_writes_a_config_and_a_page(monkeypatch):
    before = load_experiment(Path("p.yaml")).settings[0]
    drawn = ["--set", "protocol.split={kind: fraction, train: 0.7}"]
    tuned = succeed("tune", "p.yaml", *drawn, "--out", "best.yaml")
    assert "by which nothing was chosen, the best scores" in tuned.stdout
    assert "the most accurate" in tuned.stdout
    (after,) = load_experiment(Path("best.yaml")).settings
    assert after.datasets == before.datasets
    split = after.protocols[0].split
    assert (split.train, after.protocols[0].random) == (0.7, False)  # else other repeats would test on others
    assert len(after.solvers.all) == 1
    page = Path("best.html").read_text()
    assert "figures of ['high', 'low']" in page
    assert page.count("<li>") > 3
    lines = [line for line in page.splitlines() if "<tr><td" in line]
    assert sum("exact" in line for line in lines) >= 2
    assert sum("HistGradientBoosting" in line for line in lines) == 1
    again = ("tune", "p.yaml", *drawn, "--out")
    linear = succeed(*again, "linear.yaml", "--prefer", "linear")
    assert "rows of earlier calls." in linear.stdout
    monkeypatch.setattr(SearchResult, "ahead", 0.1)
    boosted = succeed(*again, "boosted.yaml", "--prefer", "boosting")
    assert boosted.stdout.startswith("BOOSTING IS AHEAD")
    (setting,) = load_experiment(Path("boosted.yaml")).settings
    assert [one.name for one in setting.solvers.all] == [BOOSTING["classification"]]
    ten = f"solvers.baseline={{name: '{BOOSTING['classification']}', max_iter: 10}}"
    succeed("fit", "boosted.yaml", "--model", "m", "--set", ten)
    score = load_model("m").about_["scores"]["accuracy"]
    assert re.search(rf"^boosting .* {100 * score:.2f} %", boosted.stdout, re.MULTILINE)
    for name in ("mine.yaml", "own.html"):
        Path(name).write_text("title: mine\n")
        assert "did not write it" in refusal("tune", "p.yaml", "--out", Path(name).with_suffix(".yaml"))
        assert Path(name).read_text() == "title: mine\n"


def test_new_reads_dates_gaps_and_empty_columns():
    """What a person's spreadsheet holds is found out, and the config runs."""
    table(
        "own.csv",
        "price;when;empty;rooms;y",
        lambda i: f"{i % 60}.5;2024-01-{1 + i % 28:02};;{i % 3 if i % 7 else ''};{i % 2 if i < 60 else ''}",
        61,
    )
    text = new("own.csv")
    assert "delimiter: ;" in text
    assert "drop: [empty]" in text
    assert "missing: mean" in text
    assert "categorical" not in text
    assert "# Left out (`drop`): empty (no value)." in text
    assert "# own.csv: 60 rows" in text
    succeed("new", "own.csv", "--target", "y", "--set", "drop=[rooms]", "--out", "o.yaml")
    assert "drop: [empty, rooms]" in Path("o.yaml").read_text()
    assert run(planned(Path("own.yaml"))[0])["status"] == "done"


def test_new_leaves_out_numbers_and_words_of_single_rows_and_keeps_those_that_follow_the_target():
    rng = np.random.default_rng(0)
    a, account, paid = rng.random(300), rng.permutation(9000)[:300], rng.permutation(9000)[:300]

    def row(i):
        return f"{a[i]:.3f},{account[i]},{paid[i]},k{account[i]},{'yes' if paid[i] > 6000 else 'no'}"

    table("c.csv", "a,account,paid,key,y", row, 300)
    text = " ".join(new("c.csv").replace("\n#", " ").split())
    assert "drop: [account, key]" in text
    assert "account (a number of its own in every row); key (a different word in almost every row)" in text


def test_new_leaves_out_what_counts_rows_is_constant_or_a_copy():
    rng = np.random.default_rng(0)
    a, y = rng.random(60), rng.integers(2, size=60)
    table("c.csv", "id,a,again,region,leak,y", lambda i: f"{1000 + i},{a[i]:.3f},{a[i]:.3f},eu,{y[i]},{y[i]}")
    text = " ".join(new("c.csv").replace("\n#", " ").split())
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
def test_new_keeps_one_of_each_and_the_time_where_it_is_all_there_is(header, line, more, dropped):
    table("c.csv", header, lambda i: ",".join(map(str, line(i))))
    assert f"drop: {in_yaml(dropped)}" in new("c.csv", *more)
    succeed("data", "info", "c.csv", "--target", "y", "--set", f"drop={in_yaml(dropped)}")


def test_new_takes_what_is_said_of_a_file_and_finds_blanks_and_lines_without_a_header():
    table("iris.csv", "5.1 3 class1", lambda i: f"{i / 10} {i % 5} class{i % 2}")
    text = new("iris.csv", "--target", "2")
    assert "target: 2" in text
    assert "header: false" in text
    assert "delimiter: whitespace" in text
    succeed("new", "iris.csv", "--set", "target=2", "--set", "drop=[1]", "--out", "i.yaml")
    assert "drop: [1]" in Path("i.yaml").read_text()
    assert "delimitr" in refusal("new", "iris.csv", "--target", "2", "--set", "delimitr=;")


def test_new_looks_into_parquet_too():
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    frame = pd.DataFrame({"a": range(40), "town": ["X", "Y"] * 20, "y": [0, 1] * 20})
    frame.to_parquet("own.parquet")
    text = new("own.parquet", "--target", "-1")
    assert "target: y" in text
    assert "categorical: one_hot" in text
    frame.assign(many=[[1, 2]] * 40).to_parquet("lists.parquet")
    assert "drop: [a, many]" in new("lists.parquet")
    assert "column many: expected numbers or words, got array([1, 2])" in refusal(
        "data", "info", "lists.parquet", "--target", "y", "--set", "categorical=one_hot"
    )


@pytest.mark.usefixtures("people")
def test_tune_refuses_a_place_that_is_not_there_before_it_searches():
    assert "the tuned config cannot be written" in refusal(
        "tune", "p.yaml", "--budget", "10h", "--out", "nowhere/t.yaml"
    )
    assert not Path("runs").exists()


def test_nothing_that_is_read_is_replaced():
    """Predictions in the place of the data, a model in the place of the config: both are slips."""
    table("own.csv", "a,b,y", lambda i: f"{i},{i % 7},{i % 2}", 40)
    config, data = new("own.csv"), Path("own.csv").read_text()
    np.savez("arrays.npz", X=np.zeros((3, 2)))  # a zip, as a model is
    for name in ("own.yaml", "own.csv", "arrays.npz"):
        assert "exists and is not a model" in refusal("fit", "own.yaml", "--model", name)
    succeed("fit", "own.yaml", "--model", "m")
    succeed("fit", "own.yaml", "--model", "m")
    for out in ("own.csv", "m"):
        assert "is an input file" in refusal("predict", "--model", "m", "own.csv", "--out", out)
    assert (Path("own.yaml").read_text(), Path("own.csv").read_text()) == (config, data)


@pytest.mark.usefixtures("people")
@pytest.mark.filterwarnings("ignore:Nystrom. the kernel has the numerical rank")
def test_weights_of_classes_are_named_by_the_words_of_the_labels():
    weighted = "solvers.mapped={name: newton, class_weight: {high: 50.0, low: 1.0}}"
    good, bad = (
        planned(Path("p.yaml"), change)[0] for change in (weighted, weighted.replace("high", "rich"))
    )
    assert run(good)["status"] == "done"
    assert "there are no rows of ['rich']" in run(bad)["reason"]


def test_rows_without_a_label_are_told(caplog):
    table("few.csv", "a,y", lambda i: f"{i},{('x', 'z', '')[i % 3]}")
    new("few.csv")
    assert "few.csv: 20 of 60 rows have no label and are left out" in caplog.text


@pytest.mark.usefixtures("quick")
def test_tune_of_too_few_rows_says_how_many_it_takes():
    table("nine.csv", "a,y", lambda i: f"{i},{'xz'[i % 2]}", 9)
    new("nine.csv")
    assert "nine.csv: cross-validation in 5 folds needs 5 training rows of some class" in refusal(
        "tune", "nine.yaml", "--budget", "3s"
    )


@pytest.fixture
def rare():
    """churn.csv, where 4 % leave, with a customer of three rows, a date, and a number of each row."""
    frame, y = churn(600)
    days = np.random.default_rng(0).permutation(600)
    dates = [f"{2021 + day // 330}-{1 + day // 30 % 11:02}-{1 + day % 30 % 28:02}" for day in days]
    ids = 7 * np.random.default_rng(1).permutation(600) + 1000
    frame = frame.assign(customer=np.arange(600) // 3, day=dates, customer_id=ids, leaves=y)
    frame.to_csv("churn.csv", index=False)


@pytest.mark.usefixtures("rare")
def test_of_a_rare_class_the_balanced_accuracy_counts():
    told = succeed("new", "churn.csv", "--target", "leaves", "--set", "drop=[customer]").stdout
    assert "What counts for `kfeat tune` is the balanced accuracy: 96.0% of the rows have one label" in told
    text = Path("churn.yaml").read_text()
    assert "customer_id (a number of its own in every row)" in text
    assert "kind: stratified" in text


@pytest.mark.slow
@pytest.mark.usefixtures("rare", "quick")
def test_of_a_rare_class_the_majority_is_not_handed_over():
    succeed("new", "churn.csv", "--target", "leaves", "--set", "drop=[customer]")
    tuned = succeed("tune", "churn.yaml", "--out", "best.yaml")
    assert "What counts is the balanced accuracy" in tuned.stderr
    assert re.search(r"The best of \d+ candidates by balanced accuracy is", tuned.stdout)
    assert "linear model" in tuned.stdout
    assert "HistGradientBoosting" in tuned.stdout
    assert "class_weight: balanced" in Path("best.yaml").read_text()
    succeed("fit", "best.yaml", "--model", "m", "--probabilities")
    scored = json.loads(succeed("score", "--model", "m", "churn.csv", "--format", "json").stdout)
    assert scored["balanced_accuracy"] > 0.7
    assert scored["roc_auc"] > 0.85
    assert scored["log_loss"] < 0.2
    assert "probability yes" in succeed("predict", "--model", "m", "churn.csv", "--probabilities").stdout


@pytest.mark.usefixtures("rare")
def test_a_model_of_one_class_says_so():
    succeed("new", "churn.csv", "--target", "leaves")
    told = kfeat("fit", "churn.yaml", "--model", "m", "--set", "solvers.mapped={name: newton, C: 1e-6}")
    assert "kfeat: NO BETTER THAN A CONSTANT" in told.stderr
    assert "NO BETTER THAN A CONSTANT" in kfeat("score", "--model", "m", "churn.csv").stderr


@pytest.mark.usefixtures("rare")
def test_groups_and_times_split_the_rows_and_are_no_features():
    succeed("new", "churn.csv", "--target", "leaves", "--group", "customer", "--out", "g.yaml")
    group = load_experiment(Path("g.yaml")).settings[0]
    data = load(group.datasets[0], group.protocols[0])
    assert len(data.by) == len(data.y_train)
    assert set(np.unique(data.by, return_counts=True)[1]) == {3}  # all rows of a customer, or none
    assert "customer" not in data.coding.names
    succeed("new", "churn.csv", "--target", "leaves", "--time", "day", "--out", "t.yaml")
    time = load_experiment(Path("t.yaml")).settings[0]
    later = load(time.datasets[0], time.protocols[0])
    assert "day" not in later.coding.names
    days = pd.to_datetime(pd.read_csv("churn.csv")["day"])
    assert later.by.max() < days.sort_values().iloc[480].timestamp() * 1e6
    succeed("fit", "t.yaml", "--model", "m")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--group", "one"], "column one: expected two groups or more, got one, a"),
        (["--group", "nothing"], "no column 'nothing'"),
        (["--group", "gaps"], "column gaps: expected a group in every row, got an empty cell"),
        (["--time", "word"], "column word: expected numbers, got 'w0'; a time is a number, or a date"),
        (["--time", "gaps"], "expected a time in every row"),
        (["--time", "same"], "leaves no rows to train"),
        (["--time", "same", "--group", "one"], "expected one of them"),
    ],
)
def test_a_column_that_cannot_split_the_rows_is_one_sentence(options, told):
    table("own.csv", "a,one,gaps,word,same,y", lambda i: f"{i % 9},a,{i if i else ''},w{i % 3},1,{i % 2}", 60)
    (sentence,) = refusal("new", "own.csv", "--target", "y", *options).splitlines()
    assert told in sentence
    assert not Path("own.yaml").exists()


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("acuracy", "metric: scikit-learn has no scorer 'acuracy' (did you mean 'accuracy'?)"),
        ("r2", "metric: r2 does not suit 2 classes; these do: accuracy"),
    ],
)
def test_a_metric_that_does_not_suit_is_one_sentence(metric, told):
    (sentence,) = refusal("tune", "p.yaml", "--metric", metric).splitlines()
    assert told in sentence
    assert not Path("runs").exists()


@pytest.mark.usefixtures("quick")
def test_a_class_with_one_row_is_tuned_if_two_others_have_more_and_is_else_one_sentence():
    first = "protocol.split={kind: in_order, n_train: 40}"
    table("own.csv", "a,y", lambda i: f"{i % 9},{'xyz'[2 if i == 5 else i % 2]}", 60)
    succeed("new", "own.csv", "--target", "y")
    tuned = succeed("tune", "own.yaml", "--set", first)
    assert "The best of" in tuned.stdout
    table("two.csv", "a,y", lambda i: f"{i % 9},{'xz'[i == 5 or i > 50]}", 60)
    new("two.csv")
    (sentence,) = refusal("tune", "two.yaml", "--set", first).splitlines()
    assert "the class z has a single training row" in sentence


@pytest.mark.usefixtures("quick", "people")
def test_a_second_search_of_a_config_waits_and_goes_on_from_what_the_first_found():
    """The link of Optuna's own lock, which a killed search leaves behind, ends nothing."""
    first = succeed("tune", "p.yaml", "--budget", "1min")
    assert "rows of earlier calls" not in first.stdout
    (log,) = Path("runs/p/tune").glob("*.log")
    log.with_name(f"{log.name}.lock").symlink_to(log)
    with FileLock(log.with_suffix(".lock"), thread_local=False) as lock, when_told(lock.release) as said:
        second = succeed("tune", "p.yaml", "--budget", "60", "--out", "second.yaml")
    assert said == [
        "p.yaml: another kfeat is tuning it; waiting until it has ended (Ctrl-C ends the waiting)"
    ]
    assert "rows of earlier calls." in second.stdout
    log.write_text("mine\n")
    (sentence,) = refusal("tune", "p.yaml").splitlines()
    assert f"{log}, line 1: expected the record of a search, got a damaged line; remove the file" in sentence


@pytest.mark.usefixtures("quick", "people")
def test_a_budget_that_is_too_short_is_told():
    told = "is too short to read the data, train a linear model and draw the page"
    short = succeed("tune", "p.yaml", "--budget", "0.001s", "--out", "a.yaml").stderr
    assert re.search(rf"kfeat: this took [\d.]+ s: a budget of 0.001 s {told}$", short.strip())
    assert told not in succeed("tune", "p.yaml", "--budget", "10 min", "--out", "b.yaml").stderr


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1min", 60),
        ("90", 90),
        ("90 sec", 90),
        ("1.5 Hours", 5400),
        ("2d", 172_800),
        ("5m", 300),
        ("1hr", 3600),
    ],
)
def test_a_duration_has_a_unit_as_people_write_it(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["1 fortnight", "0 fortnights", "1h30m", "min", "-1s", "366d", "1e3"])
def test_another_duration_is_one_sentence(text):
    (sentence,) = refusal("advise", "digits", "--budget", text).splitlines()
    assert f"'{text}' is not a duration; expected a number of seconds, or 90s, 5min" in sentence


@pytest.mark.parametrize("command", [("tune",), ("fit", "--model", "m")])
def test_no_code_runs_none_and_a_measure_is_not_tuned(command):
    Path("code.py").write_text("open('ran', 'w')\nclass Measure:\n    def of(self, a, b): return {}\n")
    table("own.csv", "a,y", lambda i: f"{i % 9},{'xz'[i % 2]}", 60)
    config = "title: t\nkernel: {name: gaussian, gamma: 1}\nmaps: [{name: orf, n_components: 20}]\n"
    config += "protocol: {split: {kind: fraction, train: 0.5, seed: 0}}\n"
    loads = "dataset: {loader: 'code.py:load'}\nsolvers: {mapped: {name: newton, C: 1}}\n"
    Path("loads.yaml").write_text(config + loads)
    name, *options = command
    refused = refusal(name, "loads.yaml", "--no-code", *options)
    assert "loads.yaml, line 5, dataset.loader: 'code.py:load' is code, which --no-code refuses" in refused
    measures = "dataset: {path: own.csv, target: y}\nmeasure: {name: 'code.py:Measure'}\n"
    Path("measures.yaml").write_text(config + measures)
    assert "a `measure` trains nothing; give `solvers` instead" in refusal(name, "measures.yaml", *options)
    assert "which --no-code refuses" in refusal(name, "measures.yaml", "--no-code", *options)
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("n", "options", "why", "small"),
    [
        (60, ["--group", "g"], "they are of one group, and cross-validation needs two", True),
        (400, ["--group", "g"], "they are of one group, and cross-validation needs two", False),
        (8, [], "5 folds need 5 training rows of some class", True),
        (3, ["--task", "regression"], "5 folds need 5 training rows", True),
        (60, [], "", True),
        (400, [], "", False),
    ],
)
def test_new_names_tune_only_where_it_takes_the_rows_and_says_so_of_few_rows(n, options, why, small):
    table("own.csv", "a,g,y", lambda i: f"{i % 9},{i % 2},{i // 2 % 2}", n)
    out = succeed("new", "own.csv", "--target", "y", *options).stdout
    text = Path("own.yaml").read_text()
    for told in (out, text):
        assert ("Few rows: `kfeat tune` refuses them, since " + why in told) == bool(why)
        assert ("`kfeat tune own.yaml" in told) == (not why)
        assert ("fewer than the 64 features of the smallest map" in told) == small
    if why:
        assert "kfeat: " in refusal("tune", "own.yaml", "--budget", "30s")
    succeed("fit", "own.yaml", "--model", "m")


def claims(n=400):
    """Write claims.csv, a heavy tail, with an exposure as weight, of which a tenth is 0."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(n, 2)).round(3)
    paid = (np.exp(1 + np.sin(2 * a[:, 0])) * rng.lognormal(0, 0.5, n)).round(3)
    exposure = rng.choice([0, 0.5, 1], n, p=[0.1, 0.4, 0.5])
    frame = pd.DataFrame({"a": a[:, 0], "b": a[:, 1], "exposure": exposure, "paid": paid})
    frame.to_csv("claims.csv", index=False)
    return frame


@pytest.mark.usefixtures("quick")
@pytest.mark.filterwarnings("ignore:Nystrom. the kernel has the numerical rank")
def test_rows_count_by_a_weight_from_the_config_to_the_scores():
    frame = claims()
    succeed("new", "claims.csv", "--target", "paid", "--weight", "exposure")
    (setting,) = load_experiment(Path("claims.yaml")).settings
    data = load(setting.datasets[0], setting.protocols[0])
    assert data.coding.names == ["a", "b"]
    assert set(data.weights) == {0.5, 1.0}  # a row of weight 0 is left out
    assert len(data.weights) == len(data.y_train) < 320
    assert set(data.weights_test) == {0.0, 0.5, 1.0}
    assert run(planned(Path("claims.yaml"))[0])["status"] == "done"
    succeed("tune", "claims.yaml", "--out", "best.yaml")
    assert "weight: exposure" in Path("best.yaml").read_text()
    succeed("fit", "best.yaml", "--model", "m")
    scored = json.loads(succeed("score", "--model", "m", "claims.csv", "--format", "json").stdout)
    predicted = [float(line) for line in succeed("predict", "--model", "m", "claims.csv").stdout.split()[1:]]
    errors = np.abs(frame["paid"] - predicted)
    assert scored["mae"] == pytest.approx(np.average(errors, weights=frame["exposure"]), rel=1e-5)
    told = refusal(
        "fit", "claims.yaml", "--model", "n", "--set", "solvers={mapped: {name: liblinear, solver_type: 11}}"
    )
    assert "Liblinear takes no weights of rows; these solvers do: newton, newton_cv, ridge" in told


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("minus", "row 8, column minus: expected a weight of 0 or more, got '-1'"),
        ("zero", "column zero: expected a weight above 0, got 0 in every row"),
        ("huge", "row 4, column huge: expected a weight of 0, or from 1e-30 to 1e+30, got '1e+300'"),
        ("tiny", "row 4, column tiny: expected a weight of 0, or from 1e-30 to 1e+30, got '1e-320'"),
        ("gaps", "column gaps: expected a weight in every row, got an empty cell"),
        ("word", "column word: expected a number, got 'w0'"),
        ("none", "no column 'none'"),
        ("y", "expected the target to be kept"),
    ],
)
def test_a_column_that_cannot_weigh_the_rows_is_one_sentence(column, told):
    table(
        "own.csv",
        "a,minus,zero,huge,tiny,gaps,word,y",
        lambda i: (
            f"{i % 9},{-1 if i == 7 else 1},0,{'1e300' if i == 3 else 1},{'1e-320' if i == 3 else 1},"
            f"{i or ''},w{i % 3},{i % 2}"
        ),
    )
    (sentence,) = refusal("new", "own.csv", "--target", "y", "--weight", column).splitlines()
    assert told in sentence
    assert not Path("own.yaml").exists()


def test_a_config_learns_a_target_on_another_scale_and_a_mean_that_is_better_is_told():
    claims()
    succeed("new", "claims.csv", "--target", "paid", "--set", "drop=[exposure]")
    log = "solvers={mapped: {name: ridge, alpha: 1, target: log}}"
    told = succeed("fit", "claims.yaml", "--model", "m", "--set", log)
    assert "NO BETTER" not in told.stderr
    assert float(re.search(r"R² ([\d.-]+)", told.stdout)[1]) > 0.1
    predicted = [float(line) for line in succeed("predict", "--model", "m", "claims.csv").stdout.split()[1:]]
    assert 0 < min(predicted) < 5 < max(predicted)
    worse = "solvers={mapped: {name: ridge, alpha: 1e-9}}"
    noise = succeed("fit", "claims.yaml", "--model", "n", "--set", worse, "--set", "maps.0.n_components=300")
    assert "kfeat: NO BETTER THAN A CONSTANT: the mean of the targets has R² 0" in noise.stderr
