"""Generated data for the papers' toy experiments; the same numbers for the same specification."""

import hashlib
import json
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray
from pydantic import Field, model_validator

from kfeat.data.dataset import Part, Raw
from kfeat.data.models import MOST_SEED, Model

MOST_VALUES = 2_000_000_000  # 16 GB


class Generator(Model):
    """n rows of d features, drawn from `seed`, with labels +1 and -1 and no test rows."""

    algorithm_version: ClassVar[int] = 1

    n: Annotated[int, Ge(2)]
    d: Annotated[int, Ge(1)]
    seed: Annotated[int, Ge(0), Lt(MOST_SEED)] = 0

    @property
    def n_values(self) -> int:
        """How many numbers are drawn at once."""
        return self.n * self.d

    @model_validator(mode="after")
    def fits_into_memory(self) -> "Generator":
        """Refuse numbers of rows and features that no machine holds."""
        if self.n * self.d > MOST_VALUES:
            raise ValueError(f"expected n * d to be {MOST_VALUES:,} at most")
        return self


def check_quadric(d: int) -> None:
    """Raise ValueError where no machine holds the d x d matrix of a quadric."""
    if d**2 > MOST_VALUES:
        raise ValueError(f"expected d * d to be {MOST_VALUES:,} at most")


class UnitBall(Generator):
    """Points drawn uniformly from the unit ball of R^d (Kar & Karnick 2012, section 6.2); linear labels."""

    name: Literal["unit_ball"]


class Normal(Generator):
    """Points of the standard normal distribution in R^d; linear labels."""

    name: Literal["normal"]


class Dense(Generator):
    """Points drawn uniformly from [0, 1)^d (for the synthetic data of Pham & Pagh 2013); linear labels."""

    name: Literal["dense"]


class Quadric(Generator):
    """Points drawn uniformly from [-1/2, 1/2)^d, labelled by the side of a random quadric on which they lie.

    A share `noise` of the labels, drawn at random, is wrong. A kernel of degree 2 can learn the others; a
    linear model cannot.
    """

    name: Literal["quadric"]
    noise: Annotated[float, Ge(0), Lt(0.5)] = 0.05

    @property
    def n_values(self) -> int:
        """How many numbers are drawn at once."""
        return (self.n + self.d) * self.d

    @model_validator(mode="after")
    def has_a_matrix_that_fits(self) -> "Quadric":
        """Refuse numbers of features whose quadric no machine holds."""
        check_quadric(self.d)
        return self


GeneratorSource: TypeAlias = Annotated[UnitBall | Normal | Dense | Quadric, Field(discriminator="name")]


def unit_ball(spec: Generator, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return r u with u uniform on the sphere and r = U^(1/d), which is uniform in the ball."""
    X = rng.standard_normal((spec.n, spec.d))
    radius = rng.random((spec.n, 1)) ** (1 / spec.d)
    return X * (radius / np.linalg.norm(X, axis=1, keepdims=True))


def normal(spec: Generator, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n x d standard normal numbers."""
    return rng.standard_normal((spec.n, spec.d))


def dense(spec: Generator, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n x d numbers drawn uniformly from [0, 1)."""
    return rng.random((spec.n, spec.d))


def centred_cube(spec: Generator, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n x d numbers drawn uniformly from [-1/2, 1/2)."""
    return rng.random((spec.n, spec.d)) - 0.5


def linear_labels(spec: Generator, X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the signs of <w, x - mean> for one random direction w, which a linear model can learn."""
    centred = X - X.mean(axis=0)
    return np.where(centred @ rng.standard_normal(spec.d) >= 0, 1, -1)


def quadric_labels(spec: Any, X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the signs of x'Ax - its median for a normal matrix A, and a share `noise` of wrong ones."""
    values = np.einsum("ij,ij->i", X @ rng.standard_normal((spec.d, spec.d)), X)
    y = np.where(values > np.median(values), 1, -1)
    return np.where(rng.random(spec.n) < spec.noise, -y, y)


GENERATORS: dict[str, tuple[Callable[..., NDArray[np.float64]], Callable[..., NDArray[np.int64]]]] = {
    "unit_ball": (unit_ball, linear_labels),
    "normal": (normal, linear_labels),
    "dense": (dense, linear_labels),
    "quadric": (centred_cube, quadric_labels),
}


def generate(spec: Any) -> Raw:
    """Return the generated rows and their labels as the part "train"; they are always verified."""
    rng = np.random.default_rng(spec.seed)
    points, labels = GENERATORS[spec.name]
    X = points(spec, rng)
    parts = {"train": Part(X, labels(spec, X, rng))}
    return Raw(spec.name, "classification", parts, recorded=generator_fingerprint(spec), verified=True)


def generator_fingerprint(spec: Any) -> str:
    """Return a hash over the specification and the generator's version, which determine the numbers."""
    text = json.dumps({**spec.model_dump(), "version": spec.algorithm_version}, sort_keys=True)
    return hashlib.sha256(f"kfeat generator {text}".encode()).hexdigest()
