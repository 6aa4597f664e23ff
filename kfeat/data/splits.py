"""The splits: which rows of a dataset train and which test."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from kfeat.data.base import MOST_SEED, MOST_SIDE, Model
from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices
from kfeat.errors import DataError
from kfeat.text import counted

Count = Annotated[int, Ge(1), Lt(MOST_SIDE)]  # of rows
Seed = Annotated[int, Ge(0), Lt(MOST_SEED)]
Rows: TypeAlias = Any  # indices, or a range where only their number matters
Order: TypeAlias = Callable[[int, int], Rows]  # of (n, start): an order of start .. start+n-1


def shuffled(rng: np.random.Generator, n: int, start: int = 0) -> Indices:
    """Return a random order of start .. start+n-1 that is the same on every platform and with every NumPy.

    It ranks uniform numbers, since NumPy keeps the uniform doubles of its bit generators fixed, but not the
    results of `permutation` and `choice`.
    """
    return start + np.argsort(rng.random(n), kind="stable")


def first(rows: Rows, n: int | None, name: str, purpose: str) -> Rows:
    """Return the first n rows, or all of them for None; raises DataError when there are fewer."""
    if n is not None and len(rows) < n:
        raise DataError(f"{name}: expected {counted(n, f'{purpose} rows')}, got {len(rows):,}; ask for fewer")
    return rows[:n]


class Split(Model):
    """What every split tells: which rows train and test, how many, and whether each repeat draws others."""

    @property
    def random(self) -> bool:
        """Whether the rows depend on the random_state of a repeat."""
        return False

    def rows(self, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
        """Return the training and test rows by their rising numbers; those of the test file come last.

        Raises DataError when there is no test file or there are fewer rows than the split asks for.
        """
        raise NotImplementedError

    def sizes(self, n_train: int, n_test: int, name: str) -> tuple[int, int]:
        """Return how many rows train and test, of files of `n_train` and `n_test` rows.

        Raises DataError like `rows`.
        """
        raise NotImplementedError

    def by(self, raw: Raw) -> NDArray[Any] | None:
        """Return the groups or the times of all rows, if the split is by them."""
        return None

    def with_rows(self, n: int, n_train: int) -> "Split | None":
        """Return a split with n of the n_train training rows and the same test rows; None without one."""
        return None

    def at(self, random_state: int) -> Self:
        """Return the split whose rows are in every repeat those that this one has with `random_state`."""
        return self

    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, as a config has it, and the kind in any case."""
        return {"kind": self.model_dump()["kind"], **self.model_dump(mode="json", exclude_defaults=True)}


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

    def sides(self, n_train: int, n_test: int, name: str, order: Order) -> tuple[Rows, Rows]:
        """Return the rows that may train and those that may test, in their order."""
        raise NotImplementedError

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


class InOrder(Split):
    """The first n_train rows train, the next n_test (or all the rest) test; nothing is drawn."""

    kind: Literal["in_order"]
    n_train: Count
    n_test: Count | None = None

    def rows(self, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
        """Return the rows by their numbers."""
        train, test = self.sides(len(raw.y), raw.name)
        return np.array(train), np.array(test)

    def sizes(self, n_train: int, n_test: int, name: str) -> tuple[int, int]:
        """Return how many rows are asked for, or left."""
        train, test = self.sides(n_train + n_test, name)
        return len(train), len(test)

    def sides(self, n: int, name: str) -> tuple[range, range]:
        """Return which of n rows train and which test; raises DataError where they are too few."""
        train, test = range(n)[: self.n_train], range(n)[self.n_train :]
        first(test, 1, name, "test")
        return first(train, self.n_train, name, "training"), first(test, self.n_test, name, "test")


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


def as_kind(split: Any) -> Any:
    """Return a split given by its name alone as a mapping."""
    return {"kind": split} if isinstance(split, str) else split


class Validation(Split):
    """The training rows of another split `of`, cut in two: a random `share` of them tests, the others train.

    The test rows of that split are left out: choices, such as of C, that are made on the share have not seen
    them. The cut is drawn like the split's rows: by `seed`, or again for each repeat.
    """

    kind: Literal["validation"]
    share: Annotated[float, Gt(0), Lt(1)] = 0.2
    of: Annotated[
        Official | Fraction | Sample | InOrder,
        Field(discriminator="kind"),
        BeforeValidator(as_kind),
    ] = Official()
    seed: Seed | None = None

    @property
    def random(self) -> bool:
        """Whether the rows depend on the random_state of a repeat."""
        return self.seed is None or self.of.random

    def rows(self, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
        """Return the two sides of the cut."""
        train, _ = self.of.rows(raw, random_state)
        # A separate stream, independent of what the other split draws from the same seed.
        seed = random_state if self.seed is None else self.seed
        order = train[shuffled(np.random.default_rng([seed, 1]), len(train))]
        n_test = self.held_out(len(train), raw.name)
        return np.sort(order[n_test:]), np.sort(order[:n_test])

    def sizes(self, n_train: int, n_test: int, name: str) -> tuple[int, int]:
        """Return how many of the other split's training rows are on each side."""
        rows, _ = self.of.sizes(n_train, n_test, name)
        share = self.held_out(rows, name)
        return rows - share, share

    def held_out(self, n_train: int, name: str) -> int:
        """Return how many of the training rows of the other split test."""
        n_test = int(self.share * n_train + 1e-9)
        if not 0 < n_test < n_train:
            few = f"{n_train} training rows are too few for a share of {self.share:g} of them"
            raise DataError(f"{name}: {few}")
        return n_test

    def at(self, random_state: int) -> Self:
        """Return the split with this seed for the cut and for the other split, where they have none."""
        seed = random_state if self.seed is None else self.seed
        return self.model_copy(update={"seed": seed, "of": self.of.at(random_state)})

    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, and the kinds of both splits."""
        return {**super().given(), "of": self.of.given()}


AnySplit = Annotated[
    Official | All | Fraction | Sample | InOrder | Validation | Fair,
    Field(discriminator="kind"),
    BeforeValidator(as_kind),
]
