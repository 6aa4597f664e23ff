"""Generated data: what all kinds share, and those of the papers' toy experiments, which are drawn at once."""

import hashlib
import json
from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray
from pydantic import Field, model_validator

from kfeat.data.access import Access
from kfeat.data.base import MOST_SEED, Task
from kfeat.data.dataset import Raw
from kfeat.data.matrix import Part
from kfeat.data.shapes import Shape
from kfeat.data.sources.base import DataSource


class Generator(DataSource):
    """n rows of d features, drawn from `seed`, without test rows; they are always verified."""

    algorithm_version: ClassVar[int] = 1
    most_values: ClassVar[int] = 2_000_000_000  # 16 GB in memory

    n: Annotated[int, Ge(2)]
    d: Annotated[int, Ge(1)]
    seed: Annotated[int, Ge(0), Lt(MOST_SEED)] = 0

    @model_validator(mode="after")
    def fits(self) -> "Generator":
        """Refuse numbers of rows and features that no machine holds."""
        if self.n * self.d > self.most_values:
            raise ValueError(f"expected n * d to be {self.most_values:,} at most")
        return self

    @property
    def pinned(self) -> str:
        """A hash over the specification and the generator's version, which determine the numbers."""
        text = json.dumps({**self.model_dump(), "version": self.algorithm_version}, sort_keys=True)
        return hashlib.sha256(f"kfeat generator {text}".encode()).hexdigest()

    def shape(self, access: Access) -> Shape:
        """Return the shape of the specification."""
        return Shape(self.n, 0, self.d)

    @property
    def parameters(self) -> dict[str, Any]:
        """The specification."""
        return self.options


class DrawnAtOnce(Generator):
    """Points in memory, with labels +1 and -1."""

    kept: ClassVar[bool] = False

    @property
    def task(self) -> Task:
        """The labels are two classes."""
        return "classification"

    def shape(self, access: Access) -> Shape:
        """Return the shape of the specification, and how many numbers are drawn."""
        return Shape(self.n, 0, self.d, generated=self.n * self.d)

    def load(self, access: Access) -> Raw:
        """Return the generated rows and their labels as the part "train"."""
        rng = np.random.default_rng(self.seed)
        X = self.points(rng)
        parts = {"train": Part(X, self.labels(X, rng))}
        return Raw(self.name, self.task, parts, recorded=self.pinned, verified=True)

    @abstractmethod
    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the rows (n, d)."""

    def labels(self, X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the signs of <w, x - mean> for one random direction w, which a linear model can learn."""
        centred = X - X.mean(axis=0)
        return np.where(centred @ rng.standard_normal(self.d) >= 0, 1, -1)


class UnitBall(DrawnAtOnce):
    """Points drawn uniformly from the unit ball of R^d (Kar & Karnick 2012, section 6.2); linear labels."""

    name: Literal["unit_ball"]

    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return r u with u uniform on the sphere and r = U^(1/d), which is uniform in the ball."""
        X = rng.standard_normal((self.n, self.d))
        radius = rng.random((self.n, 1)) ** (1 / self.d)
        return X * (radius / np.linalg.norm(X, axis=1, keepdims=True))


class Normal(DrawnAtOnce):
    """Points of the standard normal distribution in R^d; linear labels."""

    name: Literal["normal"]

    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n x d standard normal numbers."""
        return rng.standard_normal((self.n, self.d))


class Dense(DrawnAtOnce):
    """Points drawn uniformly from [0, 1)^d (for the synthetic data of Pham & Pagh 2013); linear labels."""

    name: Literal["dense"]

    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n x d numbers drawn uniformly from [0, 1)."""
        return rng.random((self.n, self.d))


class Quadric(DrawnAtOnce):
    """Points drawn uniformly from [-1/2, 1/2)^d, labelled by the side of a random quadric on which they lie.

    A share `noise` of the labels, drawn at random, is wrong. A kernel of degree 2 can learn the others; a
    linear model cannot.
    """

    name: Literal["quadric"]
    noise: Annotated[float, Ge(0), Lt(0.5)] = 0.05

    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n x d numbers drawn uniformly from [-1/2, 1/2)."""
        return rng.random((self.n, self.d)) - 0.5

    def labels(self, X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the signs of x'Ax - its median for a normal matrix A, and a share `noise` of wrong ones."""
        values = np.einsum("ij,ij->i", X @ rng.standard_normal((self.d, self.d)), X)
        y = np.where(values > np.median(values), 1, -1)
        return np.where(rng.random(self.n) < self.noise, -y, y)


GeneratorSource: TypeAlias = Annotated[UnitBall | Normal | Dense | Quadric, Field(discriminator="name")]
