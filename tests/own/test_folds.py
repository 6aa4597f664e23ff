"""Folds of whole groups, of later rows, and of rare classes."""

import numpy as np
from sklearn.model_selection import ShuffleSplit

from kfeat.own.folds import Subsamples, folds_at, folds_of, rarest_rows


def test_a_class_of_one_row_does_not_keep_all_candidates_on_all_rows():
    y = np.repeat([0, 1, 2, 3], [3_000, 30, 3, 1])
    assert rarest_rows(y) == 30
    assert rarest_rows(np.repeat([0, 1], [3_000, 3])) == 3  # each fold needs two classes


def test_few_rows_have_more_folds_and_many_rows_one():
    assert [folds_at(n) for n in (1_000, 1_001, 30_000, 30_001)] == [5, 3, 3, 1]
    _, folds = Subsamples(np.zeros(30_001), False, 0, None).folds(30_001)
    assert len(folds) == 1


def test_folds_are_of_whole_groups_or_later_rows_and_are_cut_to_a_subsample():
    y, groups = np.arange(90) % 2, np.arange(90) // 9
    for seen, held in folds_of("group", y, groups, True, 0):
        assert not set(groups[seen]) & set(groups[held])
    times = np.random.default_rng(0).permutation(90)
    for seen, held in folds_of("time", y, times, True, 0):
        assert times[seen].max() < times[held].min()
    ((seen, held),) = folds_of(ShuffleSplit(1, random_state=0), y, None, True, 0)
    assert (len(seen), len(held)) == (81, 9)
