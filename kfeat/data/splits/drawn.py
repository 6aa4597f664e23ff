"""Splits whose rows are drawn at random, or capped by a draw."""

from abc import abstractmethod
from typing import Annotated, Literal, Self

import numpy as np
from annotated_types import Gt, Lt

from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices
from kfeat.data.splits.base import Count, Order, Rows, Seed, Split, first, shuffled
from kfeat.errors import DataError
from kfeat.text import counted


class Drawn(Split):
    """A split whose rows come in a random order, of which the first `max_train` and `max_test` are used.

    `seed: null` draws from the random_state of each repeat; a number fixes the draw for all repeats. A
    smaller cap takes a subset of a larger one's rows.
    """

    max_train: Count | None = None
    max_test: Count | None = None
    seed: Seed | None = None

    @property
    def fixed(self) -> bool:
        """Whether the two sides are the same for all repeats, but for the caps."""
        return False

    @property
    def random(self) -> bool:
        """Whether the rows depend on the random_state of a repeat."""
        capped = self.max_train is not None or self.max_test is not None
        return (capped or not self.fixed) and self.seed is None

    def rows(self, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
        """Return the training and test rows that the seed or the random_state draws."""
        rng = np.random.default_rng(random_state if self.seed is None else self.seed)
        n_train = len(raw.parts["train"].y)
        n_test = len(raw.y) - n_train
        train, test = self.used(n_train, n_test, raw.name, lambda n, start: shuffled(rng, n, start))
        return np.sort(train), np.sort(test)

    def sizes(self, n_train: int, n_test: int, name: str) -> tuple[int, int]:
        """Return how many rows train and test, whatever the order."""
        train, test = self.used(n_train, n_test, name, lambda n, start: range(start, start + n))
        return len(train), len(test)

    def used(self, n_train: int, n_test: int, name: str, order: Order) -> tuple[Rows, Rows]:
        """Return the rows of both sides up to the caps; raises DataError where there are none."""
        train, test = self.sides(n_train, n_test, name, order)
        train, test = train[: self.max_train], test[: self.max_test]
        if not len(train) or not len(test):
            n, kind = counted(self.n_rows(n_train, n_test), "rows"), self.given()["kind"]
            left = f"{len(train)} to train, {len(test)} to test"
            raise DataError(f"{name}: {n}: too few for {kind}, which leaves {left}")
        return train, test

    @abstractmethod
    def sides(self, n_train: int, n_test: int, name: str, order: Order) -> tuple[Rows, Rows]:
        """Return the rows that may train and those that may test, in their order."""

    def n_rows(self, n_train: int, n_test: int) -> int:
        """Return how many rows the split deals."""
        return n_train + n_test

    def with_rows(self, n: int, n_train: int) -> Split | None:
        """Return the split with a cap of n training rows."""
        return self.model_copy(update={"max_train": n})

    def at(self, random_state: int) -> Self:
        """Return the split with this seed, if it has none and needs one."""
        return self.model_copy(update={"seed": random_state}) if self.random else self


class Official(Drawn):
    """The train and test files as distributed."""

    kind: Literal["official"] = "official"

    @property
    def fixed(self) -> bool:
        """The files are the two sides."""
        return True

    def sides(self, n_train: int, n_test: int, name: str, order: Order) -> tuple[Rows, Rows]:
        """Return the rows of the two files."""
        if not n_test:
            raise DataError(
                f"{name} has no test file; choose another split, such as {{kind: fraction, train: 0.6}}"
            )
        return order(n_train, 0), order(n_test, n_train)


class Dealt(Drawn):
    """A split of the train and test files merged, or of the rows of one `file` alone.

    `file: train` leaves out the test file, for choices (such as of a bandwidth) that must not use its rows.
    """

    file: Literal["train"] | None = None

    def n_rows(self, n_train: int, n_test: int) -> int:
        """Return how many rows both files have, or the one."""
        return n_train if self.file else n_train + n_test


class All(Dealt):
    """All rows train, and the same rows test: for kernel errors, timings and training accuracies."""

    kind: Literal["all"]

    @property
    def fixed(self) -> bool:
        """All rows are on both sides."""
        return True

    def sides(self, n_train: int, n_test: int, name: str, order: Order) -> tuple[Rows, Rows]:
        """Return all rows twice; those that train test."""
        rows = order(self.n_rows(n_train, n_test), 0)
        return rows, rows[: self.max_train]


class Fraction(Dealt):
    """A random fraction of the rows trains, max_train rows at most; the rest tests.

    `deal` is a seed that deals the rows to the two sides once, for all repeats and caps: what is chosen on
    the training side has not seen a row that tests in any of them.
    """

    kind: Literal["fraction"]
    train: Annotated[float, Gt(0), Lt(1)]
    deal: Seed | None = None

    @property
    def fixed(self) -> bool:
        """Whether the rows are dealt once."""
        return self.deal is not None

    def sides(self, n_train: int, n_test: int, name: str, order: Order) -> tuple[Rows, Rows]:
        """Return the fraction and the rest; if they are dealt once, each in an order of its own."""
        n = self.n_rows(n_train, n_test)
        n_train = int(self.train * n + 1e-9)  # 0.29 of 100 rows is 29 rows
        if self.deal is not None:
            rows = shuffled(np.random.default_rng(self.deal), n)
            return rows[:n_train][order(n_train, 0)], rows[n_train:][order(n - n_train, 0)]
        drawn, n_train = order(n, 0), min(n_train, self.max_train or n_train)
        return drawn[:n_train], drawn[n_train:]

    def with_rows(self, n: int, n_train: int) -> Split | None:
        """Return the split with a cap; where all rows that do not train test, a sample with it."""
        if self.deal is not None:
            return super().with_rows(n, n_train)
        given = self.model_dump(include={"file", "seed", "max_test"})
        return Sample(kind="sample", n_train=n_train, max_train=n, **given)


class Sample(Dealt):
    """n_train random rows to train, n_test others (or all the rest) to test."""

    kind: Literal["sample"]
    n_train: Count
    n_test: Count | None = None

    def sides(self, n_train: int, n_test: int, name: str, order: Order) -> tuple[Rows, Rows]:
        """Return the first rows of an order, and the next ones."""
        rows = order(self.n_rows(n_train, n_test), 0)
        train, test = rows[: self.n_train], rows[self.n_train :]
        return first(train, self.n_train, name, "training"), first(test, self.n_test, name, "test")
