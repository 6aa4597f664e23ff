"""The protocol: the steps from a dataset's files to the arrays of an experiment, and its splits."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from kfeat.data.base import MOST_SEED, MOST_SIDE, Model
from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices
from kfeat.errors import DataError
from kfeat.text import counted

Count = Annotated[int, Ge(1), Lt(MOST_SIDE)]  # of rows
Seed = Annotated[int, Ge(0), Lt(MOST_SEED)]


class Divide(Model):
    """Divide every value by one fixed number, such as 255 for the pixels of MNIST."""

    divide: Annotated[float, Gt(0)]


class Split(Model):
    """What all splits can do: cap their rows by a draw.

    `seed: null` draws from the random_state of each repeat; a number fixes the draw for all repeats.
    """

    max_train: Count | None = None
    max_test: Count | None = None
    seed: Seed | None = None


class Official(Split):
    """The train and test files as distributed."""

    kind: Literal["official"] = "official"


class Dealt(Split):
    """A split of the train and test files merged, or of the rows of one `file` alone.

    `file: train` leaves out the test file, for choices (such as of a bandwidth) that must not use its rows.
    """

    file: Literal["train"] | None = None


class All(Dealt):
    """All rows train, and the same rows test: for kernel errors, timings and training accuracies."""

    kind: Literal["all"]


class Fraction(Dealt):
    """A random fraction of the rows trains, max_train rows at most; the rest tests.

    `deal` is a seed that deals the rows to the two sides once, for all repeats and caps: what is chosen on
    the training side has not seen a row that tests in any of them.
    """

    kind: Literal["fraction"]
    train: Annotated[float, Gt(0), Lt(1)]
    deal: Seed | None = None


class InOrder(Model):
    """The first n_train rows train, the next n_test (or all the rest) test; nothing is drawn."""

    kind: Literal["in_order"]
    n_train: Count
    n_test: Count | None = None


class Sample(Dealt):
    """n_train random rows to train, n_test others (or all the rest) to test."""

    kind: Literal["sample"]
    n_train: Count
    n_test: Count | None = None


class Fair(Model):
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


class Validation(Model):
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
        return self.seed is None or drawn(self.of)


def drawn(split: "Official | All | Fraction | Sample | InOrder | Fair") -> bool:
    """Return whether the rows of a split depend on the random_state of a repeat."""
    if isinstance(split, InOrder | Fair):
        return False
    capped = split.max_train is not None or split.max_test is not None
    fixed = isinstance(split, Official | All) or (isinstance(split, Fraction) and split.deal is not None)
    return (capped or not fixed) and split.seed is None


def _whole(number: float) -> float | int:
    """Return a whole number as an integer: 3.0 is the class 3."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class Against(Model):
    """One class becomes +1, all others -1."""

    positive: Annotated[int, Ge(-(2**63)), Lt(2**63)] | Annotated[float, AfterValidator(_whole)] | str


class RandomHalf(Model):
    """A random half of the classes, fixed by this seed, becomes +1, the other half -1."""

    random_half: Seed


def binarise_tag(binarise: Any) -> str:
    """Return which binarisation is meant, so that errors are reported for that kind only."""
    if isinstance(binarise, RandomHalf) or (isinstance(binarise, dict) and "random_half" in binarise):
        return "random_half"
    return "positive" if isinstance(binarise, dict | Against) else "name"


def as_chain(scale: Any) -> Any:
    """Return one scaling step as a chain of one, and `none` as the empty chain."""
    steps = scale if isinstance(scale, list | tuple) else (scale,)
    return tuple(step for step in steps if step != "none")


def step_tag(step: Any) -> str:
    """Return which kind of step is meant, so that errors are reported for that kind only."""
    return "divide" if isinstance(step, dict | Divide) else "name"


StepName = Literal[
    "minmax", "minmax_symmetric", "zscore", "zscore_numbers", "power", "unit_rows", "global_norm"
]  # fmt: skip
Step = Annotated[Annotated[Divide, Tag("divide")] | Annotated[StepName, Tag("name")], Discriminator(step_tag)]
Binarise = Annotated[
    Annotated[Literal["none"], Tag("name")]
    | Annotated[Against, Tag("positive")]
    | Annotated[RandomHalf, Tag("random_half")],
    Discriminator(binarise_tag),
]
Chain = Annotated[tuple[Step, ...], BeforeValidator(as_chain)]
AnySplit = Annotated[
    Official | All | Fraction | Sample | InOrder | Validation | Fair,
    Field(discriminator="kind"),
    BeforeValidator(as_kind),
]


class Protocol(Model):
    """How rows are split, labels made binary, and features dropped, scaled and stored.

    In this order: split; binarise; drop constant features; scale; convert to dtype. Everything learnt
    (constant columns, minima, means, norms) is learnt on the training rows only.

    `scale` is a chain of steps, applied one after another: `minmax` to [0, 1], `minmax_symmetric` to
    [-1, 1], `zscore` (constant columns become 0), `zscore_numbers` (the same for columns with other numbers
    than 0 and 1; those of 0 and 1 stay), `power` (these columns by the transform of Yeo and Johnson,
    Biometrika 2000, which makes long tails short, and then z-scores), `unit_rows` (zero rows stay),
    `global_norm` (the largest Euclidean norm of a training row becomes 1), `{divide: c}`; one step needs no
    list, `none` is the empty chain.

    `weight` names a column of a file by whose numbers rows count, in training and in scores: a row of weight
    2 counts as two, and one of weight 0 is left out. The dataset's `drop` keeps it from being a feature.
    """

    algorithm_version: ClassVar[int] = 1

    scale: Chain = ()
    split: AnySplit = Official()
    binarise: Binarise = "none"
    constant_features: Literal["keep", "drop"] = "keep"
    dtype: Literal["float32", "float64"] = "float32"
    weight: int | str | None = None

    @property
    def random(self) -> bool:
        """Whether the rows drawn depend on the random_state of a repeat."""
        return self.split.random if isinstance(self.split, Validation) else drawn(self.split)

    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, as a config has it; a split has its kind in any case."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        if "split" in given:
            given["split"] = {"kind": self.split.kind, **given["split"]}
            if isinstance(self.split, Validation):
                given["split"]["of"] = {"kind": self.split.of.kind, **given["split"].get("of", {})}
        return given


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
    if isinstance(split, Fair):
        tests = split.tests(raw)
        if tests.all() or not tests.any():
            raise DataError(f"{raw.name}: the split `{split.kind}` leaves no rows to train, or none to test")
        train = np.flatnonzero(~tests)
        some = shuffled(np.random.default_rng([split.seed, 1]), len(train))[: split.max_train]
        return np.sort(train[some]), np.flatnonzero(tests)
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
    if isinstance(split, Fair):  # about as many: classes and groups are whole
        rows = int(split.train * n_train)
        return min(rows, split.max_train or rows), n_train - rows
    if isinstance(split, Validation):
        rows = split_sizes(split.of, n_train, n_test, name)[0]
        share = held_out(split, rows, name)
        return rows - share, share
    train, test = sides(split, n_train, n_test, name, lambda n, start: range(start, start + n))
    return len(train), len(test)


def with_rows(split: AnySplit, n: int, n_train: int) -> AnySplit | None:
    """Return a split of which n of the n_train training rows train, and the same rows test; None without."""
    if isinstance(split, Fraction) and split.deal is None:  # where all rows that do not train test
        given = split.model_dump(include={"file", "seed", "max_test"})
        return Sample(kind="sample", n_train=n_train, max_train=n, **given)
    return split.model_copy(update={"max_train": n}) if isinstance(split, Split | Fair) else None


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
    assert not isinstance(split, Validation | Fair)
    n = n_train + n_test
    if isinstance(split, InOrder):
        train, test = range(n)[: split.n_train], range(n)[split.n_train :]
        first(test, 1, name, "test")
        return first(train, split.n_train, name, "training"), first(test, split.n_test, name, "test")
    if isinstance(split, Official):
        if not n_test:
            raise DataError(
                f"{name} has no test file; choose another split, such as {{kind: fraction, train: 0.6}}"
            )
        train, test = order(n_train, 0), order(n_test, n_train)
    elif isinstance(split, Fraction) and split.deal is not None:
        n = n_train if split.file else n
        n_train = int(split.train * n + 1e-9)
        rows: Rows = shuffled(np.random.default_rng(split.deal), n)
        train, test = rows[:n_train][order(n_train, 0)], rows[n_train:][order(n - n_train, 0)]
    else:
        n = n_train if split.file else n
        train, test = dealt(split, order(n, 0), name)
    train, test = train[: split.max_train], test[: split.max_test]
    if not len(train) or not len(test):
        left = f"{len(train)} to train, {len(test)} to test"
        raise DataError(f"{name}: {counted(n, 'rows')}: too few for {split.kind}, which leaves {left}")
    return train, test


def dealt(split: All | Fraction | Sample, order: Rows, name: str) -> tuple[Rows, Rows]:
    """Return the two sides of an order of rows."""
    n = len(order)
    if isinstance(split, All):
        return order, order[: split.max_train]
    if isinstance(split, Fraction):
        n_train = int(split.train * n + 1e-9)  # 0.29 of 100 rows is 29 rows
        n_train = min(n_train, split.max_train or n_train)
        return order[:n_train], order[n_train:]
    train, test = order[: split.n_train], order[split.n_train :]
    return first(train, split.n_train, name, "training"), first(test, split.n_test, name, "test")


def first(rows: Rows, n: int | None, name: str, purpose: str) -> Rows:
    """Return the first n rows, or all of them for None; raises DataError when there are fewer."""
    if n is not None and len(rows) < n:
        raise DataError(f"{name}: expected {counted(n, f'{purpose} rows')}, got {len(rows):,}; ask for fewer")
    return rows[:n]
