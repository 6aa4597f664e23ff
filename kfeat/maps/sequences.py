"""Point sets that fill the unit cube more evenly than random points do, for quasi-Monte Carlo features.

The generating vectors of lattices and polynomial lattices are built component by component, and both are
shifted at random. The points of a lattice are i z / N mod 1 with integers i and z below a prime N,
those of a polynomial lattice i(x) z(x) / P(x) with polynomials over the field of two elements, P of degree m,
written in base 2 (Niederreiter 1992). In both, i and z are powers of one generator of a cyclic group, so the
merit of all z is one correlation (Nuyens & Cools 2006).

Where not all points are wanted, the first ones must be even as well. So the order of the points is that of
one more coordinate, which is left out: what is even together with it is even in the part where it is small.
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
CONSTANT = 126  # 701 is the 126th prime: this coordinate, counted from 1, keeps its first digit
SOBOL_BITS = 30
BITS = 52  # of a digital shift: the middle of an interval of length 2^-52 is a double
TIE = 1e-9  # relative; beyond what the rounding of a transform can turn
TINY = 2.0**-53  # no coordinate is nearer to 0 or 1: inverse distribution functions are infinite there


def points(sequence: Sequence, n: int, n_coordinates: int, rng: Generator, scrambling: Scrambling) -> Array:
    """Return n points of the open unit cube, shape (n, n_coordinates).

    "mc": random points; "halton": Halton's sequence, scrambled as published (`leaped_halton`) or by random
    permutations of the digits; "sobol": Sobol's with a random linear scramble and digital shift (these two by
    SciPy); "lattice": a rank-1 lattice with a random shift; "digital_net": a polynomial lattice with a random
    digital shift (both below).
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


def leaped_halton(n: int, n_coordinates: int, skip: int = SKIP, stride: int = STRIDE) -> Array:
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


def _sobol(n: int, n_coordinates: int, rng: Generator) -> Array:
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


def lattice_points(n: int, n_coordinates: int, rng: Generator) -> Array:
    """Return i z / N + shift mod 1 for i < n, where N is the least odd prime >= n, shape (n, n_coordinates).

    The generating vector z depends on N and the number of coordinates alone; `rng` draws the shift. There are
    N // 2 different coordinates up to the shift, so that beyond those some are equal.
    """
    modulus = next(number for number in count(max(n, 3)) if _is_prime(number))
    powers = _powers_of_a_root(modulus)
    t = np.array(powers[: modulus // 2]) / modulus  # -1 is a power too, and omega the same at t and 1 - t
    exponents = component_by_component(t * t - t + 1 / 6, n_coordinates + 1)
    z = np.array(powers)[exponents[1:]]  # the first z is 1: its coordinate is i / N, the order of the points
    shifted: Array = np.outer(np.arange(n), z) % modulus / modulus
    shifted += rng.random(n_coordinates)
    return np.mod(shifted, 1.0, out=shifted)


def digital_net_points(n: int, n_coordinates: int, rng: Generator) -> Array:
    """Return the first n of the 2^m >= n points of a polynomial lattice, with a random digital shift.

    The generating vector depends on m and the number of coordinates alone; `rng` draws the shift. There are
    2^m - 1 different coordinates up to the shift, so that beyond those some are equal.
    """
    m = max(1, int(n - 1).bit_length())
    values = _polynomial_lattice(m)
    # 2^floor(log2 t) by its exponent; 1/6 - 2^(floor(log2 t) - 1) at t = value / 2^m
    omega = 1 / 6 - np.ldexp(0.5, np.frexp(values)[1] - 1 - m)
    exponents = component_by_component(omega, n_coordinates + 1)[1:]
    logarithm = np.empty(2**m, dtype=np.int64)  # of the i whose first coordinate, where z is 1, is value
    logarithm[values] = np.arange(len(values))
    net = np.zeros((n, n_coordinates), dtype=np.int64)
    net[1:] = values[np.add.outer(logarithm[1:n], exponents) % len(values)]
    net <<= BITS - m
    net ^= rng.integers(2**BITS, size=n_coordinates)
    return (net.astype(np.float64) + 0.5) / 2.0**BITS


def component_by_component(omega: Array, n_coordinates: int) -> NDArray[np.int64]:
    """Return the exponents of a generating vector, each the best one after those before it.

    With the points g^a g^b, omega[a + b] the kernel of one coordinate there and L = len(omega) its period,
    coordinate j takes the b that minimises sum_a p[a] omega[a + b], where p[a] = prod_{k < j}
    (1 + gamma omega[a + b_k]): the worst-case error over a Sobolev space, averaged over shifts (Sloan, Kuo &
    Joe 2002; digital shifts: Dick & Pillichshammer 2005). All coordinates weigh the same, since a kernel
    treats them alike. The first exponent is 0, and no other: that coordinate is the order of the points.
    """
    gamma, margin = weight(n_coordinates), TIE * np.abs(omega).sum()
    spectrum, p = fft.rfft(omega), np.ones_like(omega)
    exponents = np.zeros(n_coordinates, dtype=np.int64)
    for j in range(n_coordinates):
        if j and len(omega) > 1:
            merit = fft.irfft(np.conj(fft.rfft(p)) * spectrum, len(omega))[1:]
            exponents[j] = 1 + np.flatnonzero(merit <= merit.min() + margin)[0]  # ties: the least
        p *= 1 + gamma * np.roll(omega, -exponents[j])
    return exponents


def weight(n_coordinates: int) -> float:
    """Return gamma: small enough for the product over many coordinates, 1 for a few."""
    return min(1.0, 3 / n_coordinates)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _powers_of_a_root(modulus: int) -> list[int]:
    """Return g^0, g^1, ... mod a prime, for the least g that generates all its remainders but 0."""

    def powers_of(root: int) -> list[int]:
        return _cycle(lambda power: power * root % modulus)

    return next(powers for root in count(2) if len(powers := powers_of(root)) == modulus - 1)


def _polynomial_lattice(m: int) -> NDArray[np.int64]:
    """Return the first m bits of x^a / P, where P is the least primitive polynomial of degree m, a < 2^m - 1.

    A polynomial is the integer of its coefficients' bits. Bit r of x^a / P is 1 where x^(a + r - 1) has
    degree m - 1: there the next multiplication by x takes P off.
    """

    def powers_of_x(P: int) -> list[int]:
        return _cycle(lambda power: power << 1 ^ (P if power >> (m - 1) else 0))

    order = 2**m - 1
    powers = np.array(next(p for P in count(2**m + 1, 2) if len(p := powers_of_x(P)) == order))
    leading = powers >> (m - 1)
    return np.asarray(sum(np.roll(leading, -r) << (m - 1 - r) for r in range(m)))


def _cycle(step: Callable[[int], int]) -> list[int]:
    """Return 1, step(1), step(step(1)), ... as far as the element before the next 1."""
    powers = [1]
    while (power := step(powers[-1])) != 1:
        powers.append(power)
    return powers
