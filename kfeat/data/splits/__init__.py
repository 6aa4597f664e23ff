"""The splits: which rows of a dataset train and which test."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from kfeat.data.splits.base import Seed, Split, shuffled
from kfeat.data.splits.drawn import All, Fraction, Official, Sample
from kfeat.data.splits.fixed import Fair, InOrder
from kfeat.data.splits.validation import Validation, as_kind

__all__ = ["All", "AnySplit", "Official", "Seed", "Split", "shuffled"]

AnySplit = Annotated[
    Official | All | Fraction | Sample | InOrder | Validation | Fair,
    Field(discriminator="kind"),
    BeforeValidator(as_kind),
]
