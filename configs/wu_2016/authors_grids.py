"""The grids that the program of Wu et al. draws, for columns.yaml: so its numbers of columns must be equal.

Their widths are drawn by C++'s `std::gamma_distribution(2, 1 / rate)` on `std::default_random_engine`, as the
GNU library has them, and their shifts by C's `rand()` after `srandom(0)`, as glibc has it. A grid has d + 1
columns, of which the first is always 0. So every run of theirs has the same grids.
"""

from math import log, sqrt

import numpy as np

from kfeat.maps import RandomBinning

MODULUS, FACTOR = 2**31 - 1, 16807  # of minstd_rand0, and of the seeds of rand()
DEGREE, SEPARATION, DISCARDED = 31, 3, 310  # of rand(): r_i = r_{i-3} + r_{i-31}


class AuthorsBinning(RandomBinning):
    """Random binning with the grids that the program of Wu et al. (KDD 2016) draws at this gamma and R.

    Its cells are those of the rows that it is fitted to. Wu et al. count those of all rows, so that
    `columns.yaml` fits it to training and test rows together. `random_state` has no effect.

    Parameters
    ----------
    kernel : Laplacian
        The kernel; gamma is their sigma, which is a rate.
    n_components : int, default 100
        The number R of grids.
    """

    def _draw_grids(self, rng, shape):
        R, d = shape
        size = R * (d + 1)
        widths = np.array(gamma_draws(size)) / self.kernel_.gamma
        shifts = np.array(rand(size)) / MODULUS
        return widths.reshape(R, d + 1)[:, 1:].copy(), -shifts.reshape(R, d + 1)[:, 1:]


class Columns:
    """Measures D, the number of columns of a map's features, which is that of the cells of the rows."""

    def of(self, feature_map, X):
        """Return D of the map fitted to X (n, d)."""
        return {"D": len(feature_map.fit(X).get_feature_names_out())}


def rand(n):
    """Return the first n numbers of glibc's rand() after srandom(0), which is srandom(1)."""
    r = [1]
    for _ in range(1, DEGREE):
        r.append(FACTOR * r[-1] % MODULUS)
    r += r[:SEPARATION]
    for i in range(DEGREE + SEPARATION, DEGREE + SEPARATION + DISCARDED + n):
        r.append((r[i - SEPARATION] + r[i - DEGREE]) % 2**32)
    return [value >> 1 for value in r[DEGREE + SEPARATION + DISCARDED :]]


def gamma_draws(n):
    """Return n draws of Gamma(2, 1) by the method of Marsaglia and Tsang (2000), as libstdc++ has it."""
    uniform = _uniforms()
    normal = _normals(uniform)
    a = 2 - 1 / 3
    c = 1 / sqrt(9 * a)
    draws = []
    while len(draws) < n:
        x = next(normal)
        v = 1 + c * x
        if v <= 0:
            continue
        v = v * v * v
        u = next(uniform)
        if u > 1 - 0.0331 * x * x * x * x and log(u) > 0.5 * x * x + a * (1 - v + log(v)):
            continue
        draws.append(a * v)
    return draws


def _uniforms():
    """Yield std::generate_canonical<double, 53> of minstd_rand0 from its default seed 1."""
    state, span = 1, MODULUS - 1
    while True:
        first = state = state * FACTOR % MODULUS
        second = state = state * FACTOR % MODULUS
        yield ((first - 1.0) + (second - 1.0) * span) / (span * span)


def _normals(uniform):
    """Yield std::normal_distribution: the polar method, whose second number is the first that it returns."""
    while True:
        x, y = 2 * next(uniform) - 1, 2 * next(uniform) - 1
        square = x * x + y * y
        if square > 1 or square == 0:
            continue
        factor = sqrt(-2 * log(square) / square)
        yield y * factor
        yield x * factor
