"""The splits: which rows train and test, how many, and what stays the same over repeats."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pydantic import ValidationError
from scipy.sparse import csr_array

from kfeat.data import Protocol
from kfeat.data.dataset import Raw
from kfeat.data.matrix import Part
from kfeat.data.prepare import prepare
from kfeat.errors import DataError
from tests.data.files import dense
from tests.data.toy import Y, protocol, raw

NUMBERED = np.arange(90.0)[:, None]


def drawn(split, seed=0, kind=np.asarray):
    """Return which rows are drawn to train and to test, of data whose only feature is the row's number."""
    data = prepare(raw(kind(NUMBERED)), protocol(split=split), seed)
    return dense(data.X_train)[:, 0].astype(int).tolist(), dense(data.X_test)[:, 0].astype(int).tolist()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_splits_draw_disjoint_rows_of_the_sizes_asked(kind):
    sizes = {
        (("kind", "official"),): (60, 30),
        (("kind", "official"), ("max_train", 20), ("max_test", 10)): (20, 10),
        (("kind", "fraction"), ("train", 0.6)): (54, 36),
        (("kind", "fraction"), ("train", 0.6), ("max_train", 20)): (20, 70),
        (("kind", "fraction"), ("train", 0.7)): (63, 27),
        (("kind", "sample"), ("n_train", 50)): (50, 40),
        (("kind", "sample"), ("n_train", 50), ("n_test", 7)): (50, 7),
    }
    for split, (n_train, n_test) in sizes.items():
        train, test = drawn(dict(split), 3, kind)
        assert (len(train), len(test)) == (n_train, n_test), split
        assert not set(train) & set(test)
        assert train == sorted(set(train))
        assert test == sorted(set(test))


def test_all_rows_train_and_test():
    train, test = drawn("all")
    assert train == test == list(range(90))
    train, test = drawn({"kind": "all", "max_train": 20})
    assert len(train) == 20
    assert train == test


def test_the_rows_to_train_of_one_seed_are_those_tested_by_all_and_left_out_by_sample():
    """So that training accuracy and accuracy on other rows are of one model."""
    on_itself = drawn({"kind": "all", "max_train": 20, "seed": 4})
    on_others = drawn({"kind": "sample", "n_train": 20, "seed": 4})
    assert on_itself == (on_others[0], on_others[0])
    assert sorted(on_others[0] + on_others[1]) == list(range(90))


def test_rows_that_are_dealt_once_never_change_sides():
    """Neither between repeats, nor under caps, nor for choices on the training side."""
    split = {"kind": "fraction", "train": 0.6, "deal": 7, "max_train": 20, "max_test": 10}
    repeats = [drawn(split, seed) for seed in range(20)]
    train, test = ({row for repeat in repeats for row in repeat[side]} for side in (0, 1))
    assert (len(train), len(test)) == (54, 36)
    assert not train & test
    assert {(len(rows), len(others)) for rows, others in repeats} == {(20, 10)}
    choices = drawn({"kind": "validation", "share": 0.25, "of": split}, 3)
    assert {*choices[0], *choices[1]} <= train
    assert drawn(split | {"deal": 8}, 0) != repeats[0]


@pytest.mark.parametrize(
    "split",
    [
        "official",
        {"kind": "official", "max_train": 40, "max_test": 9, "seed": 3},
        {"kind": "fraction", "train": 0.6},
        {"kind": "fraction", "train": 0.6, "max_train": 30, "max_test": 8},
        {"kind": "fraction", "train": 0.5, "file": "train", "seed": 1},
        {"kind": "fraction", "train": 0.6, "deal": 7},
        {"kind": "sample", "n_train": 50, "n_test": 7},
        {"kind": "stratified", "train": 0.6},
    ],
)
def test_fewer_rows_train_and_the_same_rows_test(split):
    """Otherwise rows that chose a method would test it."""
    whole = protocol(split=split).split
    data = raw(NUMBERED, n_train=None if whole.kind == "stratified" else 60)
    train, test = whole.rows(data, 5)
    for n in (11, 12):
        some, same = whole.with_rows(n, len(train)).rows(data, 5)
        assert len(some) == n
        assert set(some) <= set(train)
        assert_array_equal(same, test)
    for split in ({"kind": "in_order", "n_train": 50}, {"kind": "validation"}):
        assert protocol(split=split).split.with_rows(11, 50) is None


def test_labels_follow_their_rows():
    for split in [{"kind": "fraction", "train": 0.5}, {"kind": "official", "max_train": 9}]:
        data = prepare(raw(NUMBERED), protocol(split=split), 1)
        assert_array_equal(data.y_train, data.X_train[:, 0].astype(int) % 4)
        assert_array_equal(data.y_test, data.X_test[:, 0].astype(int) % 4)


@pytest.mark.parametrize(
    ("split", "random"),
    [
        ("official", False),
        ("all", False),
        ({"kind": "all", "max_train": 20}, True),
        ({"kind": "official", "max_train": 20}, True),
        ({"kind": "official", "max_test": 20}, True),
        ({"kind": "official", "max_train": 20, "seed": 1}, False),
        ({"kind": "fraction", "train": 0.6}, True),
        ({"kind": "fraction", "train": 0.6, "seed": 0}, False),
        ({"kind": "fraction", "train": 0.6, "deal": 0}, False),
        ({"kind": "fraction", "train": 0.6, "deal": 0, "max_train": 20}, True),
        ({"kind": "sample", "n_train": 50}, True),
        ({"kind": "sample", "n_train": 50, "seed": 0}, False),
    ],
)
def test_random_tells_whether_repeats_differ(split, random):
    one, two = drawn(split, 0), drawn(split, 1)
    assert (one != two) == random == protocol(split=split).random
    assert one == drawn(split, 0)


def test_a_split_of_the_train_file_never_sees_the_test_file():
    splits = [{"kind": "fraction", "train": 0.6}, {"kind": "sample", "n_train": 30}, {"kind": "all"}]
    for split in splits:
        both, alone = drawn(split, 3), drawn(split | {"file": "train"}, 3)
        without_test_file = prepare(raw(NUMBERED[:60], Y[:60], n_train=None), protocol(split=split), 3)
        assert alone[0] == without_test_file.X_train[:, 0].tolist(), split
        assert alone[1] == without_test_file.X_test[:, 0].tolist(), split
        assert max(both[0] + both[1]) >= 60 > max(alone[0] + alone[1]), split
        assert sorted({*alone[0], *alone[1]}) == list(range(60)), split


def validation(**more):
    return protocol(split={"kind": "validation", **more}).split


@pytest.mark.parametrize(
    "split",
    [
        "official",
        {"kind": "official", "max_train": 20},
        {"kind": "fraction", "train": 0.5},
        {"kind": "fraction", "train": 0.5, "seed": 3},
        {"kind": "fraction", "train": 0.5, "deal": 3},
        {"kind": "in_order", "n_train": 50},
        {"kind": "validation"},
        {"kind": "validation", "of": {"kind": "sample", "n_train": 40}},
        {"kind": "validation", "seed": 3, "of": {"kind": "sample", "n_train": 40}},
        {"kind": "validation", "of": {"kind": "sample", "n_train": 40, "seed": 3}},
    ],
    ids=str,
)
def test_a_split_at_a_random_state_has_the_rows_of_this_repeat_in_all(split):
    split = protocol(split=split).split
    fixed = split.at(5)
    assert not fixed.random
    for one, other in zip(fixed.rows(raw(), 8), split.rows(raw(), 5), strict=True):
        assert_array_equal(one, other)
    assert (fixed == split) == (not split.random)
    assert Protocol.model_validate(Protocol(split=fixed).given()).split == fixed


@pytest.mark.parametrize("of", ["official", {"kind": "fraction", "train": 0.5, "seed": 3}])
def test_a_validation_split_is_a_share_of_the_training_rows_of_the_other_split(of):
    train, test = protocol(split=of).split.rows(raw(), 0)
    seen, held_out = validation(share=0.2, of=of).rows(raw(), 0)
    assert len(held_out) == len(train) // 5
    assert sorted([*seen, *held_out]) == train.tolist()
    assert not {*held_out} & {*test}
    assert validation(share=0.2, of=of).sizes(60, 30, "numbers") == (len(seen), len(held_out))


@pytest.mark.parametrize(
    ("split", "train", "test"),
    [
        ({"n_train": 50, "n_test": 20}, range(50), range(50, 70)),
        ({"n_train": 40, "test_from": 55}, range(40), range(55, 90)),
        ({"n_train": 40, "test_from": 55, "n_test": 8}, range(40), range(55, 63)),
        ({"n_train": 40, "test_from": 40}, range(40), range(40, 90)),
        ({"n_train": 35, "test_from": "test_file"}, range(35), range(60, 90)),
        ({"n_train": 60, "test_from": "test_file", "n_test": 5}, range(60), range(60, 65)),
    ],
)
def test_rows_in_order_may_leave_a_gap_before_those_that_test(split, train, test):
    split = protocol(split={"kind": "in_order", **split}).split
    assert [rows.tolist() for rows in split.rows(raw(), 0)] == [[*train], [*test]]
    assert split.sizes(60, 30, "numbers") == (len(train), len(test))
    assert not split.random


@pytest.mark.parametrize(
    ("split", "n_train", "message"),
    [
        ({"n_train": 61, "test_from": "test_file"}, 60, "toy: expected 61 training rows, got 60"),
        ({"n_train": 60, "test_from": "test_file", "n_test": 31}, 60, "toy: expected 31 test rows, got 30"),
        (
            {"n_train": 60, "test_from": "test_file"},
            None,
            "toy has no test file; give `test_from` as a number",
        ),
        ({"n_train": 60, "test_from": 90}, 60, "toy: expected 1 test row, got 0"),
        ({"n_train": 60, "test_from": 95}, 60, "toy: expected 1 test row, got 0"),
        ({"n_train": 91, "test_from": 95}, 60, "toy: expected 91 training rows, got 90"),
    ],
)
def test_rows_in_order_that_are_not_there_are_refused(split, n_train, message):
    with pytest.raises(DataError, match=message):
        protocol(split={"kind": "in_order", **split}).split.rows(raw(n_train=n_train), 0)


def test_rows_in_order_that_would_train_and_test_are_refused():
    with pytest.raises(ValidationError, match=r"expected test_from to be 50 or more, .* got 49"):
        protocol(split={"kind": "in_order", "n_train": 50, "test_from": 49})
    with pytest.raises(ValidationError, match="test_file"):
        protocol(split={"kind": "in_order", "n_train": 50, "test_from": "end"})


def test_too_few_rows_to_validate_and_a_validation_split_of_itself_are_refused():
    with pytest.raises(DataError, match=r"too few for a share of 0\.01"):
        validation(share=0.01).rows(raw(), 0)
    with pytest.raises(ValueError, match="'official', 'fraction', 'sample', 'in_order'"):
        validation(of={"kind": "validation"})


def fair(kind, of=None, n=100, **switches):
    """Return the training and test rows of a split of n rows, a column of which has these cells."""
    y = (np.arange(n) % 10 == 0).astype(int)
    cells = None if of is None else lambda column, kind: np.asarray(of)
    split = {"kind": kind, "train": 0.8, **({} if of is None else {"column": "c"}), **switches}
    whole = Raw(
        "toy", "classification", {"train": Part(np.zeros((n, 1)), y)}, recorded="f" * 64, column=cells
    )
    return protocol(split=split).split.rows(whole, 7), y


def test_a_stratified_split_has_each_class_and_is_one_for_all_repeats():
    (train, test), y = fair("stratified")
    assert (y[train].sum(), y[test].sum()) == (8, 2)
    assert sorted([*train, *test]) == list(range(100))
    assert not protocol(split={"kind": "stratified", "train": 0.8}).random
    assert set(fair("stratified", seed=1)[0][1]) != set(test)


def test_a_group_is_on_one_side_and_later_rows_test():
    groups = np.random.default_rng(0).integers(12, size=100)
    (train, test), _ = fair("group", groups)
    assert not set(groups[train]) & set(groups[test])
    assert 70 <= len(train) <= 90
    (train, test), _ = fair("group", (np.arange(100) < 97).astype(int))  # a group that is nearly all
    assert len(train) * len(test) == 97 * 3
    times = np.random.default_rng(1).permutation(100) // 2  # pairs at one time
    (train, test), _ = fair("time", times)
    assert times[train].max() < times[test].min()
    assert len(test) == 20


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ({"kind": "group", "train": 0.8}, "group needs a `column`"),
        ({"kind": "stratified", "train": 0.8, "column": "c"}, "stratified needs no `column`"),
    ],
)
def test_a_split_by_a_column_names_it(split, told):
    with pytest.raises(ValidationError, match=told):
        protocol(split=split)


def test_a_split_by_a_column_needs_columns_and_no_test_file():
    by_time = {"kind": "time", "column": "c", "train": 0.8}
    for split in (by_time, {"kind": "stratified", "train": 0.8}):
        with pytest.raises(DataError, match="has a test file"):
            protocol(split=split).split.rows(raw(), 0)
    with pytest.raises(DataError, match="expected a table with named columns"):
        protocol(split=by_time).split.rows(raw(n_train=None), 0)
    with pytest.raises(DataError, match="leaves no rows to train"):
        fair("time", np.zeros(100))
