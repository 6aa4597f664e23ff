"""Random Fourier features of shift-invariant kernels (Rahimi & Recht 2007), and sequences of points for them.

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
from functools import cache
from itertools import count
from typing import Any, Literal

import numpy as np
from numpy.lib.introspect import opt_func_info
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import fft, stats
from scipy.sparse import issparse

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian, ShiftInvariantKernel
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.parameters import Components

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


Phases = Callable[[Any], Array]  # (rows of X) -> a new array of <w_i, x>, frequencies as columns


class FourierFeatures(FeatureMap):
    """z(x) = sqrt(2 / D) (cos <w_1, x>, ..., sin <w_1, x>, ...) with frequencies_ w_i, (d, their number).

    The first frequencies have a cosine and a sine. The others have only a cosine, with the offsets_ added.
    """

    n_components: int
    frequencies_: Array
    offsets_: Array

    def _n_pairs(self) -> int:
        return self.n_components // 2

    def _n_frequencies(self) -> int:
        return self.n_components - self._n_pairs()

    def _phases(self, dtype: np.dtype[Any]) -> Phases:
        """Return the function that multiplies a dense or CSR block by the frequencies."""
        frequencies = self.frequencies_.astype(dtype)
        return lambda X: X @ frequencies

    def _scales(self) -> Array:
        """Return the factor of each frequency, or one factor sqrt(2 / D) for all, which is faster."""
        return np.array([np.sqrt(2 / self.n_components)])

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        phases_of, offsets, scales = (
            self._phases(dtype),
            self.offsets_.astype(dtype),
            self._scales().astype(dtype),
        )
        n_pairs, n_cosines = self._n_pairs(), self._n_frequencies()

        def map_block(X: Any, out: Array) -> None:
            check_size(X)
            phases = phases_of(X)
            phases[:, n_pairs:] += offsets
            write_waves(phases, scales, out[:, :n_cosines], out[:, n_cosines:])

        return map_block


def check_size(X: Any) -> None:
    """Raise DataError for rows with an entry so large that ||x||^2 overflows, as the exact kernel does."""
    values = X.data if issparse(X) else X
    largest = np.sqrt(np.finfo(values.dtype).max / X.shape[1])
    if values.size and max(values.max(), -values.min()) > largest:
        raise DataError(f"rows have entries above {largest:.1e}, whose squares overflow; scale them down")


@register("random_fourier")
class RandomFourier(FourierFeatures):
    """Random Fourier features of a kernel k(x - y), w from its spectrum (Rahimi & Recht 2007, Alg. 1).

    In float32 the phases <w, x> have rounding errors, which the Laplacian's rare huge frequencies magnify.
    With a sequence other than "mc", the frequencies are the spectrum's inverse distribution function at
    evenly spread points (quasi-Monte Carlo: Yang, Sindhwani, Avron & Mahoney 2014, Alg. 1). The kernel error
    is then smaller if the kernel depends mainly on few coordinates. All sequences are unbiased except the
    published Halton, which is not random.

    Parameters
    ----------
    kernel : any shift-invariant kernel, default exp(-||x - y||^2)
    n_components : int, default 100
        The number D of features.
    features : {"pairs", "offset"}, default "pairs"
        "offset" draws D frequencies: z_i(x) = sqrt(2 / D) cos(<w_i, x> + b_i), with b_i uniform on [0, 2 pi).
        "pairs" draws D / 2: z(x) = sqrt(2 / D) (cos <w_1, x>, ..., sin <w_1, x>, ...), which halves the cost
        of the product; <z(x), z(x)> = 1 (an odd D has one more cosine, with an offset).
    sequence : {"mc", "halton", "sobol", "lattice", "digital_net"}, default "mc"
        The points that give the frequencies: "mc" is random; `kfeat.maps.random_fourier.points` describes the
        others. An offset is one more coordinate of its point.
    scrambling : {"published", "random"}, default "published"
        How Halton's points are scrambled: by reverse radix, every 701st from the 1,000th on, without any
        randomness, as in Yang et al., or by random permutations of the digits. From 126 coordinates on use
        "random", since the 126th coordinate of the published points is almost constant. "sobol", "lattice"
        and "digital_net" are random in both cases, as published.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    frequencies_ : ndarray of shape (d, number of frequencies)
        The frequencies w_i, as columns.
    offsets_ : ndarray
        The b_i of the features that have one.

    Examples
    --------
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import RandomFourier
    >>> X, kernel = [[0.0, 0.0], [1.0, 1.0]], Gaussian(gamma=0.5)
    >>> Z = RandomFourier(kernel, n_components=4000, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.1)
    True
    """

    facts = Facts(
        cost="d D / 2",
        variance="(1 + k(2 (x - y)) - 2 k(x - y)^2) / D; most often less with a sequence",
        source="Rahimi & Recht 2007, Algorithm 1; sequences: Yang et al. 2014, Algorithm 1",
        use="shift-invariant kernels; nystrom where the spectrum of the Gram matrix decays fast",
    )
    approximates = ShiftInvariantKernel
    default_kernel = Gaussian()

    n_components: Components = 100
    features: Literal["pairs", "offset"] = "pairs"
    sequence: Sequence = "mc"
    scrambling: Scrambling = "published"

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        fixed = (self.sequence, self.scrambling) == ("halton", "published")
        return "the published Halton points are not random" if fixed else ""

    def _n_pairs(self) -> int:
        return super()._n_pairs() if self.features == "pairs" else 0

    def _draw(self, X: Any, rng: Generator) -> int:
        d, n_frequencies = X.shape[1], self._n_frequencies()
        needed = 8 * d * n_frequencies * (1 if self.sequence == "mc" else 3)
        self._check_memory(f"{n_frequencies:,} frequencies", needed)
        n_offsets = n_frequencies - self._n_pairs()
        if self.sequence == "mc":
            self.frequencies_ = self.kernel_.sample_frequencies(rng, (d, n_frequencies))
            self.offsets_ = rng.uniform(0, 2 * np.pi, n_offsets)
            return self.n_components
        n_uniforms = self.kernel_.n_uniforms(d)
        n_coordinates = n_uniforms + bool(n_offsets)
        U = points(self.sequence, n_frequencies, n_coordinates, rng, self.scrambling)
        self.frequencies_ = self.kernel_.frequencies_at(U[:, :n_uniforms])
        self.offsets_ = 2 * np.pi * U[n_frequencies - n_offsets :, -1]
        return self.n_components


@cache
def tangent_is_vector_code() -> bool:
    """Return whether NumPy has a tangent in vector code for this processor, which needs AVX-512."""
    loops = opt_func_info(func_name="^tan$").get("tan", {})
    return not str(loops.get("ff", {}).get("current", "baseline")).startswith("baseline")


def write_waves(phases: Array, scales: Array, cosines: Array, sines: Array) -> None:
    """Write scales * cos(phases), and scales * sin(phases) of the first columns, as many as `sines` has.

    It overwrites phases. There is one scale per column, or one for all.

    With t = tan(phase / 2), cos = 2 / (1 + t^2) - 1 and sin = 2 t / (1 + t^2), up to two eps. This needs one
    tangent instead of a sine and a cosine. With AVX-512 NumPy has vector code for the tangent, but not for
    sine and cosine in double precision: double precision became 8 times faster, single precision 1.3 times.
    Without AVX-512 only sine and cosine in single precision have vector code, which is 4 times faster.
    """
    n_pairs = sines.shape[1]
    if phases.dtype == np.float32 and not tangent_is_vector_code():
        np.multiply(np.sin(phases[:, :n_pairs], out=sines), scales[:n_pairs], out=sines)
        np.multiply(np.cos(phases, out=cosines), scales, out=cosines)
        return
    phases *= 0.5
    t = np.tan(phases, out=phases)
    weights = t * t
    weights += 1
    np.divide(2 * scales, weights, out=weights)
    np.multiply(t[:, :n_pairs], weights[:, :n_pairs], out=sines)
    np.subtract(weights, scales, out=cosines)
