"""Tensor Sketch's estimate Z = <z(x), z(y)> of <x, y>^p: its variance, bounds, and measurements.

The exact variance, with fully random hashes h_k and signs s_k: let F_k(f) = sum_i s_k(i) x_i w^(f h_k(i))
be the spectrum of x's k-th count sketch (w a primitive D-th root of 1), and G_k that of y's. By Parseval's
theorem Z = sum_f prod_k F_k(f) conj(G_k(f)) / D, so that E Z^2 = sum_{f, g} M(f, g)^p / D^2, with

    M(f, g) = E F(f) conj(G(f)) conj(F(g)) G(g) = a + b [f = g] + c [f = -g mod D],
    a = <x, y>^2,   b = ||x||^2 ||y||^2 - q,   c = <x, y>^2 - q,   q = sum_i x_i^2 y_i^2,

since only those terms of E s(i) s(j) s(k) s(l) x_i y_j x_k y_l are not 0 in which the indices are pairwise
equal: i = j and k = l (a), i = k and j = l (b), i = l and j = k (c). Let e be the number of f with f = -f mod
D: 1 for odd D and 2 for even D. Then

    D Var Z = (1 - e/D) ((a + b)^p + (a + c)^p - 2 a^p) + (e/D) ((a + b + c)^p - a^p).

For p = 1 this is Var Z = (b + c) / D, Lemma 2. Lemma 6 applies Lemma 2 to x^(p), which needs signs that are
4-wise independent; the signs of x^(p), products of p independent ones, are not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from kfeat.diagnostics import sampled_rows
from kfeat.errors import DataError, UnsupportedKernelError
from kfeat.experiments.measures import Clock
from kfeat.kernels import Linear, Polynomial
from kfeat.memory import check_memory

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
    x, y = (with_parameters(points, kernel) for points in (x, y))
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


def exact_variance(pairs: Pairs) -> Numbers:
    """Return Var Z of Tensor Sketch with fully random hashes, shape (m,), as derived above."""
    a, b, c = _terms(pairs)
    p, e = pairs.degree, (2 - pairs.D % 2) / pairs.D
    apart = (a + b) ** p + (a + c) ** p - 2 * a**p
    return ((1 - e) * apart + e * ((a + b + c) ** p - a**p)) / pairs.D


def _terms(pairs: Pairs) -> tuple[Numbers, Numbers, Numbers]:
    a, q = pairs.inner**2, pairs.overlap
    return a, pairs.norms - q, a - q


def lemma_6(pairs: Pairs) -> Numbers:
    """Return (<x, y>^2p + ||x||^2p ||y||^2p) / D, for p = 1 the bound of Lemma 3.

    For p >= 2 it is below the variance unless <x, y>^2 is small compared with ||x||^2 ||y||^2.
    """
    p = pairs.degree
    return (pairs.inner ** (2 * p) + pairs.norms**p) / pairs.D


def extended(pairs: Pairs) -> Numbers:
    """Return ((2 <x, y>^2 + ||x||^2 ||y||^2 - 2 q)^p - <x, y>^2p) / D, with q as above.

    It is cited from the authors' extended version (arXiv 2505.08146); its conditions are not known here.

    It is ((a + b + c)^p - a^p) / D: the variance itself for p = 1 or D <= 2. Otherwise it is a bound if
    c >= 0, since t^p is convex and so (a + b)^p + (a + c)^p <= a^p + (a + b + c)^p. If c < 0 < b, that is
    <x, y>^2 < q, the inequality is reversed, and the variance is larger.
    """
    a, b, c = _terms(pairs)
    return ((a + b + c) ** pairs.degree - a**pairs.degree) / pairs.D


def corrected(pairs: Pairs) -> Numbers:
    """Return ((a + b + |c|)^p - a^p) / D, which bounds the variance for all x and y.

    a + b + |c| = max(2 <x, y>^2 + ||x||^2 ||y||^2 - 2 q, ||x||^2 ||y||^2): the bound `extended` if
    <x, y>^2 >= q, else (||x||^2p ||y||^2p - <x, y>^2p) / D. It is at most (3^p - 1) ||x||^2p ||y||^2p / D.
    """
    a, b, c = _terms(pairs)
    return ((a + b + np.abs(c)) ** pairs.degree - a**pairs.degree) / pairs.D


VARIANCE_BOUNDS: dict[int | str, Callable[[Pairs], Numbers]] = {
    6: lemma_6,
    "extended": extended,
    "corrected": corrected,
}


def tensor_power(x: Numbers, degree: int) -> Numbers:
    """Return x^(p), the tensor product of each of m points with itself, p times, shape (m, d^p)."""
    power = x
    for _ in range(degree - 1):
        power = np.einsum("mi,mj->mij", power, x).reshape(len(x), -1)
    return power


def tensor_error(pairs: Pairs) -> float:
    """Return the largest |<x^(p), y^(p)> - <x, y>^p| over its bound by rounding, d^p eps ||x||^p ||y||^p."""
    p, (m, d) = pairs.degree, pairs.x.shape
    check_memory("the tensor product of the pairs", 24 * m * d**p, "take fewer rows or features", DataError)
    products = np.einsum("mi,mi->m", tensor_power(pairs.x, p), tensor_power(pairs.y, p))
    rounding = np.finfo(np.float64).eps * d**p * pairs.norms ** (p / 2)
    return float((np.abs(products - pairs.kernel) / rounding).max())


def largest_product(pairs: Pairs) -> float:
    """Return R^2p with R the largest 1-norm of all points: Lemma 8's bound of |Z|."""
    return float(max(np.abs(points).sum(axis=1).max() for points in (pairs.x, pairs.y)) ** (2 * pairs.degree))


def lemma_7(pairs: Pairs, sketches: int) -> tuple[Numbers, Numbers]:
    """Return errors eps <x, y>^p and the bounds 2 / (D eps^2 cos^2p) of their probability, shape (k, m)."""
    eps = np.array([[0.25], [0.5], [1.0], [2.0]])
    cosine = pairs.inner**2 / pairs.norms
    return eps * np.abs(pairs.kernel), 2 / (pairs.D * eps**2 * cosine**pairs.degree)


def lemma_9(pairs: Pairs, sketches: int) -> tuple[Numbers, Numbers]:
    """Return errors eps and the bounds 2 exp(-t eps^2 / (2 R^4p)) for averages of t sketches, shape (k, m).

    The eps are 1/2, 1, 2 and 3 standard deviations of such an average, where errors occur.
    """
    deviation = np.sqrt(exact_variance(pairs) / sketches)
    eps = np.array([[0.5], [1.0], [2.0], [3.0]]) * deviation
    return eps, 2 * np.exp(-sketches * eps**2 / (2 * largest_product(pairs) ** 2))


def lemma_10(pairs: Pairs, sketches: int) -> tuple[Numbers, Numbers]:
    """Return errors eps ||x||^2p and the least 2 delta that Lemma 10 allows for y = x, shape (k, m).

    With u = log(1 / delta) its conditions D >= 72 u / eps^2 and max |x^(p)| / ||x^(p)|| <=
    eps / (18 sqrt(u (u + log D))) hold up to u = D eps^2 / 72 and up to the root of u^2 + u log D = (eps /
    (18 max |x^(p)| / ||x^(p)||))^2. It says nothing (2 delta >= 1) unless u > log 2, so never for D < 50.
    """
    eps = np.array([[0.25], [0.5], [0.75], [0.95]])
    norms = np.linalg.norm(pairs.x, axis=1)
    peak = (np.abs(pairs.x).max(axis=1) / norms) ** pairs.degree
    log_D = np.log(pairs.D)
    root = (np.sqrt(log_D**2 + 4 * (eps / (18 * peak)) ** 2) - log_D) / 2
    return eps * norms ** (2 * pairs.degree), 2 * np.exp(-np.minimum(pairs.D * eps**2 / 72, root))
