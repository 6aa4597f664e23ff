"""A single file's rows cut in two: the first train, the others test."""

from collections.abc import Mapping
from typing import Any

from kfeat.errors import DataError


def cut(parts: Mapping[str, Any], n_train: int, file: str) -> dict[str, Any]:
    """Return the only part, arrays or frames, as its first n_train rows and the others, the part "test"."""
    if "test" in parts:
        raise DataError(f"{file}: expected `n_train` or test rows of their own, got both")
    rows = parts["train"]
    n = rows.shape[0]
    if n_train >= n:
        raise DataError(f"{file}: expected more than n_train = {n_train} rows, got {n}")
    return {"train": rows[:n_train], "test": rows[n_train:]}
