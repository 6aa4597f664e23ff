"""Generated data of any size: drawn and written block by block, and read as a memory map."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray

from kfeat.batches import release, unnamed_file
from kfeat.data.access import Access
from kfeat.data.base import Task
from kfeat.data.cache import GENERATED, arrays_folder, parsed_once
from kfeat.data.dataset import Raw
from kfeat.data.matrix import Part
from kfeat.data.sources.generators import Generator

BLOCK = 8192  # rows that one random stream draws, so that the first rows do not depend on n


class LargeQuadric(Generator):
    """Points of [-1/2, 1/2)^d in single precision and a random quadratic form of them, for any n.

    v(x) = x'Ax + <w, x> - tr(A) / 12, has mean 0; A and w / 2 are standard normal. The label of a
    classification is the sign of v, and a share `noise` of the labels is wrong; the target of a regression
    is v over its standard deviation, with normal noise of the standard deviation `noise` added. The first
    rows are the same for every n.
    """

    most_values: ClassVar[int] = 2**38  # 1 TB on a disk, as single precision

    name: Literal["large_quadric"]
    task: Task = "classification"
    noise: Annotated[float, Ge(0), Lt(0.5)] = 0.05

    def load(self, access: Access) -> Raw:
        """Return the data, mapped from the cache, in which they are generated if it does not have them."""
        cache = access.folder
        folder = arrays_folder(cache / GENERATED, self.name, self.pinned)
        made = parsed_once(folder, {}, lambda: self.generate(cache))
        return Raw(self.name, self.task, made.parts, recorded=made.fingerprint, verified=True)

    def generate(self, scratch: Path) -> Raw:
        """Return the generated rows as the part "train", with X in a temporary file of `scratch`."""
        X = unnamed_file((self.n, self.d), np.float32, scratch)
        y = np.empty(self.n, np.int64 if self.task == "classification" else np.float64)
        form = QuadraticForm(self)
        for k, start in enumerate(range(0, self.n, BLOCK)):
            rng = np.random.default_rng([self.seed, k])
            block = rng.random((BLOCK, self.d), dtype=np.float32) - np.float32(0.5)
            rows = slice(start, min(start + BLOCK, self.n))
            X[rows] = block[: rows.stop - start]
            y[rows] = form.targets(block, rng)[: rows.stop - start]
            release(X)
        return Raw(self.name, self.task, {"train": Part(X, y)}, recorded=self.pinned, verified=True)


class QuadraticForm:
    """v(x) = x'Ax + <w, x> - tr(A) / 12 of one specification, and the labels or targets from it."""

    def __init__(self, spec: LargeQuadric) -> None:
        rng = np.random.default_rng(spec.seed)
        self.spec = spec
        self.A, self.w = rng.standard_normal((spec.d, spec.d)), 2 * rng.standard_normal(spec.d)

    def targets(self, X: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Return labels +1 and -1, or values of a regression, of rows X (m, d)."""
        rows = X.astype(np.float64)
        v = np.einsum("ij,ij->i", rows @ self.A + self.w, rows) - np.trace(self.A) / 12
        if self.spec.task == "regression":
            return v / self.deviation + self.spec.noise * rng.standard_normal(len(v))
        return np.where((v > 0) != (rng.random(len(v)) < self.spec.noise), 1, -1)

    @property
    def deviation(self) -> float:
        """The standard deviation of v: coordinates have variance 1/12 and fourth moment 1/80."""
        B = (self.A + self.A.T) / 2
        squares = np.diag(B) ** 2
        of_pairs = 2 * ((B**2).sum() - squares.sum()) / 144
        return float(np.sqrt(of_pairs + squares.sum() * (1 / 80 - 1 / 144) + self.w @ self.w / 12))
