"""Tools for maps of a series k(x, y) = sum_n a_n <x, y>^n: its terms, degrees, and variances on pairs.

The Gaussian kernel is included: it is exp(-g ||x||^2) exp(-g ||y||^2) exp(2 g <x, y>), so its features are
those of exp(2 g <x, y>), each row multiplied by exp(-g ||x||^2) (Cotter, Keshet & Srebro 2011, section 3).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse

from kfeat.errors import UnsupportedKernelError
from kfeat.kernels import DotProductKernel, Exponential, Gaussian, Kernel
from kfeat.kernels.base import number
from kfeat.kernels.distances import inner_products, squared_norms
from kfeat.maps.base import Array

NEGLIGIBLE = 2.0**-64  # probability beyond the table of an infinite series
MAX_DEGREE = 4096  # the largest degree of the table
QUANTILES = 512
Pairs = Array  # a number for each pair


def series_of(kernel: Kernel) -> DotProductKernel:
    """Return the kernel whose features `damp` turns into those of `kernel`: itself unless it is Gaussian."""
    if isinstance(kernel, Gaussian):
        return Exponential(sigma=float(np.sqrt(0.5 / number(kernel, "gamma"))))
    assert isinstance(kernel, DotProductKernel)  # `supports` accepts no other
    return kernel


def decay(kernel: Kernel) -> float:
    """Return the g of the factors exp(-g ||x||^2) of rows: 0 for a dot-product kernel."""
    return number(kernel, "gamma") if isinstance(kernel, Gaussian) else 0.0


def damp(kernel: Kernel, X: Any, out: Array) -> None:
    """Multiply the rows of `out` by exp(-g ||x||^2) if the kernel is Gaussian.

    In a product of many factors this must come first, so that no intermediate product overflows.
    """
    if isinstance(kernel, Gaussian):
        out *= np.exp(-out.dtype.type(decay(kernel)) * squared_norms(X))[:, None]


def terms(kernel: Kernel, last: int) -> Array:
    """Return all coefficients of a finite series, or those up to degree `last` of an infinite one."""
    end = series_of(kernel).last_degree
    return coefficients(kernel, (min(last, MAX_DEGREE) if end is None else end) + 1)


def coefficients(kernel: Kernel, n_terms: int) -> Array:
    """Return a_0 .. a_{n_terms - 1}; raises UnsupportedKernelError if one is not finite."""
    a = series_of(kernel).maclaurin(n_terms)
    if not np.isfinite(a).all():
        n = int(np.argmin(np.isfinite(a)))
        raise UnsupportedKernelError(
            f"the coefficient a_{n} of {kernel!r} is beyond double precision: use a lower degree or gamma, "
            "or a larger sigma"
        )
    return a


class Degrees(NamedTuple):
    """Random degrees N, shape (D,), and their weights a_N / P(N), 0 if the series has no such term."""

    degrees: NDArray[np.int64]
    weights: Array


def draw_degrees(
    rng: Generator,
    law: str,
    kernel: Kernel,
    n: int,
    X: Any,
    base: float = 2.0,
    first: int = 0,
    even: bool = False,
) -> Degrees:
    """Return n draws of N >= first; the map is unbiased for any P. With `even` they are drawn by `evenly`.

    "geometric": see `geometric`. "truncated": in proportion to p^-(N + 1), p = base, over the N with a term
    in the series. "proportional": in proportion to a_N mean(||x||^2N), the size of each term of k(x, x) on X,
    with the mean over quantiles of the norms; the Gaussian's terms are exp(-2 gamma ||x||^2) a_N ||x||^2N.
    """
    if law == "geometric":
        return geometric(rng, kernel, n, base, first, even)
    if law == "truncated":
        a = terms(kernel, int(np.ceil(-np.log(NEGLIGIBLE) / np.log(base))))
        logs = np.where(a > 0, -np.arange(len(a)) * np.log(base), -np.inf)
    else:
        a = terms(kernel, MAX_DEGREE)
        norms = np.quantile(squared_norms(X), (np.arange(QUANTILES) + 0.5) / QUANTILES)
        live = np.flatnonzero(a)  # few of the table: 1 / n! is 0 beyond n = 177
        # In logarithms, since powers of norms overflow.
        powers = special.xlogy(live[:, None], norms) - 2 * decay(kernel) * norms
        logs = np.full(len(a), -np.inf)
        logs[live] = np.log(a[live]) + special.logsumexp(powers, axis=1)
    logs = np.where(np.arange(len(logs)) < first, -np.inf, logs)
    if logs.max() == -np.inf:
        raise UnsupportedKernelError(
            f"{kernel!r} has no terms of degree >= {first} to sample on these data: set h01=False and "
            'constant=True, or degree_law="geometric", whose columns are then zero'
        )
    probabilities = np.exp(logs - special.logsumexp(logs))
    probabilities /= probabilities.sum()
    if even:
        last = int(np.flatnonzero(probabilities)[-1])  # rounding may leave the sum below 1
        degrees = np.searchsorted(np.cumsum(probabilities), evenly(rng, n), side="right").clip(max=last)
    else:
        degrees = rng.choice(len(logs), size=n, p=probabilities)
    return Degrees(degrees, a[degrees] / probabilities[degrees])


def geometric(rng: Generator, kernel: Kernel, n: int, base: float, first: int, even: bool = False) -> Degrees:
    """Return n draws of P(N) = (p - 1) p^-(N + 1), given N >= first (Kar & Karnick 2012, Algorithm 1).

    It is not truncated: a degree without a term in the series has weight 0. (The paper prints p^-(N + 1),
    which is a distribution only for p = 2.)
    """
    if even:
        degrees = first + (-np.log1p(-evenly(rng, n)) / np.log(base)).astype(np.int64)
    else:
        degrees = first + rng.geometric(1 - 1 / base, size=n) - 1
    a = coefficients(kernel, int(degrees.max()) + 1)[degrees]
    live = np.flatnonzero(a)
    weights = np.zeros(n)
    weights[live] = a[live] / ((base - 1) * float(base) ** (first - degrees[live] - 1.0))
    return Degrees(degrees, weights)


def evenly(rng: Generator, n: int) -> Array:
    """Return n numbers, each uniform on [0, 1), one in every interval of 1 / n (systematic sampling).

    Each degree that is drawn by them alone has its distribution, so a map stays unbiased. The number of times
    that a degree occurs differs by less than 1 from its mean, which removes the variance of the degrees.
    """
    numbers: Array = (np.arange(n) + rng.random()) / n
    return numbers.clip(max=1 - 2.0**-53)


def in_order(degrees: NDArray[np.int64], live: NDArray[np.bool_]) -> tuple[Array, ...]:
    """Return the degrees sorted by their numbers of factors, these numbers, and the order.

    So the features with a j-th factor are the last ones. A zero column has no factors, whatever its degree.
    """
    factors = np.where(live, degrees, 0)
    order = np.argsort(factors, kind="stable")
    return degrees[order], factors[order], order


class SampledPairs(NamedTuple):
    """Statistics of pairs x, y, as one-dimensional arrays.

    `values` is k(x, y), `damping` exp(-g (||x||^2 + ||y||^2)) with g of the Gaussian, otherwise 1; `sizes`
    s = ||x|| ||y||, `cosines` c = <x, y> / s, and `shares` sum_i x_i^2 y_i^2 / s^2.
    """

    values: Pairs
    damping: Pairs
    sizes: Pairs
    cosines: Pairs
    shares: Pairs

    def moment(self) -> Pairs:
        """Return E[<w, x>^2 <w, y>^2] / s^2 over random signs: 1 + 2 c^2 - 2 shares."""
        return 1 + 2 * (self.cosines**2 - self.shares)

    def complex_moments(self) -> tuple[Pairs, Pairs]:
        """Return E|U|^2 / s^2 and E[U^2] / s^2 of U = <w, x> conj<w, y> over complex signs."""
        return 1 + self.cosines**2 - self.shares, 2 * self.cosines**2 - self.shares

    def variance(self, degree: int, kind: str) -> Pairs:
        """Return D Var / s^2p for D columns that are products of p = degree "real" or "complex" signs.

        Real: (1 + 2 c^2 - 2 q)^p - c^2p, with q the shares; complex: (1 + c^2 - q)^p + (2 c^2 - q)^p - 2 c^2p
        (Wacker, Kanagawa & Filippone 2022, arXiv 2201.08712; Wacker, Ohana & Filippone 2022, 2202.02031).
        """
        if kind == "real":
            return self.moment() ** degree - self.cosines ** (2 * degree)
        absolute, pseudo = self.complex_moments()
        return absolute**degree + pseudo**degree - 2 * self.cosines ** (2 * degree)

    def tensor_sketch_variance(self, degree: int, n_buckets: int) -> Pairs:
        """Return Var / s^2p of a Tensor Sketch of p = degree fully random hashes into D = n_buckets.

        It is A / D + r (B - A) / D^2, with A and B the numerators of complex and of real signs in `variance`,
        and r = 1 for odd D, 2 for even D: in the terms that only real signs have, two sums of hashes, u + v
        and u - v, must both be 0, which for even D happens for two v.
        """
        crossed = self.variance(degree, "complex") / n_buckets
        rest = self.variance(degree, "real") - self.variance(degree, "complex")
        return crossed + (2 - n_buckets % 2) * rest / n_buckets**2 if n_buckets > 1 else crossed + rest


def sampled_pairs(kernel: Kernel, X: Any, n_rows: int, rng: Generator) -> SampledPairs:
    """Return the pairs of different rows among up to `n_rows` rows of X, drawn without replacement."""
    n = X.shape[0]
    rows = X if n <= n_rows else X[np.sort(rng.choice(n, size=n_rows, replace=False))]
    rows = rows.astype(np.float64)
    squared = rows.multiply(rows).tocsr() if issparse(rows) else rows**2
    norms = squared_norms(rows)
    first, second = np.triu_indices(len(norms), k=int(len(norms) > 1))
    sizes = np.sqrt(norms[first] * norms[second])
    scale = np.where(sizes > 0, sizes, 1)
    return SampledPairs(
        values=kernel(rows)[first, second],
        damping=np.exp(-decay(kernel) * (norms[first] + norms[second])),
        sizes=sizes,
        cosines=inner_products(rows, rows)[first, second] / scale,
        shares=inner_products(squared, squared)[first, second] / scale / scale,
    )
