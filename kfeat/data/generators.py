"""Generated data for the papers' toy experiments; the same numbers for the same specification."""

import hashlib
import json
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray
from pydantic import Field, model_validator

from kfeat.data.models import MOST_SEED, Model, Part

MOST_VALUES = 2_000_000_000  # 16 GB


class Generator(Model):
    """n rows of d features, drawn from `seed`; no test rows.

    The labels are the signs of <w, x> for one random direction w, so that a linear machine can learn them.
    """

    algorithm_version: ClassVar[int] = 1

    n: Annotated[int, Ge(2)]
    d: Annotated[int, Ge(1)]
    seed: Annotated[int, Ge(0), Lt(MOST_SEED)] = 0

    @model_validator(mode="after")
    def fits_into_memory(self) -> "Generator":
        """Refuse numbers of rows and features that no machine holds."""
        if self.n * self.d > MOST_VALUES:
            raise ValueError(f"expected n * d to be {MOST_VALUES:,} at most")
        return self


class UnitBall(Generator):
    """Points drawn uniformly from the unit ball of R^d (Kar & Karnick 2012, section 6.2)."""

    name: Literal["unit_ball"]


class Dense(Generator):
    """Points drawn uniformly from the unit cube [0, 1)^d (for the synthetic data of Pham & Pagh 2013)."""

    name: Literal["dense"]


GeneratorSource: TypeAlias = Annotated[UnitBall | Dense, Field(discriminator="name")]


def unit_ball(spec: Generator, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return r u with u uniform on the sphere and r = U^(1/d), which is uniform in the ball."""
    X = rng.standard_normal((spec.n, spec.d))
    radius = rng.random((spec.n, 1)) ** (1 / spec.d)
    return X * (radius / np.linalg.norm(X, axis=1, keepdims=True))


def dense(spec: Generator, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return n x d numbers drawn uniformly from [0, 1)."""
    return rng.random((spec.n, spec.d))


GENERATORS: dict[str, Callable[[Generator, np.random.Generator], NDArray[np.float64]]] = {
    "unit_ball": unit_ball,
    "dense": dense,
}


def generate(spec: Any) -> dict[str, Part]:
    """Return the generated rows and their labels +1 and -1 as the part "train"."""
    rng = np.random.default_rng(spec.seed)
    X = GENERATORS[spec.name](spec, rng)
    centred = X - X.mean(axis=0)
    y = np.where(centred @ rng.standard_normal(spec.d) >= 0, 1, -1)
    return {"train": Part(X, y)}


def generator_fingerprint(spec: Any) -> str:
    """Return a hash over the specification and the generator's version, which determine the numbers."""
    text = json.dumps({**spec.model_dump(), "version": spec.algorithm_version}, sort_keys=True)
    return hashlib.sha256(f"kfeat generator {text}".encode()).hexdigest()
