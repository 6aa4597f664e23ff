"""Missing cells: named by line, left out, or filled with what was learnt from the training file."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from kfeat.data.formats.tables import MISSING
from kfeat.errors import DataError
from tests.data import files
from tests.data.files import write

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
    with pytest.raises(DataError, match="label for each of its 3 rows, got 2"):
        loaded(tmp_path, "a,b\n1,2\n,3\n4,5\n", **options)


def test_arff_and_its_question_marks(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute w {x,z}\n@attribute y {0,1}\n@data\n"
    text = head + "1,x,0\n?,z,1\n4,?,1\n1,z,0\n"
    with pytest.raises(DataError, match=r"row 2, column a: .* missing value .* set `missing` to drop"):
        loaded(tmp_path, text, "toy.arff")
    raw = loaded(tmp_path, text, "toy.arff", missing="mean")
    assert raw.parts["train"].X.tolist() == [[1, 0], [2, 1], [4, 1], [1, 1]]
