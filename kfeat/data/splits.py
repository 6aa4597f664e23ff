"""Which rows train and which test, as indices; random orders that stay the same everywhere."""

import numpy as np

from kfeat.data.dataset import Indices, Raw
from kfeat.data.protocol import All, AnySplit, Fraction, InOrder, KFold, Official, Sample, Validation
from kfeat.errors import DataError


def shuffled(rng: np.random.Generator, n: int) -> Indices:
    """Return a random order of 0 .. n-1 that is the same on every platform and with every NumPy.

    It ranks uniform numbers, since NumPy keeps the uniform doubles of its bit generators fixed, but not the
    results of `permutation` and `choice`.
    """
    return np.argsort(rng.random(n), kind="stable")


def split_indices(split: AnySplit, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
    """Return the training and test rows, rising, counted through the train file and on through the test file.

    Caps keep the first rows of the draw, so that a smaller cap takes a subset of a larger one's rows. Raises
    DataError when there is no test file or there are fewer rows than the split asks for.
    """
    name = raw.name
    if isinstance(split, Validation):
        return validation(split, split_indices(split.of, raw, random_state)[0], random_state, name)
    if isinstance(split, InOrder):
        return in_order(split, len(raw.y), name)
    rng = np.random.default_rng(random_state if split.seed is None else split.seed)
    if isinstance(split, Official):
        n, (train, test) = len(raw.y), official(raw, rng)
    else:
        n = len(raw.parts[split.file].y if split.file else raw.y)
        train, test = dealt(split, n, rng, name)
    train, test = train[: split.max_train], test[: split.max_test]
    if not len(train) or not len(test):
        left = f"{len(train)} to train, {len(test)} to test"
        raise DataError(f"{name}: {n} rows are too few for {split.kind}, which leaves {left}")
    return np.sort(train), np.sort(test)


def validation(split: Validation, train: Indices, random_state: int, name: str) -> tuple[Indices, Indices]:
    """Return the training rows of another split without a random share of them, and that share."""
    # A separate stream, independent of what the other split draws from the same seed.
    rng = np.random.default_rng([random_state if split.seed is None else split.seed, 1])
    n_test = validation_size(split, len(train))
    if not 0 < n_test < len(train):
        raise DataError(
            f"{name}: {len(train)} training rows are too few for a share of {split.share:g} of them"
        )
    order = train[shuffled(rng, len(train))]
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def validation_size(split: Validation, n_train: int) -> int:
    """Return how many of the training rows of the other split test."""
    return int(split.share * n_train + 1e-9)


def in_order(split: InOrder, n: int, name: str) -> tuple[Indices, Indices]:
    """Return the first rows of n, and those after them."""
    train, test = cut(np.arange(n), split.n_train)
    first(test, 1, name, "test")
    return first(train, split.n_train, name, "training"), first(test, split.n_test, name, "test")


def official(raw: Raw, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return the rows of the train file and those of the test file, each in random order."""
    if "test" not in raw.parts:
        raise DataError(
            f"{raw.name} has no test file; choose another split, such as {{kind: fraction, train: 0.6}}"
        )
    n_train = len(raw.parts["train"].y)
    return shuffled(rng, n_train), n_train + shuffled(rng, len(raw.parts["test"].y))


def dealt(
    split: All | Fraction | Sample | KFold, n: int, rng: np.random.Generator, name: str
) -> tuple[Indices, Indices]:
    """Return the two sides of the first n rows, which may be all, each in random order."""
    order = shuffled(rng, n)
    if isinstance(split, All):
        return order, order[: split.max_train]
    if isinstance(split, KFold):
        return fold_indices(split, order, name)
    if isinstance(split, Fraction):
        n_train = int(split.train * n + 1e-9)  # 0.29 of 100 rows is 29 rows
        return cut(order, min(n_train, split.max_train or n_train))
    train, test = cut(order, split.n_train)
    return first(train, split.n_train, name, "training"), first(test, split.n_test, name, "test")


def cut(order: Indices, n_train: int) -> tuple[Indices, Indices]:
    """Return the first n_train rows of an order, and the rest."""
    return order[:n_train], order[n_train:]


def first(rows: Indices, n: int | None, name: str, purpose: str) -> Indices:
    """Return the first n rows, or all of them for None; raises DataError when there are fewer."""
    if n is not None and len(rows) < n:
        raise DataError(f"{name}: expected {n} {purpose} rows, got {len(rows)}; ask for fewer")
    return rows[:n]


def fold_indices(split: KFold, order: Indices, name: str) -> tuple[Indices, Indices]:
    """Return the rows outside and inside one fold; the folds' sizes differ by one at most."""
    if split.k > len(order):
        raise DataError(f"{name}: expected at least k = {split.k} rows, got {len(order)}")
    folds = np.array_split(order, split.k)
    test = folds.pop(split.fold)
    return np.concatenate(folds), test
