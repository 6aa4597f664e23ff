"""Missing cells: named by line, left out, or filled with what was learnt from the training file."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from kfeat.data import Reading, load_raw, read_rows
from kfeat.data.formats.declared import MISSING
from kfeat.errors import DataError
from tests.data import files
from tests.data.files import described, write

CSV = "age,colour,y\n1,red,0\n,blue,1\n5,,0\n3,red,1\n5,blue,\n"
WHOLE = CSV.replace("5,blue,\n", "5,red,1\n")


loaded = partial(files.loaded, target="y", categorical="ordinal")


@pytest.mark.parametrize("word", sorted(MISSING))
def test_missing_cells_are_named_or_filled(tmp_path, word):
    text = f"colour,y\nnone,0\n{word},1\nna,0\nna,1\n"  # `none` and `na` are words like others
    with pytest.raises(DataError, match=r"toy.csv: row 2, column colour: .* got a missing value .* set `mis"):
        loaded(tmp_path, text)
    raw = loaded(tmp_path, text, missing="most_frequent")
    assert raw.parts["train"].X.tolist() == [[1], [0], [0], [0]]


def test_drop(tmp_path):
    raw = loaded(tmp_path, CSV, missing="drop")
    assert raw.parts["train"].X.tolist() == [[1, 0], [3, 0]]
    assert raw.y.tolist() == [0, 1]
    assert raw.coding.n_dropped == 3
    rows = pd.DataFrame({"age": [1, None, None], "colour": ["red"] * 3})
    with pytest.raises(DataError, match="rows 2, 3, column age: expected a value, got a missing cell"):
        raw.coding.matrix(rows)
    with pytest.raises(DataError, match="rows without missing cells, got none"):
        loaded(tmp_path, "a,y\n,0\n1,\n", missing="drop")


@pytest.mark.parametrize(
    ("missing", "age", "filled"), [("mean", 3.5, [[1, 1], [3.5, 0], [5, 1]]), ("most_frequent", 5, [])]
)
def test_fill(tmp_path, missing, age, filled):
    raw = loaded(tmp_path, WHOLE, missing=missing)
    X = raw.parts["train"].X
    assert X[1].tolist() == [age, 0]
    assert X[2].tolist() == [5, 1]  # red is met more often than blue
    rows = pd.DataFrame({"colour": [None, "blue"], "age": [np.nan, 2]})
    assert raw.coding.matrix(rows).tolist() == [[age, 1], [2, 0]]


def test_labels_are_never_made_up(tmp_path, caplog):
    """With `missing` a row without a label is left out; without it, it is named."""
    raw = loaded(tmp_path, "a,y\n1,0\n,1\n9,\n", missing="drop")
    assert not caplog.records  # that is what was asked for
    raw = loaded(tmp_path, "a,y\n1,0\n,1\n9,\n", missing="mean")
    assert "1 of 3 rows have no label and are left out" in caplog.text
    assert raw.coding.n_dropped == 1
    assert raw.parts["train"].X.tolist() == [[1], [1]]  # the row that is left out has no part in the mean
    with pytest.raises(DataError, match="row 3, column y: expected a number or word"):
        loaded(tmp_path, "a,y\n1,0\n2,1\n9,\n")
    with pytest.raises(DataError, match="expected rows with a label, got none"):
        loaded(tmp_path, "a,y\n1,\n2,\n", missing="mean")


def test_only_training_rows_are_learnt_from(tmp_path):
    cut = loaded(tmp_path, "a,y\n1,0\n,1\n3,0\n100,1\n,0\n", missing="mean", n_train=3)
    assert cut.parts["train"].X.tolist() == [[1], [2], [3]]
    assert cut.parts["test"].X.tolist() == [[100], [2]]
    test = write(tmp_path, "a,y\n100,1\n,0\n", "test.csv")
    beside = loaded(tmp_path, "a,y\n1,0\n,1\n3,0\n", missing="mean", test=str(test))
    assert beside.parts["test"].X.tolist() == [[100], [2]]

    raw = loaded(
        tmp_path, "a,y\n1,0\n,1\n3,0\n100,1\n", missing="drop", n_train=2
    )  # cut before any is dropped
    assert [raw.parts[part].X.tolist() for part in raw.parts] == [[[1]], [[3], [100]]]


def test_a_column_of_gaps_alone_is_0_or_dropped(tmp_path):
    text = "a,b,y\n1,,0\n2,,1\n"
    assert loaded(tmp_path, text, missing="mean").parts["train"].X.tolist() == [[1, 0], [2, 0]]
    assert loaded(tmp_path, text, drop=["b"]).parts["train"].X.tolist() == [[1], [2]]
    assert loaded(tmp_path, text, drop=[1]).parts["train"].X.tolist() == [[1], [2]]


def test_labels_beside_are_dropped_with_their_rows(tmp_path):
    labels = write(tmp_path, "7\n8\n9\n", "labels")
    options = {"labels": str(labels), "target": None, "missing": "drop"}
    raw = loaded(tmp_path, "a,b\n1,2\n,3\n4,5\n", **options)
    assert raw.parts["train"].X.tolist() == [[1, 2], [4, 5]]
    assert raw.y.tolist() == [7, 9]
    write(tmp_path, "7\n8\n", "labels")
    with pytest.raises(DataError, match="a label for each row, got 3 rows and 2 labels"):
        loaded(tmp_path, "a,b\n1,2\n,3\n4,5\n", **options)


def test_arff_and_its_question_marks(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute w {x,z}\n@attribute y {0,1}\n@data\n"
    text = head + "1,x,0\n?,z,1\n4,?,1\n1,z,0\n"
    with pytest.raises(DataError, match=r"row 2, column a: .* missing value .* set `missing` to drop"):
        loaded(tmp_path, text, "toy.arff")
    raw = loaded(tmp_path, text, "toy.arff", missing="mean")
    assert raw.parts["train"].X.tolist() == [[1, 0], [2, 1], [4, 1], [1, 1]]


def numbers_and(code, n=120, every=10):
    return "a,b,y\n" + "".join(
        f"{code if i % every == 3 else i % 37},{i / 8},{'uv'[i % 2]}\n" for i in range(n)
    )


@pytest.mark.parametrize("code", ["-", ".", "n.k.", "unknown", "Fehlt", "- ", "verweigert"])
def test_new_finds_a_code_of_missing_cells_among_numbers(tmp_path, code):
    dataset, text, raw = described(write(tmp_path, numbers_and(code), "toy.csv"))
    assert (dataset["missing_values"], dataset["missing"]) == ({"a": [code.strip()]}, "mean")
    assert f"# Codes of missing cells among numbers (`missing_values`): a ('{code.strip()}')." in text
    assert "# Missing values: a (12); `missing: mean` fills them with the column's mean" in text
    values = [i % 37 for i in range(120) if i % 10 != 3]
    assert raw.coding.kinds == {"a": "number", "b": "number"}
    assert raw.parts["train"].X[3, 0] == pytest.approx(np.mean(values))
    later = write(tmp_path, f"b,a\n1,{code}\n2,5\n", "later.csv")
    reading = Reading(missing_values=dataset["missing_values"])
    (found,) = read_rows(later, reading, raw.coding, labels=False)
    assert found.X.tolist() == [[pytest.approx(np.mean(values)), 1], [5, 2]]


def test_new_finds_several_codes_and_one_cell_and_codes_of_the_target(tmp_path):
    mixed = numbers_and("-").replace("\n5,", "\nn.k.,")
    assert described(write(tmp_path, mixed, "toy.csv"))[0]["missing_values"] == {"a": ["-", "n.k."]}
    one = numbers_and("-", every=1000)
    assert described(write(tmp_path, one, "toy.csv"))[0]["missing_values"] == {"a": ["-"]}
    text = "a,y\n" + "".join(f"{i % 7},{'unknown' if i % 10 == 3 else i / 8}\n" for i in range(60))
    dataset, comments, raw = described(write(tmp_path, text, "toy.csv"))
    assert (dataset["missing_values"], raw.task, len(raw.y)) == ({"y": ["unknown"]}, "regression", 54)
    assert "# Missing labels are not filled: 6 rows left out." in comments


@pytest.mark.parametrize(
    "cells", [["red", "-", "blue"], ["+", "-"], ["1", "2", "X"], ["V45", "250", "E888"], ["none", "1", "2"]]
)
def test_words_that_are_no_codes_stay_words(tmp_path, cells):
    text = "a,b,y\n" + "".join(f"{cells[i % len(cells)]},{i / 8},{i % 2}\n" for i in range(60))
    dataset, _, raw = described(write(tmp_path, text, "toy.csv"))
    assert "missing_values" not in dataset
    assert raw.coding.words == {"a": sorted(cells)}


def test_declared_codes_are_missing_in_all_columns_or_in_those_that_are_named(tmp_path):
    text = "a,b,c,y\n1,-999,-,0\n-999.0,2,x,1\n3,4,y,1\n"
    raw = loaded(tmp_path, text, missing_values=[-999, "-"], missing="most_frequent")
    assert raw.parts["train"].X.tolist() == [[1, 2, 0], [1, 2, 0], [3, 4, 1]]
    raw = loaded(tmp_path, text, missing_values={"a": [-999]}, missing="mean")
    assert raw.parts["train"].X.tolist() == [[1, -999, 0], [2, 2, 1], [3, 4, 2]]
    levels = {"c": ["-", "x", "y"]}  # a declared word is none
    raw = loaded(tmp_path, text, missing_values=[-999, "-"], missing="mean", levels=levels)
    assert raw.parts["train"].X[:, 2].tolist() == [0, 1, 2]
    for format in ("parquet", "arff"):
        frame = pd.DataFrame({"a": [1.0, -999, 3], "s": ["1", "-", "7"], "y": [0, 1, 1]})
        path = tmp_path / f"toy.{format}"
        if format == "parquet":
            frame.to_parquet(path)
        else:
            names = "@attribute a numeric\n@attribute s {1,-,7}\n@attribute y numeric\n"
            path.write_text(f"@relation r\n{names}@data\n1,1,0\n-999,-,1\n3,7,1\n")
        source = {"path": str(path), "target": "y", "missing_values": [-999, "-"], "missing": "drop"}
        kept = load_raw({**source, "categorical": "ordinal"}, cache=tmp_path / "cache")
        assert kept.parts["train"].X[:, 0].tolist() == [1, 3], format


def test_a_number_far_from_the_others_may_be_a_code(tmp_path):
    text = "a,b,y\n" + "".join(f"{-999 if i % 10 == 3 else i % 37},{i - 999},{i % 2}\n" for i in range(60))
    _, comments, raw = described(write(tmp_path, text, "toy.csv"))
    assert "# Perhaps a missing cell, -999 in column a: then set `missing_values: {a: [-999]}`." in comments
    assert "column b" not in comments
    assert raw.parts["train"].X[3, 0] == -999
