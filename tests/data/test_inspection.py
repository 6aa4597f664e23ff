"""A look at a file says what is there, what to set, and what reading makes of it."""

import json

import numpy as np
import pandas as pd
import pytest

from kfeat.data import Reading, load_raw
from kfeat.data.inspection import inspect
from kfeat.data.sources import FileSource
from kfeat.errors import DataError
from kfeat.own.new_config import new_config
from tests.cli.commands import kfeat, refusal, succeed
from tests.data.files import described, write

CSV = ",age,colour,when,y\r\n0,1,red,2020-01-01,yes\r\n1,,blue,2020-01-02,no\r\n2,3,red,2020-03-03,yes\r\n"
WHOLE = {"target": "y", "categorical": "one_hot", "missing": "mean", "drop": ["when"]}


def look(folder, content=CSV, **options):
    path = write(folder, content, "toy.csv")
    return inspect(FileSource(path=str(path), **options), folder / "cache")


def test_columns_are_described_without_a_target(tmp_path):
    report = look(tmp_path)
    columns = {column.pop("name"): column for column in report["columns"]}
    kinds = {name: (one["holds"], one["n_missing"], one["n_distinct"]) for name, one in columns.items()}
    assert kinds == {
        "Unnamed: 0": ("numbers", 0, 3),
        "age": ("numbers", 1, 2),
        "colour": ("words", 0, 2),
        "when": ("dates", 0, 3),
        "y": ("words", 0, 2),
    }
    assert columns["age"]["values"] == "1 to 3, mean 2"
    assert columns["colour"]["values"] == "red (2), blue (1)"
    assert report["n_rows"] == {"train": 3}
    assert not {"problem", "task"} & set(report)


def test_what_reading_makes_of_it(tmp_path):
    report = look(tmp_path, **WHOLE)
    assert [column["role"] for column in report["columns"]] == ["feature"] * 3 + ["dropped", "target"]
    becomes = ["number", "number", "one_hot", "dropped", "target"]
    assert [column["becomes"] for column in report["columns"]] == becomes
    assert (report["task"], report["n_features"]) == ("classification", 4)
    assert report["classes"] == {"train": {"no": 1, "yes": 2}}
    assert json.loads(json.dumps(report)) == report


def test_why_it_cannot_be_read(tmp_path):
    report = look(tmp_path, **{**WHOLE, "missing": None})
    assert "row 2, column age" in report["problem"]
    assert "classes" not in report
    with pytest.raises(DataError, match="no column 'z'"):
        look(tmp_path, target="z")


def test_infinite_numbers_and_empty_columns_are_shown(tmp_path):
    report = look(tmp_path, "a,b,y\ninf,,0\n1,,1\n", target="y")
    assert report["columns"][0]["values"] == "1 to 1, mean 1"
    assert report["columns"][1]["holds"] == "nothing"
    assert "problem" in report


def test_formats_without_names(tmp_path):
    np.savez(tmp_path / "toy.npz", X=np.eye(3), y=[0, 1, 1])
    report = inspect(FileSource(path=str(tmp_path / "toy.npz")), tmp_path / "cache")
    assert (report["columns"], report["n_rows"], report["n_features"]) == ([], {"train": 3}, 3)
    assert report["classes"] == {"train": {"0": 1, "1": 2}}


def info(*arguments):
    return succeed("data", "info", *arguments).stdout


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("KFEAT_CACHE", str(tmp_path / "cache"))
    return str(write(tmp_path, CSV, "toy.csv"))


def test_the_command_shows_it(file, tmp_path):
    shown = info(file)
    assert "n_rows: {train: 3}" in shown
    assert "1 to 3, mean 2" in shown
    assert "--target COLUMN" in shown
    settings = ("--set", "categorical=one_hot", "--set", "missing=mean", "--set", "drop=[when, 0]")
    shown = info(file, "--target", "y", *settings)
    assert "train: {'no': 1, 'yes': 2}" in shown
    assert "one_hot" in shown
    assert "--target" not in shown
    path = str(write(tmp_path, "a;y\n1.5;0\n2;1\n", "signs.csv"))
    assert "1.5 to 2, mean 1.75" in info(path, "--target", "y", "--set", "delimiter=;")


@pytest.mark.parametrize(
    ("text", "target", "n", "header"),
    [
        ("0,1,2\n" + "0.5,1.25,1\n-1.5,0.75,0\n" * 5, "2", 10, True),
        (",0,1\n" + "".join(f"{i},{i * i},{i % 2}\n" for i in range(10)), "1", 10, True),
        ("2019,2020,label\n" + "1.5,2.5,yes\n2.5,1.5,no\n" * 5, "label", 10, True),
        ("5,1,1\n4,2,0\n3,3,1\n2,1,0\n", "-1", 4, False),
        ("high,low,bad\n" + "high,high,bad\nlow,low,good\n" * 3, "-1", 7, False),
        ("3,high,TRUE\n" + "5,high,TRUE\n2,low,FALSE\n" * 3, "-1", 7, False),
        ("a,y\n" + "1,yes\n2,no\n" * 3, "y", 6, None),
    ],
)
def test_the_first_line_is_names_or_a_row_for_info_and_new_alike(file, tmp_path, text, target, n, header):
    path = write(tmp_path, text, "first.csv")
    shown = info(str(path), "--target", target, "--set", "categorical=one_hot")
    assert f"n_rows: {{train: {n}}}" in shown
    config = new_config(path, tmp_path / "c.yaml", target=target, test=None, task=None, reading=Reading())
    assert f"# first.csv: {n} rows" in config
    written = "" if header is None else f"header: {str(header).lower()}"
    assert written in config
    assert ("# The first line" in config) == (header is not None)


def test_empty_beside_one_word_is_a_word_and_another_encoding_one_sentence(file, tmp_path):
    path = write(tmp_path, "milk,n,big\n" + "t,1,yes\n,,no\n" * 12, "basket.csv")
    options = {"target": "big", "test": None, "task": None, "reading": Reading()}
    config = new_config(path, tmp_path / "c.yaml", **options)
    assert "missing: word" in config
    assert "# An empty cell among words is the word `missing`" in config
    source = {"path": str(path), "target": "big", "categorical": "ordinal", "missing": "word"}
    assert load_raw(source).parts["train"].X[:2].tolist() == [[0, 1], [1, 1]]
    latin = write(tmp_path, "gr\xf6\xdfe,y\n1,0\n".encode("latin-1"), "latin.csv")
    with pytest.raises(DataError, match=r"latin\.csv: expected UTF-8 text"):
        new_config(latin, tmp_path / "c.yaml", **{**options, "target": "y"})


def test_the_table_is_not_too_wide(file, tmp_path):
    text = f"{'long ' * 30},y\n" + "".join(f"{'word ' * 30}{i % 3},{i % 2}\n" for i in range(9))
    shown = info(str(write(tmp_path, text, "wide.csv")))
    assert max(map(len, shown.splitlines()[1:4])) < 110
    assert "..." in shown


def test_the_command_says_what_stands_in_the_way(file, tmp_path):
    result = kfeat("data", "info", file, "--target", "-1")
    assert (result.exit_code, "colour" in result.stdout) == (2, True)
    assert "row 2, column age" in result.stderr
    for arguments, said in (
        ([file, "--set", "missing=all"], "missing: expected"),
        ([file, "--set", "missing"], "expected KEY=VALUE"),
        ([file + "x"], "no such file"),
        ([str(write(tmp_path, "PK", "toy.xlsx"))], "save the sheet as `CSV UTF-8`"),
        (["digits", "--target", "y"], "digits is a registered dataset"),
    ):
        assert said in refusal("data", "info", *arguments)


def test_json(file):
    found = json.loads(info(file, "--format", "json"))
    kinds = [column["holds"] for column in found["columns"]]
    assert kinds == ["numbers", "numbers", "words", "dates", "words"]
    known = json.loads(info("digits", "--format", "json"))
    assert (known["name"], known["shape"]["train"]) == ("digits", [1797, 64])


def numbers_of_their_own(n=300):
    """Return whole numbers that differ in every row, in no order."""
    rng = np.random.default_rng(0)
    return rng.permutation(np.arange(n) * 10 + rng.integers(0, 10, n))


@pytest.mark.parametrize("bands", [1, 3, 6])
@pytest.mark.parametrize("words", [True, False])
def test_numbers_on_which_the_target_depends_in_any_form_are_no_ids(tmp_path, bands, words):
    x = numbers_of_their_own()
    high = np.sin(bands * np.pi * x / 1500) > 0
    y = np.where(high, "forest", "bare") if words else high + 0.25 + np.random.default_rng(1).normal(size=300)
    frame = pd.DataFrame({"elevation": x, "slope": np.random.default_rng(2).normal(size=300), "y": y})
    dataset, text, _ = described(write(tmp_path, frame.to_csv(index=False), "toy.csv"))
    assert "drop" not in dataset
    assert "Left out" not in text


@pytest.mark.parametrize("seed", range(3))
def test_ids_are_left_out_unless_an_empty_drop_keeps_them(tmp_path, seed):
    rng = np.random.default_rng(seed)
    labels = [rng.choice(["a", "b"], 300), rng.normal(size=300), rng.choice(["a", "b"], 300, p=[0.9, 0.1])]
    frame = pd.DataFrame({"account": numbers_of_their_own(), "x": rng.normal(size=300), "y": labels[seed]})
    path = write(tmp_path, frame.to_csv(index=False), "toy.csv")
    dataset, text, _ = described(path)
    assert dataset["drop"] == ["account"]
    assert "# Left out (`drop`): account (a number of its own in every row). `--set 'drop=[]'` keeps" in text
    dataset, text, raw = described(path, drop=[])
    assert (dataset["drop"], raw.columns) == ([], ("account", "x"))
    assert "Left out" not in text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cell", ["inf", "-inf"])
def test_infinity_is_one_sentence_without_a_warning(tmp_path, cell):
    text = "a,b,y\n" + "".join(f"{cell if i % 7 == 3 else i * 1.5},{i % 5},{i % 2}\n" for i in range(40))
    with pytest.raises(DataError, match=f"rows 4, 11, .* column a: expected a finite number, got '{cell}'"):
        described(write(tmp_path, text, "toy.csv"))
