"""Random Fourier features of shift-invariant kernels (Rahimi & Recht 2007)."""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.lib.introspect import opt_func_info
from numpy.random import Generator
from scipy.sparse import issparse

from kfeat.errors import DataError
from kfeat.kernels import Gaussian, ShiftInvariantKernel
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.maps.sequences import Scrambling, Sequence, points
from kfeat.parameters import Components

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
        The points that give the frequencies: "mc" is random; `kfeat.maps.sequences.points` describes the
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
