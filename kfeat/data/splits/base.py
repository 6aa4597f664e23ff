"""What every split tells, and the order in which rows are drawn."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray

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


class Split(Model, ABC):
    """What every split tells: which rows train and test, how many, and whether each repeat draws others."""

    @property
    def random(self) -> bool:
        """Whether the rows depend on the random_state of a repeat."""
        return False

    @abstractmethod
    def rows(self, raw: Raw, random_state: int) -> tuple[Indices, Indices]:
        """Return the training and test rows by their rising numbers; those of the test file come last.

        Raises DataError when there is no test file or there are fewer rows than the split asks for.
        """

    @abstractmethod
    def sizes(self, n_train: int, n_test: int, name: str) -> tuple[int, int]:
        """Return how many rows train and test, of files of `n_train` and `n_test` rows.

        Raises DataError like `rows`.
        """

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
