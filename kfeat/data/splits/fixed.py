"""Splits whose rows are the same in every repeat: by their order, their class, their group or their time."""

from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt, Lt
from numpy.typing import NDArray
from pydantic import model_validator

from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices
from kfeat.data.splits.base import Count, Seed, Split, first, shuffled
from kfeat.errors import DataError


class InOrder(Split):
    """The first n_train rows train, the next n_test (or all the rest) test; nothing is drawn.

    `test_from` is the number of rows before the first one that tests, if others lie between: with 10500 the
    test rows begin after the first 10,500 rows of both files. With `test_file` they are those of the test
    file.
    """

    kind: Literal["in_order"]
    n_train: Count
    n_test: Count | None = None
    test_from: Count | Literal["test_file"] | None = None

    @model_validator(mode="after")
    def has_no_row_twice(self) -> "InOrder":
        """Refuse test rows that begin among the training rows."""
        if isinstance(self.test_from, int) and self.test_from < self.n_train:
            raise ValueError(
                f"expected test_from to be {self.n_train} or more, the number of training rows, so that no "
                f"row trains and tests, got {self.test_from}"
            )
        return self

    def rows(self, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
        """Return the rows by their numbers."""
        n_train = len(raw.parts["train"].y)
        train, test = self.sides(n_train, len(raw.y) - n_train, raw.name)
        return np.array(train), np.array(test)

    def sizes(self, n_train: int, n_test: int, name: str) -> tuple[int, int]:
        """Return how many rows are asked for, or left."""
        train, test = self.sides(n_train, n_test, name)
        return len(train), len(test)

    def sides(self, n_train: int, n_test: int, name: str) -> tuple[range, range]:
        """Return the rows that train and those that test; raises DataError where they are too few."""
        rows, start = range(n_train + n_test), self.test_from or self.n_train
        if start == "test_file":
            if not n_test:
                raise DataError(f"{name} has no test file; give `test_from` as a number of rows")
            rows, start = range(n_train), n_train
        train = first(rows[: self.n_train], self.n_train, name, "training")
        test = range(start, n_train + n_test)
        first(test, 1, name, "test")
        return train, first(test, self.n_test, name, "test")


class Fair(Split):
    """A fraction of the rows trains: of each class, of the groups of a column, or the first ones in time.

    `group`: rows with one value of `column`, such as a customer, stay together. `time`: the rows with the
    largest numbers or dates in `column` test. Of the other rows, `max_train` random ones at most train. The
    draw is the same for all repeats.
    """

    kind: Literal["stratified", "group", "time"]
    train: Annotated[float, Gt(0), Lt(1)]
    column: int | str | None = None
    max_train: Count | None = None
    seed: Seed = 0

    @model_validator(mode="after")
    def has_a_column(self) -> "Fair":
        """Refuse a missing column, or one without a meaning."""
        if (self.column is None) != (self.kind == "stratified"):
            raise ValueError(f"{self.kind} needs {'no' if self.column is not None else 'a'} `column`")
        return self

    def rows(self, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
        """Return the rows of the two sides; raises DataError where one is empty."""
        tests = self.tests(raw)
        if tests.all() or not tests.any():
            raise DataError(f"{raw.name}: the split `{self.kind}` leaves no rows to train, or none to test")
        train = np.flatnonzero(~tests)
        some = shuffled(np.random.default_rng([self.seed, 1]), len(train))[: self.max_train]
        return np.sort(train[some]), np.flatnonzero(tests)

    def sizes(self, n_train: int, n_test: int, name: str) -> tuple[int, int]:
        """Return about how many rows train and test: classes and groups are whole."""
        rows = int(self.train * n_train)
        return min(rows, self.max_train or rows), n_train - rows

    def by(self, raw: Raw) -> NDArray[Any] | None:
        """Return the numbers in the column, if the split has one."""
        return None if self.column is None else raw.cells(self.column, self.kind)

    def with_rows(self, n: int, n_train: int) -> Split | None:
        """Return the split with a cap of n training rows."""
        return self.model_copy(update={"max_train": n})

    def tests(self, raw: Raw) -> NDArray[np.bool_]:
        """Return which rows test; raises DataError where there is a test file, or the column does not do."""
        if "test" in raw.parts:
            raise DataError(f"{raw.name} has a test file, so the split `{self.kind}` has no meaning")
        if self.kind == "time":
            times = raw.cells(self.column, "time")
            return np.asarray(times >= np.sort(times)[int(self.train * len(times))])
        rng, tests = np.random.default_rng(self.seed), np.zeros(len(raw.y), dtype=bool)
        if self.kind == "stratified":
            for label in np.unique(raw.y):
                rows = np.flatnonzero(raw.y == label)
                tests[rows[shuffled(rng, len(rows))][int(np.ceil(self.train * len(rows))) :]] = True
            return tests
        groups = raw.cells(self.column, "group")
        order = shuffled(rng, int(groups.max()) + 1)
        sizes = np.bincount(groups)[order]
        middle = np.cumsum(sizes) - sizes / 2
        return np.isin(groups, order[middle > min(self.train * len(groups), middle[-1] - 0.5)])
