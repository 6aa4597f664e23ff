"""Lattices and polynomial lattices whose generating vectors are built component by component.

Both are shifted at random. The points of a lattice are i z / N mod 1 with integers i and z below a prime N,
those of a polynomial lattice i(x) z(x) / P(x) with polynomials over the field of two elements, P of degree m,
written in base 2 (Niederreiter 1992). In both, i and z are powers of one generator of a cyclic group, so the
merit of all z is one correlation (Nuyens & Cools 2006).

Where not all points are wanted, the first ones must be even as well. So the order of the points is that of
one more coordinate, which is left out: what is even together with it is even in the part where it is small.
"""

from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy import fft

BITS = 52  # of a digital shift: the middle of an interval of length 2^-52 is a double
TIE = 1e-9  # relative; beyond what the rounding of a transform can turn


def lattice_points(n: int, n_coordinates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return i z / N + shift mod 1 for i < n, where N is the least odd prime >= n, shape (n, n_coordinates).

    The generating vector z depends on N and the number of coordinates alone; `rng` draws the shift. There are
    N // 2 different coordinates up to the shift, so that beyond those some are equal.
    """
    modulus = next(number for number in count(max(n, 3)) if _is_prime(number))
    powers = _powers_of_a_root(modulus)
    t = np.array(powers[: modulus // 2]) / modulus  # -1 is a power too, and omega the same at t and 1 - t
    exponents = component_by_component(t * t - t + 1 / 6, n_coordinates + 1)
    z = np.array(powers)[exponents[1:]]  # the first z is 1: its coordinate is i / N, the order of the points
    shifted: NDArray[np.float64] = np.outer(np.arange(n), z) % modulus / modulus
    shifted += rng.random(n_coordinates)
    return np.mod(shifted, 1.0, out=shifted)


def digital_net_points(n: int, n_coordinates: int, rng: np.random.Generator) -> NDArray[np.float64]:
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
    U: NDArray[np.float64] = (net.astype(np.float64) + 0.5) / 2.0**BITS
    return U


def component_by_component(omega: NDArray[np.float64], n_coordinates: int) -> NDArray[np.int64]:
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
