"""What every part of kfeat.data passes on: parts of a dataset, and the dataset ready for use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

Matrix: TypeAlias = Any  # a NumPy array or a scipy.sparse.csr_array, which has no types to check against
MOST_SIDE = 100_000_000  # rows or columns of a matrix; the widest data published as svmlight have 55 million
MOST_SEED = 2**64  # a seed is a number of 64 bits at most
Task: TypeAlias = Literal["classification", "regression"]


class Model(BaseModel):
    """A frozen record with no unknown keys and no silent conversions, hashable whatever its fields are."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def __hash__(self) -> int:
        """Return a hash over the content, as equal records have equal content."""
        return hash((type(self), self.model_dump_json()))


@dataclass(frozen=True)
class Part:
    """Some rows of a dataset: X of shape (n, d), dense or CSR, and the n labels or targets y."""

    X: Matrix
    y: NDArray[Any]


@dataclass(frozen=True)
class Raw:
    """A dataset as its files have it, before any protocol; `parts` has "train" and perhaps "test".

    `label_names` gives the words behind integer codes 0, 1, ... where the file's labels were words.
    """

    name: str
    task: Task
    parts: Mapping[str, Part]
    fingerprint: str
    verified: bool
    label_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """A dataset after its protocol, ready for maps and solvers.

    X_train (n_train, d) and X_test (n_test, d) are dense arrays or `scipy.sparse.csr_array`s of the
    protocol's dtype. Class labels are integers (or floats) as the file has them, +1 and -1 once binarised;
    targets are float64. `verified` says that the files or the parsed arrays equal pinned hashes.
    """

    name: str
    X_train: Matrix
    y_train: NDArray[Any]
    X_test: Matrix
    y_test: NDArray[Any]
    task: Task
    fingerprint: str
    verified: bool
    label_names: tuple[str, ...] = ()


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as int64 where all are whole numbers, as float64 otherwise."""
    if np.issubdtype(y.dtype, np.integer):
        return y.astype(np.int64)
    whole = np.all(np.isfinite(y)) and np.all(y == np.rint(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64 if whole else np.float64)
