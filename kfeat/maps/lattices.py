"""Lattices and polynomial lattices whose generating vectors are built component by component.

Both are shifted at random. The points of a lattice are i z / N mod 1 with integers i and z below a prime N,
those of a polynomial lattice i(x) z(x) / P(x) with polynomials over the field of two elements, P of degree m,
written in base 2 (Niederreiter 1992). In both, i and z are powers of one generator of a cyclic group, so the
merit of all z is one correlation (Nuyens & Cools 2006).
"""

from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

BITS = 52  # of a digital shift: the middle of an interval of length 2^-52 is a double
TIE = 1e-9  # relative; beyond what the rounding of a transform can turn


def lattice_points(n: int, n_coordinates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return i z / N + shift mod 1 for i < n, where N is the least odd prime >= n, shape (n, n_coordinates).

    The generating vector z depends on N and the number of coordinates alone; `rng` draws the shift.
    """
    modulus = next(number for number in count(max(n, 3)) if _is_prime(number))
    powers = _powers_of_a_root(modulus)
    t = np.array(powers[: modulus // 2]) / modulus  # -1 is a power too, and omega the same at t and 1 - t
    exponents = component_by_component(t * t - t + 1 / 6, n_coordinates)
    z = np.array(powers)[exponents]
    shifted: NDArray[np.float64] = np.outer(np.arange(n), z) % modulus / modulus
    shifted += rng.random(n_coordinates)
    return np.mod(shifted, 1.0, out=shifted)


def digital_net_points(n: int, n_coordinates: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the first n of the 2^m >= n points of a polynomial lattice, with a random digital shift.

    The generating vector depends on m and the number of coordinates alone; `rng` draws the shift.
    """
    m = max(1, (n - 1).bit_length())
    powers, values = _polynomial_lattice(m)
    # 2^floor(log2 t) by its exponent; 1/6 - 2^(floor(log2 t) - 1) at t = value / 2^m
    omega = 1 / 6 - np.ldexp(0.5, np.frexp(values)[1] - 1 - m)
    exponents = component_by_component(omega, n_coordinates)
    logarithm = np.empty(2**m, dtype=np.int64)
    logarithm[powers] = np.arange(len(powers))
    net = np.zeros((n, n_coordinates), dtype=np.int64)
    net[1:] = values[np.add.outer(logarithm[1:n], exponents) % len(powers)]
    net <<= BITS - m
    net ^= rng.integers(2**BITS, size=n_coordinates)
    U: NDArray[np.float64] = (net.astype(np.float64) + 0.5) / 2.0**BITS
    return U


def component_by_component(omega: NDArray[np.float64], n_coordinates: int) -> NDArray[np.int64]:
    """Return the exponents of a generating vector, each the best one after those before it.

    With the points g^a g^b, omega[a + b] the kernel of one coordinate there and L = len(omega) its period,
    coordinate j takes the b that minimises sum_a p[a] omega[a + b], where p[a] = prod_{k < j}
    (1 + gamma omega[a + b_k]): the worst-case error over a Sobolev space, averaged over shifts (Sloan, Kuo &
    Joe 2002; digital shifts: Dick & Pillichshammer 2005). All coordinates weigh the same, gamma = 1 / their
    number, since a kernel treats them alike. Ties go to the least b, whatever the rounding.
    """
    gamma = 1 / n_coordinates
    spectrum, p = rfft(omega), np.ones_like(omega)
    exponents = np.empty(n_coordinates, dtype=np.int64)
    for j in range(n_coordinates):
        merit = irfft(np.conj(rfft(p)) * spectrum, len(omega))
        margin = TIE * np.abs(omega).sum()
        exponents[j] = np.flatnonzero(merit <= merit.min() + margin)[0]
        p *= 1 + gamma * np.roll(omega, -exponents[j])
    return exponents


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _powers_of_a_root(modulus: int) -> list[int]:
    """Return g^0, g^1, ... mod a prime, for the least g that generates all its remainders but 0."""

    def powers_of(root: int) -> list[int]:
        return _cycle(lambda power: power * root % modulus)

    return next(powers for root in count(2) if len(powers := powers_of(root)) == modulus - 1)


def _polynomial_lattice(m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return x^a modulo the least primitive P of degree m, and the first m bits of x^a / P, a < 2^m - 1.

    A polynomial is the integer of its coefficients' bits. Bit r of x^a / P is 1 where x^(a + r - 1) has
    degree m - 1: there the next multiplication by x takes P off.
    """

    def powers_of_x(P: int) -> list[int]:
        return _cycle(lambda power: power << 1 ^ (P if power >> (m - 1) else 0))

    order = 2**m - 1
    powers = np.array(next(p for P in count(2**m + 1, 2) if len(p := powers_of_x(P)) == order))
    leading = powers >> (m - 1)
    return powers, np.asarray(sum(np.roll(leading, -r) << (m - 1 - r) for r in range(m)))


def _cycle(step: Callable[[int], int]) -> list[int]:
    """Return 1, step(1), step(step(1)), ... as far as the element before the next 1."""
    powers = [1]
    while (power := step(powers[-1])) != 1:
        powers.append(power)
    return powers
