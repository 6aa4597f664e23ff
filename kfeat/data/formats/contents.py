"""What a reader makes of files, before labels and matrices take the form in which they are kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from kfeat.data.columns import Column
from kfeat.data.dataset import Part


@dataclass(frozen=True)
class Contents:
    """The parts of some files, and what was learnt of their columns; the fields are those of `Coding`."""

    parts: Mapping[str, Part]
    columns: tuple[Column, ...] = ()
    target: str | None = None
    label_names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    n_dropped: int = 0
