"""CSV, TSV and ARFF: numbers and words come out right, faults are named with line and column."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import issparse

from kfeat.data.columns import Reading
from kfeat.data.formats import read_files
from kfeat.errors import DataError
from tests.data.files import write

CSV = "age,colour,income\n30,red,high\n40.5,blue,low\n50,red,low\n"
ARFF = """% a comment
@relation toy
@attribute age numeric
@attribute colour {red, green, blue}
@attribute income {low, high}
@data
30,red,high
40.5,blue,low
"""


def dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else X


def read(path: Path, **options: Any) -> Any:
    return read_files({"train": path}, Reading(**options))


@pytest.mark.parametrize(
    ("categorical", "rows"),
    [
        ("ordinal", [[30, 1], [40.5, 0], [50, 1]]),
        ("one_hot", [[30, 0, 1], [40.5, 1, 0], [50, 0, 1]]),
    ],
)
def test_words_are_coded(tmp_path: Path, categorical: str, rows: Any) -> None:
    contents = read(write(tmp_path, CSV, "toy.csv"), target="income", categorical=categorical)
    assert_array_equal(dense(contents.parts["train"].X), rows)
    assert contents.parts["train"].y.tolist() == [0, 1, 1]
    assert (contents.task, contents.label_names) == ("classification", ("high", "low"))


def test_levels_give_the_order(tmp_path: Path) -> None:
    levels = {"colour": ["red", "green", "blue"], "income": ["low", "high"]}
    path = write(tmp_path, CSV, "toy.csv")
    contents = read(path, target=-1, categorical="ordinal", levels=levels)
    assert contents.parts["train"].X.tolist() == [[30, 0], [40.5, 2], [50, 0]]
    assert contents.label_names == ("low", "high")
    assert contents.parts["train"].y.tolist() == [1, 0, 0]
    with pytest.raises(DataError, match="row 2, column colour: expected one of red, got 'blue'"):
        read(path, target=-1, categorical="ordinal", levels={"colour": ["red"]})


def test_levels_make_words_of_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "children,y\n3,10\n1,20\n", "a.csv")
    levels = {"children": ["1", "2", "3", "more"], "y": ["20", "10"]}
    contents = read(path, target="y", categorical="ordinal", levels=levels)
    assert contents.parts["train"].X.tolist() == [[2], [0]]
    assert contents.parts["train"].y.tolist() == [1, 0]
    assert contents.label_names == ("20", "10")


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.csv", "1,2,0\n3,4,1\n", {"header": False, "target": 2}),
        ("a.csv.gz", "1,2,0\r\n3,4,1\r\n", {"header": False, "target": -1}),
        ("a.tsv", "u\tv\ty\n1\t2\t0\n3\t4\t1\n", {"target": "y"}),
        ("a.csv", "u;v;y\n1;2;0\n3;4;1\n", {"target": "y", "delimiter": ";"}),
        ("a.csv", "1 2  0 \n3 4 1\n\n", {"target": 2, "header": False, "delimiter": "whitespace"}),
        ("a.csv", '\ufeff"u", v, y\n1, 2, 0\n"3", 4, 1\n', {"target": "y"}),
        ("a.csv", "1,2,0\n3,4,1\n", {"columns": ["u", "v", "y"], "target": "y"}),
        ("a.csv", "p,q,r\n1,2,0\n3,4,1\n", {"header": True, "columns": ["u", "v", "y"], "target": "y"}),
        ("anything", "u,v,y\n\n1,2,0\n3,4,1", {"target": "y", "format": "csv"}),
    ],
)
def test_spellings_of_one_table(tmp_path: Path, name: str, text: str, options: Any) -> None:
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text
    part = read(write(tmp_path, content, name), **options).parts["train"]
    assert part.X.tolist() == [[1, 2], [3, 4]]
    assert part.y.tolist() == [0, 1]


def test_labels_in_a_file_of_their_own(tmp_path: Path) -> None:
    files = {
        "train": write(tmp_path, "1 2\n3 4\n", "x"),
        "train_labels": write(tmp_path, "-1\n1\n", "y"),
    }
    reading = Reading(format="csv", header=False, delimiter="whitespace")
    assert read_files(files, reading).parts["train"].y.tolist() == [-1, 1]
    write(tmp_path, "-1\n1\n1\n", "y")
    with pytest.raises(DataError, match="label for each of its 2 rows, got 3"):
        read_files(files, reading)
    with pytest.raises(DataError, match="got both"):
        read_files(files, reading.model_copy(update={"target": 0}))


def test_one_file_cut_in_two(tmp_path: Path) -> None:
    path = write(tmp_path, "1,2,0\n3,4,1\n5,6,1\n", "a.csv")
    parts = read(path, header=False, target=-1, n_train=2).parts
    assert parts["train"].X.tolist() == [[1, 2], [3, 4]]
    assert parts["test"].X.tolist() == [[5, 6]]
    with pytest.raises(DataError, match="more than n_train = 3 rows, got 3"):
        read(path, header=False, target=-1, n_train=3)


def test_every_double_survives(tmp_path: Path) -> None:
    numbers = [
        0.1 + 0.2,
        1 / 3,
        5e-324,
        1.7976931348623157e308,
        -2.2250738585072014e-308,
        123456789.123456789,
    ]
    text = "x,y\n" + "".join(f"{number!r},1\n" for number in numbers)
    assert read(write(tmp_path, text, "a.csv"), target="y").parts["train"].X[:, 0].tolist() == numbers


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,y\n1,2,0\n1,2\n", {}, "line 3: expected 3 columns, got 2"),
        ("a,b,y\n1,2,0\n\n1,2,3,4\n", {}, "line 4: expected 3 columns, got 4"),
        ("a,b,y\n1,2,3,4\n1,2,3,4\n", {}, "line 2: expected 3 columns, got 4"),
        ("a,b,y\n1,,0\n", {}, "row 1, column b: expected a number or word in every cell, got a missing"),
        ("a,b,y\n1,2,0\n-inf,3,0\n", {}, "row 2, column a: expected a finite number, got '-inf'"),
        ("a,b,y\n1,2,0\n1,3,nan\n", {}, "row 2, column y: .* got a missing value"),
        (
            "a,b,y\n1,2,0\n1,two,0\n",
            {},
            "row 2, column b: .* 'two' \\(1 of 2 rows are numbers\\); set `cat",
        ),
        ("a,b,income\n1,2,0\n", {"target": "incom"}, "no column 'incom' \\(did you mean 'income'\\?\\)"),
        ("a,b,y\n1,2,0\n", {"target": 3}, "target below 3"),
        ("a,b,y\n1,2,0\n", {"target": None}, "expected `target`.* columns a, b, y"),
        ("1,2,0\n3,4,1\n", {"target": 2}, "first line looks like data"),
        ("", {}, "empty file"),
        ("a,b,y\n", {}, "lines of data below the header"),
        ("y\n1\n", {}, "0 columns"),
        ("a,y\n\xff\xfe,1\n".encode("latin-1"), {}, "UTF-8"),
        ("a,b,y\n1,2,high\n2,3,low\n", {"task": "regression"}, "targets of a regression, got words"),
        ("<!DOCTYPE html>\n<html><p>a, b</p></html>\n", {}, "no column 'y'|expected"),
    ],
)
def test_faults_are_named(tmp_path: Path, text: Any, options: Any, message: str) -> None:
    path = write(tmp_path, text, "bad.csv")
    task = options.pop("task", None)
    with pytest.raises(DataError, match=message) as caught:
        read_files({"train": path}, Reading(**{"target": "y", **options}), task)
    assert str(path) in str(caught.value)


def test_arff(tmp_path: Path) -> None:
    contents = read(write(tmp_path, ARFF, "toy.arff"), target="income", categorical="ordinal")
    assert contents.parts["train"].X.tolist() == [[30, 0], [40.5, 2]]  # in the order declared
    assert contents.parts["train"].y.tolist() == [1, 0]
    assert contents.label_names == ("low", "high")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("30,red,high", "?,red,high", "row 1, column age: expected a number or word"),
        ("40.5,blue", "40.5,?", "row 2, column colour"),
        ("40.5,blue", "40.5,pink", "pink"),
        ("{low, high}", "string", "cannot be read"),
        ("30,red,high", "30,red", "cannot be read|expected"),
        ("@data", "", "cannot be read|rows"),
        ("30", "thirty", "cannot be read"),
    ],
)
def test_faulty_arff(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = write(tmp_path, ARFF.replace(old, new), "toy.arff")
    with pytest.raises(DataError, match=message):
        read(path, target="income", categorical="ordinal")
