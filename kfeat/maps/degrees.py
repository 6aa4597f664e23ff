"""The distributions from which Random Maclaurin draws a feature's degree N."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kfeat.errors import UnsupportedKernelError
from kfeat.kernels import Kernel
from kfeat.kernels.base import squared_norms
from kfeat.maps.gaussian import decay, series_of

NEGLIGIBLE = 2.0**-64  # probability left beyond the table of an infinite series
MAX_DEGREE = 4096  # where the table ends at the latest
QUANTILES = 512


class Degrees(NamedTuple):
    """Degrees drawn, shape (D,), and for each the weight a_N / P(N), 0 where the series has no such term."""

    degrees: NDArray[np.int64]
    weights: NDArray[np.float64]


def geometric(
    rng: np.random.Generator, kernel: Kernel, n: int, base: float, first: int, even: bool = False
) -> Degrees:
    """Return n draws of P(N) = (p - 1) p^-(N + 1), given N >= first (Kar & Karnick 2012, Algorithm 1).

    Not truncated: a degree without a term in the series has weight 0. (Printed as p^-(N + 1), which is a
    distribution for p = 2 only.) `even` spreads the draws: see `evenly`.
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


def truncated(
    rng: np.random.Generator, kernel: Kernel, n: int, base: float, first: int, even: bool = False
) -> Degrees:
    """Return n draws of P(N) in proportion to p^-(N + 1) over the N >= first with a term in the series."""
    last = int(np.ceil(-np.log(NEGLIGIBLE) / np.log(base)))
    a = terms(kernel, last)
    logs = np.where(a > 0, -np.arange(len(a)) * np.log(base), -np.inf)
    return from_table(rng, kernel, n, a, first, logs, even)


def proportional(
    rng: np.random.Generator, kernel: Kernel, n: int, X: Any, first: int, even: bool = False
) -> Degrees:
    """Return n draws of P(N) in proportion to a_N mean(||x||^2N): the size of each term of k(x, x) on X.

    The mean is over quantiles of the norms; the weights make the map unbiased for any P. The Gaussian's terms
    are exp(-2 gamma ||x||^2) a_N ||x||^2N.
    """
    a = terms(kernel, MAX_DEGREE)
    norms = np.quantile(squared_norms(X), (np.arange(QUANTILES) + 0.5) / QUANTILES)
    with np.errstate(divide="ignore"):  # in logarithms, since powers of norms overflow
        powers = special.xlogy(np.arange(len(a))[:, None], norms) - 2 * decay(kernel) * norms
        logs = np.log(a) + special.logsumexp(powers, axis=1)
    return from_table(rng, kernel, n, a, first, logs, even)


def from_table(
    rng: np.random.Generator,
    kernel: Kernel,
    n: int,
    a: NDArray[np.float64],
    first: int,
    logs: NDArray[np.float64],
    even: bool = False,
) -> Degrees:
    """Return n draws of P(N) in proportion to exp(logs[N]) over N >= first."""
    logs = np.where(np.arange(len(logs)) < first, -np.inf, logs)
    if logs.max() == -np.inf:
        raise UnsupportedKernelError(
            f"{kernel!r} has no terms of degree >= {first} to sample on these data: set h01=False and "
            'constant=True, or degree_law="geometric", whose columns are then zero'
        )
    probabilities = np.exp(logs - special.logsumexp(logs))
    probabilities /= probabilities.sum()
    if even:
        last = int(np.flatnonzero(probabilities)[-1])  # where rounding leaves the sum below 1
        degrees = np.searchsorted(np.cumsum(probabilities), evenly(rng, n), side="right").clip(max=last)
    else:
        degrees = rng.choice(len(logs), size=n, p=probabilities)
    return Degrees(degrees, a[degrees] / probabilities[degrees])


def evenly(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Return n numbers, each uniform on [0, 1), one in every interval of 1 / n (systematic sampling).

    Draws by them have their distribution one by one, which keeps a map unbiased, and each degree occurs
    within 1 of its expected number of times, which takes the variance of the degrees away.
    """
    numbers: NDArray[np.float64] = (np.arange(n) + rng.random()) / n
    return numbers.clip(max=1 - 2.0**-53)


def terms(kernel: Kernel, last: int) -> NDArray[np.float64]:
    """Return the coefficients to the end of the series, or up to degree `last` where it has none."""
    end = series_of(kernel).last_degree
    return coefficients(kernel, (min(last, MAX_DEGREE) if end is None else end) + 1)


def coefficients(kernel: Kernel, n_terms: int) -> NDArray[np.float64]:
    """Return a_0 .. a_{n_terms - 1}, or raise UnsupportedKernelError where one is negative."""
    a = series_of(kernel).maclaurin(n_terms)
    if (a < 0).any():
        n = int(np.argmax(a < 0))
        raise UnsupportedKernelError(
            f"Random Maclaurin needs a series without negative coefficients, got a_{n} = {a[n]:g} "
            f"of {kernel!r}: such a kernel is not positive definite in every dimension"
        )
    if not np.isfinite(a).all():
        n = int(np.argmin(np.isfinite(a)))
        raise UnsupportedKernelError(
            f"the coefficient a_{n} of {kernel!r} is beyond double precision: use a lower degree or gamma, "
            "or a larger sigma"
        )
    return a
