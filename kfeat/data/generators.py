"""Datasets without files of their own: generated, bundled with scikit-learn, or made from other files.

Those of the papers' toy experiments are drawn at once. `large_quadric` has any size: it is drawn and written
block by block, and read as a memory map.
"""

import hashlib
import json
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray
from pydantic import Field, model_validator

from kfeat.data.base import MOST_SEED, Model
from kfeat.data.dataset import Raw
from kfeat.data.matrix import Part


class Generator(Model):
    """n rows of d features, drawn from `seed`, with labels +1 and -1 and no test rows."""

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

    def labels(self, X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the signs of <w, x - mean> for one random direction w, which a linear model can learn."""
        centred = X - X.mean(axis=0)
        return np.where(centred @ rng.standard_normal(self.d) >= 0, 1, -1)


class UnitBall(Generator):
    """Points drawn uniformly from the unit ball of R^d (Kar & Karnick 2012, section 6.2); linear labels."""

    name: Literal["unit_ball"]

    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return r u with u uniform on the sphere and r = U^(1/d), which is uniform in the ball."""
        X = rng.standard_normal((self.n, self.d))
        radius = rng.random((self.n, 1)) ** (1 / self.d)
        return X * (radius / np.linalg.norm(X, axis=1, keepdims=True))


class Normal(Generator):
    """Points of the standard normal distribution in R^d; linear labels."""

    name: Literal["normal"]

    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n x d standard normal numbers."""
        return rng.standard_normal((self.n, self.d))


class Dense(Generator):
    """Points drawn uniformly from [0, 1)^d (for the synthetic data of Pham & Pagh 2013); linear labels."""

    name: Literal["dense"]

    def points(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n x d numbers drawn uniformly from [0, 1)."""
        return rng.random((self.n, self.d))


class Quadric(Generator):
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


def generate(spec: Any) -> Raw:
    """Return the generated rows and their labels as the part "train"; they are always verified."""
    rng = np.random.default_rng(spec.seed)
    X = spec.points(rng)
    parts = {"train": Part(X, spec.labels(X, rng))}
    return Raw(spec.name, "classification", parts, recorded=generator_fingerprint(spec), verified=True)


def generator_fingerprint(spec: Any) -> str:
    """Return a hash over the specification and the generator's version, which determine the numbers."""
    text = json.dumps({**spec.model_dump(), "version": spec.algorithm_version}, sort_keys=True)
    return hashlib.sha256(f"kfeat generator {text}".encode()).hexdigest()
