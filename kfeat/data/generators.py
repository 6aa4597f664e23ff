"""Datasets without files of their own: generated, bundled with scikit-learn, or made from other files.

Those of the papers' toy experiments are drawn at once. `large_quadric` has any size: it is drawn and written
block by block, and read as a memory map.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray
from pydantic import Field, model_validator

from kfeat.batches import release, unnamed_file
from kfeat.data.base import MOST_SEED, Model, Task
from kfeat.data.cache import GENERATED, arrays_folder, parsed_once
from kfeat.data.dataset import Raw
from kfeat.data.matrix import Indices, Part
from kfeat.data.protocol import shuffled

BLOCK = 8192  # rows that one random stream draws, so that the first rows do not depend on n


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


def load_large(spec: LargeQuadric, cache: Path) -> Raw:
    """Return the data, mapped from the cache; they are generated there if the cache does not have them."""
    folder = arrays_folder(cache / GENERATED, spec.name, generator_fingerprint(spec))
    made = parsed_once(folder, {}, lambda: generate_large(spec, cache))
    return Raw(spec.name, spec.task, made.parts, recorded=made.fingerprint, verified=True)


def generate_large(spec: LargeQuadric, scratch: Path) -> Raw:
    """Return the generated rows as the part "train", with X in a temporary file of `scratch`."""
    X = unnamed_file((spec.n, spec.d), np.float32, scratch)
    y = np.empty(spec.n, np.int64 if spec.task == "classification" else np.float64)
    form = QuadraticForm(spec)
    for k, start in enumerate(range(0, spec.n, BLOCK)):
        rng = np.random.default_rng([spec.seed, k])
        block = rng.random((BLOCK, spec.d), dtype=np.float32) - np.float32(0.5)
        rows = slice(start, min(start + BLOCK, spec.n))
        X[rows] = block[: rows.stop - start]
        y[rows] = form.targets(block, rng)[: rows.stop - start]
        release(X)
    fingerprint = generator_fingerprint(spec)
    return Raw(spec.name, spec.task, {"train": Part(X, y)}, recorded=fingerprint, verified=True)


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


# Of the stand-in for Gisette.
SEED = 2003
ROWS, COLUMNS = slice(3, 18), slice(4, 24)  # the middle top part, where 4 and 9 differ
N_PIXELS, N_REAL = 140, 2500
N_TRAIN, N_TEST = 3000, 500  # of each digit


def digits() -> Raw:
    """Return scikit-learn's 1,797 digits of 8 x 8 pixels in 0..16, classes 0..9, as the part "train"."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Raw("digits", "classification", {"train": Part(X, y.astype(np.int64))})


def covertype_binary(uci: Raw) -> Raw:
    """Return Covertype as LIBSVM distributes it, made from UCI's file: the same numbers to the last bit.

    Each column is scaled to [0, 1] over all rows, to six digits; class 2 stays 2, the others become 1.
    """
    part = uci.parts["train"]
    X = np.empty(part.X.shape)
    for column, values in enumerate(part.X.T):
        kinds, which = np.unique(values, return_inverse=True)
        scaled = (kinds - kinds[0]) / (kinds[-1] - kinds[0])
        X[:, column] = np.array([float(f"{value:.6g}") for value in scaled])[which]
    return Raw("covertype", "classification", {"train": Part(X, np.where(part.y == 2, 2, 1))})


def gisette_mnist(mnist: Raw) -> Raw:
    """Return a stand-in for Gisette built from MNIST: 6,000 + 1,000 rows of 5,000 features, labels +1 and -1.

    Gisette (Guyon 2003, Design of experiments for the NIPS 2003 variable selection benchmark) was made of
    MNIST's 4s (+1) and 9s (-1): pixels sampled from the middle top part, products of pairs of them, and as
    many probes, features without meaning; values scaled to whole numbers in 0..999, the order of rows and
    features randomised. Which pixels and pairs were drawn is not published, so the numbers here differ from
    Gisette's: never call it that.
    """
    rng = np.random.default_rng(SEED)
    images = np.vstack([part.X for part in mnist.parts.values()])
    train, test = drawn_rows(mnist.y, rng)
    rows = np.concatenate([train, test])
    real = real_features(images[rows], rng)
    X = np.hstack([real, probes(real, rng)])[:, shuffled(rng, 2 * N_REAL)]
    y = np.where(mnist.y[rows] == 4, 1, -1)
    n = len(train)
    parts = {"train": Part(X[:n], y[:n]), "test": Part(X[n:], y[n:])}
    return Raw("gisette_mnist", "classification", parts)


def drawn_rows(digits: NDArray[np.int64], rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return as many 4s as 9s to train and to test, each in random order."""
    train, test = [], []
    for digit in (4, 9):
        rows = np.flatnonzero(digits == digit)
        rows = rows[shuffled(rng, len(rows))]
        train.append(rows[:N_TRAIN])
        test.append(rows[N_TRAIN : N_TRAIN + N_TEST])
    both = np.concatenate(train), np.concatenate(test)
    return both[0][shuffled(rng, len(both[0]))], both[1][shuffled(rng, len(both[1]))]


def real_features(images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.int16]:
    """Return sampled pixels and products of random pairs of them, scaled from 0..1 to 0..999."""
    area = images.reshape(-1, 28, 28)[:, ROWS, COLUMNS].reshape(len(images), -1)
    pixels = area[:, shuffled(rng, area.shape[1])[:N_PIXELS]] / 255
    first, second = (rng.random((2, N_REAL - N_PIXELS)) * N_PIXELS).astype(int)
    features = np.hstack([pixels, pixels[:, first] * pixels[:, second]])
    return np.rint(999 * features).astype(np.int16)


def probes(real: NDArray[np.int16], rng: np.random.Generator) -> NDArray[np.int16]:
    """Return each real feature with its rows permuted: the same distribution, but no information."""
    return np.column_stack([column[shuffled(rng, len(column))] for column in real.T])


RECIPES: dict[str, Callable[[Raw], Raw]] = {
    "covertype_binary": covertype_binary,
    "gisette_mnist": gisette_mnist,
}
