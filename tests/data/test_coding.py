"""A coding does to any rows what training did to its own, by the names of the columns."""

from decimal import Decimal
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, issparse

from kfeat.data import Coding, Reading, load, load_raw
from kfeat.data.coders import learn_coding
from kfeat.data.coding import check_columns
from kfeat.errors import DataError
from tests.data import files

CSV = "age,colour,size,y\n1,red,S,yes\n2,blue,L,no\n4,red,M,yes\n"
LEVELS = {"colour": ["blue", "red"], "size": ["L", "M", "S"]}
WORDS = {"target": "y", "categorical": "one_hot"}


def loaded(folder, text=CSV, **options):
    return files.loaded(folder, text, **WORDS | options)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """What is learnt from the rows above, with all their words declared."""
    return loaded(tmp_path_factory.mktemp("known"), levels=LEVELS).coding


def frame(**columns):
    return pd.DataFrame(columns)


def test_columns_are_matched_by_name(tmp_path):
    raw = loaded(tmp_path)
    rows = frame(size=["S", "L", "M"], y=["no"] * 3, colour=["red", "blue", "red"], age=[1, 2, 4])
    assert_array_equal(raw.coding.matrix(rows), raw.parts["train"].X)
    assert_array_equal(raw.coding.matrix(rows.drop(columns="y")), raw.parts["train"].X)
    assert raw.coding.labels(rows).tolist() == [0, 0, 0]
    assert raw.n_features == 6


def test_arrays_are_taken_in_the_order_of_training(tmp_path):
    raw = loaded(tmp_path)
    rows = np.array([[1, "red", "S"], [2, "blue", "L"], [4, "red", "M"]], dtype=object)
    assert_array_equal(raw.coding.matrix(rows), raw.parts["train"].X)
    with pytest.raises(DataError, match="expected rows of 3 columns as in training, got 2"):
        raw.coding.matrix(rows[:, :2])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"colour": ["red"], "hue": [1]}, "missing: age, size; not known: hue; leave them out"),
        ({"age": [1], "colour": ["red"], "size": ["S"], "id": [1]}, "not known: id"),
        ({"age": [1], "colour": ["green"], "size": ["S"]}, "row 1, column colour: expected one of blue, red"),
        ({"age": [1, 2], "colour": ["red"] * 2, "size": ["S", "X"]}, "row 2, column size: .* got 'X'"),
        (
            {"age": [1] * 4, "colour": ["red", "pink", "blue", "grey"], "size": ["S"] * 4},
            "rows 2, 4, column colour: expected one of blue, red, got 'pink', 'grey'",
        ),
        (
            {"age": [1, "old", "old", "new"], "colour": ["red"] * 4, "size": ["S"] * 4},
            "rows 2, 3, 4, column age: expected a number, got 'old', 'new'",
        ),
        ({"age": [1, None], "colour": ["red"] * 2, "size": ["S"] * 2}, "row 2, column age: .* missing cell"),
        ({"age": [1], "colour": [None], "size": ["S"]}, "row 1, column colour: .* missing cell"),
        ({"age": [np.inf], "colour": ["red"], "size": ["S"]}, "row 1, column age: expected a finite number"),
        ({"age": pd.to_datetime(["2020-01-01"]), "colour": ["red"], "size": ["S"]}, "column age"),
    ],
)
def test_what_training_did_not_meet_is_refused(known, rows, message):
    with pytest.raises(DataError, match=message):
        known.matrix(frame(**rows))


def test_rows_are_counted_from_where_the_block_begins(known):
    with pytest.raises(DataError, match="row 12, column colour"):
        known.matrix(frame(age=[1, 1], colour=["red", "x"], size=["S", "S"]), start=10)


def test_a_column_twice_is_refused(known):
    rows = frame(age=[1], colour=["red"], size=["S"])
    with pytest.raises(DataError, match="each name once, got more than one column age"):
        known.matrix(pd.concat([rows, rows[["age"]]], axis=1))


def test_whole_floats_stand_for_the_words_they_were(tmp_path):
    levels = {"rooms": ["1", "2", "more"]}
    found = loaded(
        tmp_path, "rooms,y\n1,0\n2,1\n2,1\n", levels=levels, categorical="ordinal", target="y"
    ).coding
    assert found.matrix(frame(rooms=[1.0, 2.0])).tolist() == [[0], [1]]
    assert found.matrix(frame(rooms=[2, 1])).tolist() == [[1], [0]]
    assert found.matrix(frame(rooms=["more", "1"])).tolist() == [[2], [0]]


def test_it_is_learnt_anew_where_arrays_are_kept(tmp_path):
    raw, again = loaded(tmp_path), loaded(tmp_path)
    data = load({"path": str(tmp_path / "toy.csv"), **WORDS}, {"split": "all"}, cache=tmp_path / "cache")
    for found in (raw.coding, again.coding, data.coding):
        assert found.kinds == {"age": "number", "colour": "one_hot", "size": "one_hot"}
        assert (found.target, found.label_names, found.task) == ("y", ("no", "yes"), "classification")
        rows = frame(age=[1, 2, 4], colour=["red", "blue", "red"], size=["S", "L", "M"])
        assert_array_equal(found.matrix(rows), raw.parts["train"].X)


FRAME = pd.DataFrame(
    {
        "number": [1.5, None, 3.5, 4.0],
        "whole": pd.array([1, None, 3, 4], dtype="Int64"),
        "word": ["x", "y", None, "y"],
        "kind": pd.Categorical(["u", "v", "u", None]),
        "text": pd.array(["p", None, "p", "q"], dtype="string"),
        "truth": [True, False, True, True],
        "gap": [True, None, False, True],
        "price": [Decimal("1.5"), None, Decimal(3), Decimal(3)],
        "day": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-03"]),
        "moment": pd.date_range("2020-01-01", periods=4, freq="h", tz="Europe/Berlin"),
        "empty": [None] * 4,
        7: [1, 2, 3, 4],
        "n_jobs": ["a__b", "a", "a", "a"],
        "": [1, 2, 3, 4],
    }
)


def test_any_frame_is_coded_and_skops_keeps_what_was_learnt():
    skops = pytest.importorskip("skops.io")
    found = learn_coding(FRAME, Reading(categorical="one_hot", missing="mean"), task="regression")
    X = found.matrix(FRAME)
    assert np.isfinite(X).all()
    columns = X.T.tolist()
    assert columns[0] == [1.5, 3, 3.5, 4]  # number
    assert columns[3] == [0, 1, 1, 1]  # word is y, which fills the gap
    assert columns[8] == [1, 0, 1, 1]  # truth
    assert columns[10] == [1.5, 2.5, 3, 3]  # price
    assert columns[13] == [2, 10 / 3, 4, 4]  # weekday of day
    assert columns[15] == [2019, 2020, 2020, 2020]  # year of moment, in UTC
    assert columns[19] == [0] * 4  # empty
    kept = skops.dumps(found)
    trusted = ["kfeat.data.coding.Coding", "kfeat.data.coding.date_numbers", "numpy.dtype"]
    again = skops.loads(kept, trusted=trusted)
    assert_array_equal(again.matrix(FRAME), X)
    later = FRAME.assign(day="2020-02-30", moment=None, word="z").iloc[:, ::-1]  # all of them are gaps
    assert np.isfinite(again.matrix(later)).all()
    with pytest.raises(DataError, match="row 1, column word: expected numbers, got 'x'; set `categorical`"):
        learn_coding(FRAME, Reading(missing="mean"))


def test_columns_of_numbers_have_names_or_none():
    named = Coding("regression", 2, ["u", "v"], {"u": "number", "v": "number"})
    assert named.matrix(frame(v=[1], u=["2"])).tolist() == [[2, 1]]
    with pytest.raises(DataError, match="missing: v; not known: w"):
        named.matrix(frame(u=[1], w=[2]))


def test_features_are_sparse_where_training_had_them_sparse(tmp_path):
    text = "word,y\n" + "".join(f"w{i:02d},{i % 2}\n" for i in range(60))
    raw = loaded(tmp_path, text)
    coded = raw.coding.matrix(frame(word=["w03", "w59"]))
    assert issparse(coded)
    assert issparse(raw.parts["train"].X)
    assert coded.toarray().argmax(axis=1).tolist() == [3, 59]


def test_formats_without_names_take_columns_as_they_are(tmp_path):
    X = np.array([[1.0, 2], [3, 0]])
    np.savez(tmp_path / "toy.npz", X=X, y=[0, 1])
    found = load_raw({"path": str(tmp_path / "toy.npz")}, cache=tmp_path / "cache").coding
    assert (found.names, found.width, found.sparse) == ([], 2, False)
    for rows in (X, csr_array(X), X.tolist(), frame(a=[1, 3], b=[2, 0])):
        coded = found.matrix(rows)
        assert isinstance(coded, np.ndarray)
        assert coded.tolist() == X.tolist()
    with pytest.raises(DataError, match="expected rows of 2 columns as in training, got 3"):
        found.matrix(np.ones((1, 3)))
    with pytest.raises(DataError, match="row 1, column 2: expected a finite number, got nan"):
        found.matrix(np.array([[1, np.nan]]))


def test_labels(tmp_path):
    found = loaded(tmp_path).coding
    with pytest.raises(DataError, match="row 2, column y: expected one of no, yes, got 'maybe'"):
        found.labels(frame(y=["no", "maybe"]))
    with pytest.raises(DataError, match="labels in a column y, got the columns a"):
        found.labels(frame(a=[1]))
    numbers = loaded(tmp_path, "a,y\n1,3\n2,5\n").coding
    assert numbers.labels(frame(y=[5.0, 3.0])).dtype == np.int64
    with pytest.raises(DataError, match="row 2, column y: expected a finite number, got 'inf'"):
        numbers.labels(frame(y=[3, np.inf]))
    with pytest.raises(
        DataError, match=r"row 1, column y: .* missing cell; fill it in or leave the row out$"
    ):
        numbers.labels(frame(y=[None, 3]))


def test_many_columns_are_matched_in_no_time():
    names = [f"column {i}" for i in range(20_000)]
    start = perf_counter()
    check_columns(names[::-1], names, beside={None})
    assert perf_counter() - start < 2  # 24 s where each name was looked for among all
