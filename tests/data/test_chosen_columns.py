"""Some columns of a registered dataset: which, in which order, and what identifies them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pydantic import TypeAdapter

from kfeat.data import Protocol, Reading, RegisteredSource, Source, fingerprint, load, load_raw
from kfeat.data.access import Access
from kfeat.data.registry import Form
from kfeat.errors import ConfigError, DataError
from tests.data.web import Answer, remote, toy

CSV = "a,b,c,y\n" + "".join(f"{i},{2 * i},{i * i},{i % 2}\n" for i in range(40))
DIGITS = {"name": "digits", "columns": [20, 3, 63]}


@pytest.fixture
def table(web, enter):
    """Enter a table of 30 + 10 rows with the columns a, b, c as "toy"."""
    file = remote(CSV.encode(), web.serve("/toy.csv", Answer(CSV.encode())), path="toy/toy.csv")
    form = Form(files={"train": file}, reading=Reading(format="csv", target="y", n_train=30))
    enter(toy(web, forms=(form,), shape={"train": (30, 3), "test": (10, 3)}, labels={}))


@pytest.mark.parametrize(("columns", "numbers"), [(["c", "a"], [2, 0]), ([1], [1]), ([2, "b"], [2, 1])])
def test_names_and_numbers_choose_columns_in_their_order(table, tmp_path, columns, numbers):
    whole = load_raw("toy", cache=tmp_path)
    part = load_raw({"name": "toy", "columns": columns}, cache=tmp_path)
    for role in ("train", "test"):
        assert_array_equal(part.parts[role].X, whole.parts[role].X[:, numbers])
        assert_array_equal(part.parts[role].y, whole.parts[role].y)
    assert part.columns == tuple("abc"[number] for number in numbers)
    assert (part.name, part.verified, part.task) == ("toy", whole.verified, whole.task)


def test_later_rows_are_matched_by_name_and_may_have_the_other_columns(table, tmp_path):
    coding = load_raw({"name": "toy", "columns": ["c", "a"]}, cache=tmp_path).coding
    frame = pd.DataFrame({"a": [1], "b": [2], "c": [3], "y": [0]})
    assert coding.matrix(frame).tolist() == [[3.0, 1.0]]
    assert coding.matrix(frame[["a", "c"]]).tolist() == [[3.0, 1.0]]
    with pytest.raises(DataError, match="missing: c"):
        coding.matrix(frame[["a", "b"]])


def test_a_dataset_without_names_has_numbers():
    X = load_raw("digits").parts["train"].X
    part = load_raw(DIGITS)
    assert_array_equal(part.parts["train"].X, X[:, [20, 3, 63]])
    assert part.coding.width == 3
    split = {"kind": "fraction", "train": 0.5, "seed": 0}
    assert load(DIGITS, {"split": split}).X_train.shape == (898, 3)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "d"], "toy: columns: no column 'd'; it has the columns a, b, c"),
        (["a", "aa"], r"no column 'aa' \(did you mean 'a'\?\)"),
        ([3], "toy: expected columns below 3, its columns, got 3"),
        (["a", 0], "toy: columns: expected each column once, got more than one a"),
    ],
)
def test_columns_that_are_not_there_or_come_twice_are_refused(table, tmp_path, columns, message):
    with pytest.raises(DataError, match=message):
        load_raw({"name": "toy", "columns": columns}, cache=tmp_path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([1, 2, 1], "columns: expected each column once, got more than one 1"),
        (["a", "a"], "columns: expected each column once, got more than one a"),
        ([], "columns: .*at least 1"),
        ([-1], "columns.0.*at least 0"),
        ([1.5], "columns.0"),
        ("a", "columns"),
    ],
)
def test_columns_are_parsed_strictly(columns, message):
    with pytest.raises(ConfigError, match=message):
        load_raw({"name": "digits", "columns": columns})


def test_columns_are_part_of_the_identity_only_where_they_are_given():
    whole = fingerprint("digits")
    found = [fingerprint({**DIGITS, "columns": columns}) for columns in ([20, 3], [3, 20], [20, 3, 4])]
    assert len({whole, *found}) == 4
    assert load_raw(DIGITS).fingerprint == fingerprint(DIGITS)
    pinned = {**DIGITS, "fingerprint": fingerprint(DIGITS)}
    assert load_raw(pinned).verified
    with pytest.raises(DataError, match=f"expected the fingerprint {whole}, got"):
        load_raw({**DIGITS, "fingerprint": whole})


def test_a_row_and_a_config_say_which_columns():
    adapter = TypeAdapter(Source)
    plain, part = adapter.validate_python("digits"), adapter.validate_python(DIGITS)
    assert (plain.description, plain.given(), plain.options) == (None, "digits", {})
    assert part.description == part.given() == DIGITS
    assert part.options == {"columns": [20, 3, 63]}
    assert adapter.validate_python({"name": "digits"}) == plain
    for source in (plain, part):
        assert adapter.validate_python(adapter.dump_python(source, mode="json")) == source
    assert part.shape_under(Protocol.model_validate({"split": "all"})).n_features == 3
    assert isinstance(part, RegisteredSource)
    assert np.isclose(part.shape(Access()).stored, 1)
