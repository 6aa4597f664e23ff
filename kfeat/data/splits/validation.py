"""A split of the training rows of another split, for choices that must not see its test rows."""

from typing import Annotated, Any, Literal, Self

import numpy as np
from annotated_types import Gt, Lt
from pydantic import BeforeValidator, Field

from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices
from kfeat.data.splits.base import Seed, Split, shuffled
from kfeat.data.splits.drawn import Fraction, Official, Sample
from kfeat.data.splits.fixed import InOrder
from kfeat.errors import DataError


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
