"""Sequences of points in the unit cube for random Fourier features: random, Halton, Sobol, lattices.

The generating vectors of lattices and polynomial lattices are built component by component, and both are
shifted at random. The points of a lattice are i z / N mod 1 with integers i and z below a prime N. Those of a
polynomial lattice are i(x) z(x) / P(x) in base 2, with polynomials over the field of two elements, P of
degree m (Niederreiter 1992). In both, i and z are powers of one generator of a cyclic group, so the merit of
all z is one correlation (Nuyens & Cools 2006).

If only the first points are used, they must be evenly spread as well. So the points are ordered by one more
coordinate, which is left out: points that are evenly spread together with it are so where it is small.
"""

import warnings
from collections.abc import Callable
from itertools import count
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import fft, stats

from kfeat.errors import ParameterError
from kfeat.maps.base import Array

Sequence = Literal["mc", "halton", "sobol", "lattice", "digital_net"]
Scrambling = Literal["published", "random"]
SKIP, STRIDE = 1000, 701  # "skip 1000, leap 700" of Yang et al. (2014): points 1000, 1701, 2402, ...
CONSTANT = 126  # 701 is the 126th prime: this coordinate, counted from 1, has a constant first digit
SOBOL_BITS = 30
BITS = 52  # bits of a digital shift: the middle of an interval of length 2^-52 is a double
TIE = 1e-9  # relative tolerance of ties, larger than the rounding errors of a transform
TINY = 2.0**-53  # smallest distance to 0 and 1, where inverse distribution functions are infinite


def points(sequence: Sequence, n: int, n_coordinates: int, rng: Generator, scrambling: Scrambling) -> Array:
    """Return n points of the open unit cube, shape (n, n_coordinates).

    "mc": random points; "halton": Halton's sequence, scrambled as published (`leaped_halton`) or by random
    permutations of the digits; "sobol": Sobol's with a random linear scramble and digital shift (these two by
    SciPy); "lattice": a rank-1 lattice with a random shift; "digital_net": a polynomial lattice with a random
    digital shift (both below).
    All except the published Halton are random: each point is uniform on the cube, so means are unbiased.
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


def leaped_halton(n: int, n_coordinates: int, skip: int = SKIP, stride: int = STRIDE) -> Array:
    """Return the points skip + k stride of the Halton sequence with RR2 scrambling; nothing is random.

    Coordinate j is the radical inverse sum_i pi(a_i) b^-(i+1) of the index sum_i a_i b^i, where b is the j-th
    prime and pi = `reverse_radix(b)` (Kocis & Whiten 1997; Matlab's haltonset with scramble "RR2", whose
    index 0 is the origin). Yang et al. (2014) use it.
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
    """Return RR2's permutation of the digits: 0, 1, 2, ... with their bits reversed, without those >= base.

    Its first element is 0, so that the infinitely many leading zeros of an index stay zeros.
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


def _sobol(n: int, n_coordinates: int, rng: Generator) -> Array:
    if n_coordinates > stats.qmc.Sobol.MAXDIM:
        raise ParameterError(
            f"sequence: 'sobol' has at most {stats.qmc.Sobol.MAXDIM:,} coordinates, and this map needs "
            f"{n_coordinates:,}: use 'lattice' or 'digital_net'"
        )
    engine = stats.qmc.Sobol(n_coordinates, bits=SOBOL_BITS, seed=rng)
    # SciPy needs a power of two; the last points of the sequence are left out.
    U = engine.random_base2(int(n - 1).bit_length())[:n]
    return U + 0.5**SOBOL_BITS / 2  # the middle of each of 2^30 intervals


def _warn_of_the_constant_coordinate(n_coordinates: int) -> None:
    if n_coordinates >= CONSTANT:
        warnings.warn(
            f"sequence: the published Halton points (every {STRIDE}th) are almost constant in coordinate "
            f"{CONSTANT}, whose base is {STRIDE}, and this map needs {n_coordinates:,} coordinates: use "
            "scrambling='random', or another sequence",
            UserWarning,
            stacklevel=5,  # of the call to fit
        )


def lattice_points(n: int, n_coordinates: int, rng: Generator) -> Array:
    """Return i z / N + shift mod 1 for i < n, where N is the least odd prime >= n, shape (n, n_coordinates).

    The generating vector z depends only on N and the number of coordinates; `rng` draws the shift. There are
    N // 2 different coordinates up to the shift; with more coordinates some are equal.
    """
    modulus = next(number for number in count(max(n, 3)) if _is_prime(number))
    powers = _powers_of_a_root(modulus)
    t = np.array(powers[: modulus // 2]) / modulus  # half of them: -1 is a power, and omega(t) = omega(1 - t)
    exponents = component_by_component(t * t - t + 1 / 6, n_coordinates + 1)
    z = np.array(powers)[exponents[1:]]  # the first z is 1: its coordinate i / N orders the points
    shifted: Array = np.outer(np.arange(n), z) % modulus / modulus
    shifted += rng.random(n_coordinates)
    return np.mod(shifted, 1.0, out=shifted)


def digital_net_points(n: int, n_coordinates: int, rng: Generator) -> Array:
    """Return the first n of the 2^m >= n points of a polynomial lattice, with a random digital shift.

    The generating vector depends only on m and the number of coordinates; `rng` draws the shift. There are
    2^m - 1 different coordinates up to the shift; with more coordinates some are equal.
    """
    m = max(1, int(n - 1).bit_length())
    values = _polynomial_lattice(m)
    # 2^floor(log2 t) by its exponent; 1/6 - 2^(floor(log2 t) - 1) at t = value / 2^m
    omega = 1 / 6 - np.ldexp(0.5, np.frexp(values)[1] - 1 - m)
    exponents = component_by_component(omega, n_coordinates + 1)[1:]
    logarithm = np.empty(2**m, dtype=np.int64)  # of the i whose coordinate with z = 1 is value
    logarithm[values] = np.arange(len(values))
    net = np.zeros((n, n_coordinates), dtype=np.int64)
    net[1:] = values[np.add.outer(logarithm[1:n], exponents) % len(values)]
    net <<= BITS - m
    net ^= rng.integers(2**BITS, size=n_coordinates)
    return (net.astype(np.float64) + 0.5) / 2.0**BITS


def component_by_component(omega: Array, n_coordinates: int) -> NDArray[np.int64]:
    """Return the exponents of a generating vector, each the best one given those before it.

    The points are g^a g^b, omega[a + b] is the kernel of one coordinate there, and L = len(omega) its period.
    Coordinate j takes the b that minimises sum_a p[a] omega[a + b], where p[a] = prod_{k < j}
    (1 + gamma omega[a + b_k]): the worst-case error over a Sobolev space, averaged over shifts (Sloan, Kuo &
    Joe 2002; digital shifts: Dick & Pillichshammer 2005). All coordinates have the same weight, since a
    kernel treats them equally. Only the first exponent is 0: its coordinate orders the points.
    """
    gamma, margin = weight(n_coordinates), TIE * np.abs(omega).sum()
    spectrum, p = fft.rfft(omega), np.ones_like(omega)
    exponents = np.zeros(n_coordinates, dtype=np.int64)
    for j in range(n_coordinates):
        if j and len(omega) > 1:
            merit = fft.irfft(np.conj(fft.rfft(p)) * spectrum, len(omega))[1:]
            exponents[j] = 1 + np.flatnonzero(merit <= merit.min() + margin)[0]  # the least one of ties
        p *= 1 + gamma * np.roll(omega, -exponents[j])
    return exponents


def weight(n_coordinates: int) -> float:
    """Return gamma: 1 for few coordinates, smaller for many so that the product stays small."""
    return min(1.0, 3 / n_coordinates)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _powers_of_a_root(modulus: int) -> list[int]:
    """Return g^0, g^1, ... mod a prime, for the least g that generates all remainders except 0."""

    def powers_of(root: int) -> list[int]:
        return _cycle(lambda power: power * root % modulus)

    return next(powers for root in count(2) if len(powers := powers_of(root)) == modulus - 1)


def _polynomial_lattice(m: int) -> NDArray[np.int64]:
    """Return the first m bits of x^a / P, where P is the least primitive polynomial of degree m, a < 2^m - 1.

    A polynomial is stored as the integer of its coefficients' bits. Bit r of x^a / P is 1 if x^(a + r - 1)
    has degree m - 1: then the next multiplication by x subtracts P.
    """

    def powers_of_x(P: int) -> list[int]:
        return _cycle(lambda power: power << 1 ^ (P if power >> (m - 1) else 0))

    order = 2**m - 1
    powers = np.array(next(p for P in count(2**m + 1, 2) if len(p := powers_of_x(P)) == order))
    leading = powers >> (m - 1)
    return np.asarray(sum(np.roll(leading, -r) << (m - 1 - r) for r in range(m)))


def _cycle(step: Callable[[int], int]) -> list[int]:
    """Return 1, step(1), step(step(1)), ... up to the element before the next 1."""
    powers = [1]
    while (power := step(powers[-1])) != 1:
        powers.append(power)
    return powers
