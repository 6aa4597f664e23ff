"""Pairs of points at a given angle, and a map's estimates <z(x), z(y)> of their kernel over many draws."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from kfeat.diagnostics import sampled_rows
from kfeat.errors import DataError, UnsupportedKernelError
from kfeat.experiments.measures.base import Clock
from kfeat.kernels import Linear, Polynomial

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """m pairs of points x, y (m, d) whose kernel is <x, y>^p, and the number D of the map's features.

    The parameters of (gamma <x, y> + coef0)^p are included in the points: (sqrt(gamma) x, sqrt(coef0)).
    """

    x: Numbers
    y: Numbers
    degree: int
    D: int

    @cached_property
    def inner(self) -> Numbers:
        """Return <x, y>, shape (m,)."""
        return np.einsum("ij,ij->i", self.x, self.y)

    @property
    def kernel(self) -> Numbers:
        """Return k(x, y) = <x, y>^p, shape (m,)."""
        return self.inner**self.degree

    @cached_property
    def norms(self) -> Numbers:
        """Return ||x||^2 ||y||^2, shape (m,)."""
        return np.einsum("ij,ij->i", self.x, self.x) * np.einsum("ij,ij->i", self.y, self.y)

    @cached_property
    def overlap(self) -> Numbers:
        """Return sum_i x_i^2 y_i^2, shape (m,)."""
        return np.einsum("ij,ij->i", self.x**2, self.y**2)


@dataclass(frozen=True)
class Estimates:
    """The inner products <z(x), z(y)> of pairs for n draws of the map, shape (n, m)."""

    pairs: Pairs
    products: Numbers

    @property
    def errors(self) -> Numbers:
        """Return <z(x), z(y)> - k(x, y), shape (n, m)."""
        return self.products - self.pairs.kernel


def estimates(
    feature_map: Any, X: Any, clock: Clock, seed: int, *, cosine: float, n_rows: int, n_draws: int
) -> Estimates:
    """Return the estimates of an unfitted map for pairs whose first points are rows sampled from X (n, d).

    `cosine` is that of the angle between the rows of a pair, which have the same norm.

    Raises UnsupportedKernelError if the kernel is not a polynomial, and DataError if a row has no pair.
    """
    rows, _ = sampled_rows(X, n_rows, seed)
    x = np.asarray(rows.toarray() if issparse(rows) else rows)
    y = partners(x, cosine)
    both = x if y is x else np.vstack([x, y])  # one call of `transform` costs less than two
    drawn, products = clone(feature_map), np.empty((n_draws, len(x)))
    with clock("draws"):
        for i in range(n_draws):
            drawn.set_params(random_state=[feature_map.random_state, i]).fit(x)
            Z = np.asarray(drawn.transform(both), dtype=np.float64)
            products[i] = np.einsum("ij,ij->i", Z[: len(x)], Z[-len(x) :])
    kernel = Polynomial(degree=1) if isinstance(drawn.kernel_, Linear) else drawn.kernel_
    if not isinstance(kernel, Polynomial):
        raise UnsupportedKernelError(
            f"the lemmas are about polynomial kernels, got {kernel!r}; measure it by kernel_error"
        )
    x, y = (with_parameters(each, kernel) for each in (x, y))
    return Estimates(Pairs(x, y, kernel.degree, feature_map.n_components), products)


def partners(x: NDArray[Any], cosine: float) -> NDArray[Any]:
    """Return for each row a y of the same norm with <x, y> = cosine ||x||^2; x itself for the cosine 1.

    y = cosine x + sqrt(1 - cosine^2) ||x|| u. The unit vector u has the direction of the part of the row
    before x that is orthogonal to x.
    """
    if cosine == 1:
        return x
    points = x.astype(np.float64)
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    before = np.roll(points, 1, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = points / norms
        away = before - (before * unit).sum(axis=1, keepdims=True) * unit
        lengths = np.linalg.norm(away, axis=1, keepdims=True)
        y = cosine * points + np.sqrt(1 - cosine**2) * norms * away / lengths
    if not (lengths > 1e-6 * np.linalg.norm(before, axis=1, keepdims=True)).all():
        raise DataError(
            f"pairs at the cosine {cosine:g} need rows that are not zero and not parallel to each other, "
            "and some are; take other data, or cosine = 1"
        )
    return y.astype(x.dtype)


def with_parameters(x: NDArray[Any], kernel: Polynomial) -> Numbers:
    """Return (sqrt(gamma) x, sqrt(coef0)), whose inner products to the power p are the kernel."""
    constant = np.full((len(x), 1), np.sqrt(kernel.coef0))
    return np.hstack([np.sqrt(kernel.gamma) * x.astype(np.float64), constant])
