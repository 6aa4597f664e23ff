"""Which rows train and which test, as indices; random orders that stay the same everywhere."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from kfeat.data.dataset import Indices, Raw
from kfeat.data.protocol import All, AnySplit, Fraction, InOrder, KFold, Official, Sample, Validation
from kfeat.errors import DataError

Rows: TypeAlias = Any  # indices, or a range where only their number matters


def shuffled(rng: np.random.Generator, n: int, start: int = 0) -> Indices:
    """Return a random order of start .. start+n-1 that is the same on every platform and with every NumPy.

    It ranks uniform numbers, since NumPy keeps the uniform doubles of its bit generators fixed, but not the
    results of `permutation` and `choice`.
    """
    return start + np.argsort(rng.random(n), kind="stable")


def split_indices(split: AnySplit, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
    """Return the training and test rows, rising, counted through the train file and on through the test file.

    Caps keep the first rows of the draw, so that a smaller cap takes a subset of a larger one's rows. Raises
    DataError when there is no test file or there are fewer rows than the split asks for.
    """
    seed = None if isinstance(split, InOrder) else split.seed
    seed = random_state if seed is None else seed
    if isinstance(split, Validation):
        train = split_indices(split.of, raw, random_state)[0]
        # A separate stream, independent of what the other split draws from the same seed.
        order = train[shuffled(np.random.default_rng([seed, 1]), len(train))]
        n_test = held_out(split, len(train), raw.name)
        return np.sort(order[n_test:]), np.sort(order[:n_test])
    rng = np.random.default_rng(seed)
    n_train = len(raw.parts["train"].y)
    n_test = len(raw.y) - n_train
    train, test = sides(split, n_train, n_test, raw.name, lambda n, start: shuffled(rng, n, start))
    return np.sort(train), np.sort(test)


def split_sizes(split: AnySplit, n_train: int, n_test: int, name: str) -> tuple[int, int]:
    """Return how many rows train and test, of files of `n_train` and `n_test` rows.

    Raises DataError like `split_indices`.
    """
    if isinstance(split, Validation):
        rows = split_sizes(split.of, n_train, n_test, name)[0]
        share = held_out(split, rows, name)
        return rows - share, share
    train, test = sides(split, n_train, n_test, name, lambda n, start: range(start, start + n))
    return len(train), len(test)


def held_out(split: Validation, n_train: int, name: str) -> int:
    """Return how many of the training rows of the other split test."""
    n_test = int(split.share * n_train + 1e-9)
    if not 0 < n_test < n_train:
        raise DataError(f"{name}: {n_train} training rows are too few for a share of {split.share:g} of them")
    return n_test


def sides(
    split: AnySplit, n_train: int, n_test: int, name: str, order: Callable[[int, int], Rows]
) -> tuple[Rows, Rows]:
    """Return the rows that train and those that test; `order(n, start)` is an order of start .. start+n-1."""
    assert not isinstance(split, Validation)
    n = n_train + n_test
    if isinstance(split, InOrder):
        train, test = cut(range(n), split.n_train)
        first(test, 1, name, "test")
        return first(train, split.n_train, name, "training"), first(test, split.n_test, name, "test")
    if isinstance(split, Official):
        if not n_test:
            raise DataError(
                f"{name} has no test file; choose another split, such as {{kind: fraction, train: 0.6}}"
            )
        train, test = order(n_train, 0), order(n_test, n_train)
    else:
        n = n_train if split.file else n
        train, test = dealt(split, order(n, 0), name)
    train, test = train[: split.max_train], test[: split.max_test]
    if not len(train) or not len(test):
        left = f"{len(train)} to train, {len(test)} to test"
        raise DataError(f"{name}: {n} rows are too few for {split.kind}, which leaves {left}")
    return train, test


def dealt(split: All | Fraction | Sample | KFold, order: Rows, name: str) -> tuple[Rows, Rows]:
    """Return the two sides of an order of rows."""
    n = len(order)
    if isinstance(split, All):
        return order, order[: split.max_train]
    if isinstance(split, KFold):  # the first folds take the rows that are left over
        if split.k > n:
            raise DataError(f"{name}: expected at least k = {split.k} rows, got {n}")
        start, stop = (
            fold * (n // split.k) + min(fold, n % split.k) for fold in (split.fold, split.fold + 1)
        )
        return np.delete(order, slice(start, stop)), order[start:stop]
    if isinstance(split, Fraction):
        n_train = int(split.train * n + 1e-9)  # 0.29 of 100 rows is 29 rows
        return cut(order, min(n_train, split.max_train or n_train))
    train, test = cut(order, split.n_train)
    return first(train, split.n_train, name, "training"), first(test, split.n_test, name, "test")


def cut(order: Rows, n_train: int) -> tuple[Rows, Rows]:
    """Return the first n_train rows of an order, and the rest."""
    return order[:n_train], order[n_train:]


def first(rows: Rows, n: int | None, name: str, purpose: str) -> Rows:
    """Return the first n rows, or all of them for None; raises DataError when there are fewer."""
    if n is not None and len(rows) < n:
        raise DataError(f"{name}: expected {n} {purpose} rows, got {len(rows)}; ask for fewer")
    return rows[:n]
