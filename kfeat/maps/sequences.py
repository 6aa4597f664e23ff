"""Point sets that fill the unit cube more evenly than random points do, for quasi-Monte Carlo features."""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kfeat.errors import ParameterError
from kfeat.maps.lattices import digital_net_points, lattice_points

Sequence = Literal["mc", "halton", "sobol", "lattice", "digital_net"]
Scrambling = Literal["published", "random"]

SKIP, STRIDE = 1000, 701  # "skip 1000, leap 700" of Yang et al. (2014): points 1000, 1701, 2402, ...
CONSTANT = 126  # 701 is the 126th prime: this coordinate, counted from 1, keeps its first digit
SOBOL_BITS = 30
TINY = 2.0**-53  # no coordinate is nearer to 0 or 1: inverse distribution functions are infinite there


def points(
    sequence: Sequence, n: int, n_coordinates: int, rng: np.random.Generator, scrambling: Scrambling
) -> NDArray[np.float64]:
    """Return n points of the open unit cube, shape (n, n_coordinates).

    "mc": random points; "halton": Halton's sequence, scrambled as published (`leaped_halton`) or by random
    permutations of the digits; "sobol": Sobol's with a random linear scramble and digital shift (these two by
    SciPy); "lattice": a rank-1 lattice with a random shift; "digital_net": a polynomial lattice with a random
    digital shift (both from `kfeat.maps.lattices`).
    All but the published Halton are random, each point uniform on the cube, so that means are unbiased.
    """
    if sequence == "mc":
        U = rng.random((n, n_coordinates))
    elif sequence == "sobol":
        U = _sobol(n, n_coordinates, rng)
    elif sequence == "lattice":
        U = lattice_points(n, n_coordinates, rng)
    elif sequence == "digital_net":
        U = digital_net_points(n, n_coordinates, rng)
    elif scrambling == "random":
        # The name is `seed` until SciPy 1.15, which also has `rng`.
        U = stats.qmc.Halton(n_coordinates, seed=rng).random(n)
    else:
        _warn_of_the_constant_coordinate(n_coordinates)
        U = leaped_halton(n, n_coordinates)
    return np.clip(U, TINY, 1 - TINY, out=U)


def leaped_halton(n: int, n_coordinates: int, skip: int = SKIP, stride: int = STRIDE) -> NDArray[np.float64]:
    """Return the points skip + k stride of the Halton sequence with RR2 scrambling; nothing is random.

    Coordinate j is the radical inverse sum_i pi(a_i) b^-(i+1) of the index sum_i a_i b^i, where b is the j-th
    prime and pi = `reverse_radix(b)` (Kocis & Whiten 1997; Matlab's haltonset with scramble "RR2", whose
    index 0 is the origin). Yang et al. (2014) take this one.
    """
    index = skip + stride * np.arange(n)
    U = np.zeros((n, n_coordinates))
    for column, base in zip(U.T, _primes(n_coordinates), strict=True):
        permutation = reverse_radix(int(base))
        rest, weight = index, 1.0
        while rest.any():
            rest, digit = np.divmod(rest, base)
            weight /= base
            column += weight * permutation[digit]
    return U


def reverse_radix(base: int) -> NDArray[np.int64]:
    """Return RR2's permutation of the digits: 0, 1, 2, ... with their bits reversed, less those >= base.

    Its first element is 0, so that the leading zeros of an index, which have no end, stay zeros.
    """
    n_bits = (base - 1).bit_length()
    number = np.arange(2**n_bits)
    reversed_bits = sum((number >> bit & 1) << (n_bits - 1 - bit) for bit in range(n_bits))
    return np.asarray(reversed_bits)[reversed_bits < base]


def _primes(count: int) -> NDArray[np.int64]:
    """Return the first primes; the count-th is below count (ln count + ln ln count) from the sixth on."""
    limit = max(13, int(count * (np.log(count) + np.log(np.log(max(count, 3))))) + 1)
    is_prime = np.ones(limit + 1, dtype=bool)
    is_prime[:2] = False
    for number in range(2, int(limit**0.5) + 1):
        is_prime[number * number :: number] &= not is_prime[number]
    return np.flatnonzero(is_prime)[:count]


def _sobol(n: int, n_coordinates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    if n_coordinates > stats.qmc.Sobol.MAXDIM:
        raise ParameterError(
            f"sequence: 'sobol' has {stats.qmc.Sobol.MAXDIM:,} coordinates at most, and this map needs "
            f"{n_coordinates:,}: take 'lattice' or 'digital_net'"
        )
    engine = stats.qmc.Sobol(n_coordinates, bits=SOBOL_BITS, seed=rng)
    # A power of two is what SciPy wants; the points that are left out are the sequence's last.
    U = engine.random_base2(int(n - 1).bit_length())[:n]
    return U + 0.5**SOBOL_BITS / 2  # from the lower end of each of 2^30 intervals to its middle


def _warn_of_the_constant_coordinate(n_coordinates: int) -> None:
    if n_coordinates >= CONSTANT:
        warnings.warn(
            f"sequence: the published Halton points (every {STRIDE}th) are all but constant in coordinate "
            f"{CONSTANT}, whose base is {STRIDE}, and this map needs {n_coordinates:,} coordinates: take "
            "scrambling='random', or another sequence",
            UserWarning,
            stacklevel=5,  # of the call to fit
        )
