"""A validation split: rows cut from the training rows of another split, whose test rows nobody sees."""

import numpy as np
import pytest

from kfeat.data.dataset import Part, Raw
from kfeat.data.preparation import prepare
from kfeat.data.protocol import Protocol, split_indices, split_sizes
from kfeat.errors import DataError

RAW = Raw(
    "numbers",
    "classification",
    {
        part: Part(np.arange(n * 2.0).reshape(n, 2), np.arange(n) % 2)
        for part, n in (("train", 60), ("test", 40))
    },
)


def split(**more):
    return Protocol.model_validate({"split": {"kind": "validation", **more}})


@pytest.mark.parametrize("of", ["official", {"kind": "fraction", "train": 0.5, "seed": 3}])
def test_the_rows_are_a_share_of_the_training_rows_of_the_other_split(of):
    other = Protocol.model_validate({"split": of})
    train, test = split_indices(other.split, RAW, 0)
    seen, held_out = split_indices(split(share=0.2, of=of).split, RAW, 0)
    assert len(held_out) == len(train) // 5
    assert sorted([*seen, *held_out]) == train.tolist()
    assert not {*held_out} & {*test}
    assert split_sizes(split(share=0.2, of=of).split, 60, 40, "numbers") == (len(seen), len(held_out))


def test_what_is_learnt_is_learnt_without_the_rows_held_out():
    protocol = Protocol.model_validate({"scale": "minmax", "split": {"kind": "validation", "seed": 0}})
    data = prepare(RAW, protocol, 0)
    assert data.X_train.min() == 0.0
    assert data.X_train.max() == 1.0
    assert len(data.y_test) == 12


def test_too_few_rows_and_a_split_of_itself_are_refused():
    with pytest.raises(DataError, match=r"too few for a share of 0\.01"):
        split_indices(split(share=0.01).split, RAW, 0)
    with pytest.raises(ValueError, match="'official', 'fraction', 'sample', 'in_order'"):
        split(of={"kind": "validation"})
