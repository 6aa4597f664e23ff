"""Count sketches with their hashes, and their spectra, by a product with roots of unity or by FFT."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import DTypeLike, NDArray
from scipy import fft
from scipy.sparse import csr_array, issparse

from kfeat.errors import ParameterError
from kfeat.maps.base import Array, random_signs

Library = Literal["scipy", "ducc0"]
PRIME = 2**31 - 1  # products of two residues fit into 64 bits
# Up to so many features a product of 2 d D operations per row by BLAS is faster than a count sketch and its
# FFT: the whole map was 2.4 to 3.9 times faster at d = 8, 1.5 to 2.1 times at 54, and 0.9 to 1.4 times at
# 123; the lower numbers are for AVX2 alone, the higher ones for AVX-512.
FEW_FEATURES = 64
MANY_ROOTS = 2**20  # more numbers than this in the matrices of roots do not fit in a core's cache


class CountSketch:
    """The sketch (Cx)_j = sum of s(i) x_i over the features i with h(i) = j, plus one constant feature.

    `buckets` h and `values` s (signs times a scale) have d + 1 entries; the last is for the constant feature,
    whose value is added to its bucket without a change of X.
    """

    def __init__(self, buckets: NDArray[np.int64], values: Array, n_buckets: int) -> None:
        self.buckets, self.values = buckets[:-1].astype(np.int32), values[:-1]
        self.constant_bucket, self.constant = int(buckets[-1]), values[-1]
        self.n_buckets = n_buckets
        shape = (n_buckets, len(self.buckets))
        self.matrix = csr_array((self.values, (self.buckets, np.arange(shape[1]))), shape=shape)

    def __call__(self, block: Any) -> Array:
        """Return the sketches of the n rows of an arranged block, shape (n, D).

        Dense: one sparse product on (features x rows) adds up whole rows of the block. CSR: the column
        indices are hashed; the conversion to a dense array adds up the values of each bucket.
        """
        sketch: Array
        if issparse(block):
            hashed = (block.data * self.values[block.indices], self.buckets[block.indices], block.indptr)
            sketch = csr_array(hashed, shape=(block.shape[0], self.n_buckets)).toarray()
        else:
            sketch = (self.matrix @ block).T
        if self.constant:
            sketch[:, self.constant_bucket] += self.constant
        return sketch


def arranged(X: Any) -> Any:
    """Return a block in the form that `CountSketch` takes: dense as (features x rows), CSR unchanged."""
    return X if issparse(X) else np.ascontiguousarray(X.T)


def random_tables(
    rng: Generator, degree: int, d: int, n_buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return fully random hashes h: [d] -> [n_buckets] and signs s: [d] -> {-1, 1}, shapes (degree, d)."""
    buckets = rng.integers(n_buckets, size=(degree, d))
    return buckets, random_signs(rng, (degree, d))


def universal_tables(
    rng: Generator, degree: int, d: int, n_buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return hashes ((a i + b) mod P) mod D from a 2-wise independent family (Carter & Wegman 1979).

    P = 2^31 - 1; the bias of the last modulus is below D / P.
    """
    i = np.arange(d, dtype=np.int64)
    a, b = rng.integers(PRIME, size=(2, 2, degree, 1))
    residues = (a * i + b) % PRIME
    return residues[0] % n_buckets, (1 - 2 * (residues[1] % 2)).astype(np.int8)


def product_with_roots(
    buckets: NDArray[np.int64], values: Array, D: int, dtype: DTypeLike
) -> Callable[[Any], Array]:
    """Return the function from blocks `with_ones` to the spectra of their count sketches.

    F_k = sum over the features i of x_i values_i exp(-2 pi i k buckets_i / D), a product with a matrix of
    shape (d + 1, frequencies); k = 0 .. D / 2 for real values, as in `rfft`, and k < D for complex ones.
    """
    complex_type = np.result_type(dtype, np.complex64)
    n_frequencies = D if np.iscomplexobj(values) else D // 2 + 1
    roots = np.exp(-2j * np.pi / D * np.arange(D))
    turns = np.multiply.outer(buckets, np.arange(n_frequencies)) % D
    matrix = (roots[turns] * values[:, None]).astype(complex_type).view(dtype)  # Re F_0, Im F_0, Re F_1, ...
    return lambda block: (block @ matrix).view(complex_type)


def product_is_quicker(degree: int, d: int, D: int) -> bool:
    """Return whether products take less time than FFTs for sketches of d features into D real numbers."""
    return d <= FEW_FEATURES and degree * (d + 1) * D <= MANY_ROOTS


def with_ones(X: Any) -> Array:
    """Return the rows of a block as a dense array, with the constant feature 1 as the last column."""
    n, d = X.shape
    block = np.ones((n, d + 1), X.dtype)
    block[:, :d] = X.toarray() if issparse(X) else X
    return block


def convolved(
    sketches: Sequence[Callable[[Any], Array]], transform: Callable[[Array], Array], block: Any
) -> Array:
    """Return the product of the transforms of a block's sketches: the spectrum of their convolution."""
    product = transform(sketches[0](block))
    for sketch in sketches[1:]:
        product *= transform(sketch(block))
    return product


class FFTs(NamedTuple):
    """The transforms along axis 1; the inverse ones may overwrite the spectrum; `irfft` writes into `out`."""

    rfft: Callable[[Array], Array]
    fft: Callable[[Array], Array]
    irfft: Callable[[Array, Array], None]
    ifft: Callable[[Array], Array]


def ffts(library: Library) -> FFTs:
    """Return the transforms of a library; raises ParameterError if ducc0 is not installed.

    ducc0 (Reinecke) is a newer version of the code in SciPy. It uses AVX if possible, and was 1.4 to 1.9
    times faster in single precision. Its last digits depend on the processor; SciPy's do not.
    """
    if library == "scipy":
        return FFTs(
            rfft=partial(fft.rfft, axis=1),
            fft=partial(fft.fft, axis=1),
            irfft=_irfft,
            ifft=partial(fft.ifft, axis=1, overwrite_x=True),
        )
    if find_spec("ducc0") is None:
        raise ParameterError("fft: ducc0 is not installed; `pip install ducc0` installs it")
    from ducc0.fft import c2c, c2r, r2c

    def irfft(spectrum: Array, out: Array) -> None:
        c2r(spectrum, axes=(1,), lastsize=out.shape[1], forward=False, inorm=2, out=out,
            allow_overwriting_input=True)  # fmt: skip

    return FFTs(
        rfft=lambda rows: r2c(rows, axes=(1,)),
        fft=lambda rows: c2c(rows, axes=(1,)),
        irfft=irfft,
        ifft=lambda spectrum: c2c(spectrum, axes=(1,), forward=False, inorm=2, out=spectrum),
    )


def _irfft(spectrum: Array, out: Array) -> None:
    out[:] = fft.irfft(spectrum, n=out.shape[1], axis=1, overwrite_x=True)
