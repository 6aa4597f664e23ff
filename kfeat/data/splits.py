"""Which rows train and which test: index arrays into a dataset's files."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kfeat.data.draws import shuffled
from kfeat.data.models import Part
from kfeat.data.protocol import Fraction, KFold, Official, Sample, Split
from kfeat.errors import DataError

Rows = NDArray[np.int64]


def split_rows(split: Split, parts: Mapping[str, Part], name: str, random_state: int) -> tuple[Rows, Rows]:
    """Return the training and test rows, rising, counted through the train file and on through the test file.

    Caps keep the first rows of the draw, so that a smaller cap takes a subset of a larger one's rows. Raises
    DataError when there is no test file or there are fewer rows than the split asks for.
    """
    rng = np.random.default_rng(random_state if split.seed is None else split.seed)
    n_file = {role: len(part.y) for role, part in parts.items()}
    n = sum(n_file.values())
    if isinstance(split, Official):
        if "test" not in parts:
            raise DataError(
                f"{name} has no test file; choose another split, such as {{kind: fraction, train: 0.6}}"
            )
        train, test = shuffled(rng, n_file["train"]), n_file["train"] + shuffled(rng, n_file["test"])
    elif isinstance(split, Fraction):
        train, test = cut(shuffled(rng, n), int(split.train * n + 1e-9))
    elif isinstance(split, Sample):
        train, test = cut(shuffled(rng, n), split.n_train)
        test = first(test, split.n_test, name, "test")
        first(train, split.n_train, name, "training")
    elif isinstance(split, KFold):
        train, test = fold_rows(split, shuffled(rng, n), name)
    else:
        raise TypeError(f"not a split: {split!r}")
    train, test = train[: split.max_train], test[: split.max_test]
    if not len(train) or not len(test):
        raise DataError(
            f"{name}: {n} rows are too few for {split.kind}; it leaves {len(train)} to train, "
            f"{len(test)} to test"
        )
    return np.sort(train), np.sort(test)


def cut(order: Rows, n_train: int) -> tuple[Rows, Rows]:
    """Return the first n_train rows of an order, and the rest."""
    return order[:n_train], order[n_train:]


def first(rows: Rows, n: int | None, name: str, purpose: str) -> Rows:
    """Return the first n rows, or all of them for None; raises DataError when there are fewer."""
    if n is not None and len(rows) < n:
        raise DataError(f"{name}: expected {n} {purpose} rows, got {len(rows)}; ask for fewer")
    return rows[:n]


def fold_rows(split: KFold, order: Rows, name: str) -> tuple[Rows, Rows]:
    """Return the rows outside and inside one fold; the folds' sizes differ by one at most."""
    if split.fold >= split.k or split.k > len(order):
        raise DataError(
            f"{name}: expected a fold below k = {split.k} and at least k rows, got fold {split.fold} "
            f"and {len(order)} rows"
        )
    folds = np.array_split(order, split.k)
    test = folds.pop(split.fold)
    return np.concatenate(folds), test
