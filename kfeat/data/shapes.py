"""The rows and columns of data, known before they are loaded."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.data.cache import current_notes


@dataclass(frozen=True)
class Shape:
    """The rows and columns that a trial sees, or that files have.

    `stored` is the share of the values that a sparse matrix stores, 1 for a dense one. `classes` has the
    share of the rows that each class has where that is known, in falling order: () for a regression.
    `generated` is how many numbers are drawn in memory where the data are generated, 0 elsewhere.
    """

    n_train: int
    n_test: int
    n_features: int
    stored: float = 1.0
    classes: tuple[float, ...] = ()
    generated: int = 0


def kept_shape(folder: Path, files: Mapping[str, Path]) -> Shape | None:
    """Return what the notes of kept arrays say, or None where there are none for the current files."""
    notes = current_notes(folder, files)
    if notes is None:
        return None
    layout: dict[str, dict[str, Any]] = notes["layout"]
    rows = {part: each["shape"][0] for part, each in layout.items()}
    n, d = sum(rows.values()), layout["train"]["shape"][1]
    values = sum(_stored(folder, part) if each["sparse"] else rows[part] * d for part, each in layout.items())
    return Shape(rows["train"], rows.get("test", 0), d, stored=values / max(n * d, 1))


def _stored(folder: Path, part: str) -> int:
    """Return how many values a part's CSR arrays store; 0 where they cannot be read."""
    try:
        return int(np.load(folder / f"{part}.X.data.npy", mmap_mode="r").size)
    except (OSError, ValueError):
        return 0
