"""Tensor Sketch: polynomial kernels by count sketches (Pham & Pagh 2013); recursive sketches.

This module also has what similar maps share: their kernels, count sketches with their hashes, and the spectra
of count sketches, by a product with roots of unity or by FFT.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import DTypeLike, NDArray
from scipy import fft
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from kfeat.errors import ParameterError
from kfeat.kernels import Kernel, Linear, Polynomial
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, random_signs, register
from kfeat.parameters import Components

Library = Literal["scipy", "ducc0"]
PRIME = 2**31 - 1  # products of two residues fit into 64 bits
# Up to so many features a product of 2 d D operations per row by BLAS is faster than a count sketch and its
# FFT: the whole map was 2.4 to 3.9 times faster at d = 8, 1.5 to 2.1 times at 54, and 0.9 to 1.4 times at
# 123; the lower numbers are for AVX2 alone, the higher ones for AVX-512.
FEW_FEATURES = 64
MANY_ROOTS = 2**20  # more numbers than this in the matrices of roots do not fit in a core's cache


class PolynomialSketch(FeatureMap):
    """A map of (gamma <x, y> + coef0)^p = <x', y'>^p, with x' = (sqrt(gamma) x, sqrt(coef0))."""

    approximates = Polynomial | Linear
    default_kernel = Polynomial(degree=2)

    def _kernel_for(self, X: Any, rng: Generator) -> Kernel:
        kernel = super()._kernel_for(X, rng)
        return Polynomial(degree=1) if isinstance(kernel, Linear) else kernel

    def _scales(self) -> Array:
        """Return the factors of x' for (x, 1), shape (d + 1,)."""
        scales = np.full(int(self.n_features_in_) + 1, np.sqrt(self.kernel_.gamma))
        scales[-1] = np.sqrt(self.kernel_.coef0)
        return scales


@register("tensor_sketch")
class TensorSketch(PolynomialSketch):
    """Tensor Sketch of the polynomial kernel (gamma <x, y> + coef0)^p (Pham & Pagh 2013, Algorithm 1).

    z(x) = FFT^-1(FFT(C_1 x) * ... * FFT(C_p x)), with p independent count sketches C_k of (sqrt(gamma) x,
    sqrt(coef0)) into D = n_components buckets. Unbiased, and
    Var <z(x), z(y)> <= ((2^(p+1) - 2) / D + 2 (3^p - 2^(p+1) + 1) / D^2) ||x||^2p ||y||^2p (norms with the
    constant feature), for D > 1 at most (3^p - 1) ||x||^2p ||y||^2p / D (Avron, Nguyen & Woodruff 2014).

    Cost: at least p + 1 real FFTs of length D per row; a prime D makes them about six times slower. For few
    features a product with roots of unity replaces all of them but the last.

    Parameters
    ----------
    kernel : Polynomial or Linear (then the map is a count sketch), default <x, y>^2
    n_components : int, default 100
        The number D of features.
    domain : {"real", "frequency"}, default "real"
        "frequency" leaves the last FFT out; by Parseval's theorem the inner products are the same.
    hashing : {"table", "universal"}, default "table"
        Whether hashes are fully random tables, or drawn from a 2-wise independent family.
    constant : {"sqrt", "published"}, default "sqrt"
        "published" appends coef0 instead of sqrt(coef0), as the authors' program does; the approximated
        kernel, `kernel_`, then has coef0^2.
    fft : {"scipy", "ducc0"}, default "scipy"
        The library that computes the FFTs. With ducc0 (`pip install ducc0`) the map is up to 1.5 times
        faster; features differ by rounding, and their last digits depend on the processor.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    buckets_, signs_ : ndarray of shape (p, d + 1)
        The hashes and the signs of each count sketch; the last column is for the constant feature.

    Examples
    --------
    >>> from kfeat.kernels import Polynomial
    >>> from kfeat.maps import TensorSketch
    >>> X = [[0.6, 0.8], [0.8, 0.6]]
    >>> kernel = Polynomial(degree=2, coef0=1.0)
    >>> Z = TensorSketch(kernel, n_components=4096, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.5)  # the values of the kernel are 3.84 and 4
    True
    """

    min_rows: ClassVar[int] = 32  # measured: 1.1 times faster than 64 at d = D = 5,000
    facts = Facts(
        cost="p d + p D log D",
        variance="<= ((2^(p+1) - 2) / D + 2 (3^p - 2^(p+1) + 1) / D^2) ||x||^2p ||y||^2p",
        source="Pham & Pagh 2013, Algorithm 1",
        use="polynomial kernels of degrees up to 4 or 5, sparse data, many features",
    )

    n_components: Components = 100
    domain: Literal["real", "frequency"] = "real"
    hashing: Literal["table", "universal"] = "table"
    constant: Literal["sqrt", "published"] = "sqrt"
    fft: Library = "scipy"

    def _draw(self, X: Any, rng: Generator) -> int:
        ffts(self.fft)  # raises now if the library is missing
        if self.constant == "published":
            self.kernel_ = clone(self.kernel_).set_params(coef0=float(self.kernel_.coef0) ** 2)
        tables = random_tables if self.hashing == "table" else universal_tables
        self.buckets_, self.signs_ = tables(rng, self.kernel_.degree, X.shape[1] + 1, self.n_components)
        return self.n_components

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        D, tables = self.n_components, zip(self.buckets_, self.signs_ * self._scales(), strict=True)
        transforms = ffts(self.fft)
        if product_is_quicker(self.kernel_.degree, self.n_features_in_, D):
            sketches: list[Any] = [product_with_roots(*table, D, dtype) for table in tables]
            arrange: Any = with_ones
            transform: Any = np.asarray  # the products are spectra already
        else:
            sketches = [CountSketch(buckets, values.astype(dtype), D) for buckets, values in tables]
            arrange, transform = arranged, transforms.rfft
        write = transforms.irfft if self.domain == "real" else self._write_frequency

        def map_block(X: Any, out: Array) -> None:
            write(convolved(sketches, transform, arrange(X)), out)

        return map_block

    def _write_frequency(self, spectrum: Array, out: Array) -> None:
        """Write the D real numbers of a half spectrum with the same inner products (Parseval).

        <f, g> = (F_0 G_0 + 2 Re sum_{0 < k < D/2} F_k conj(G_k) + F_{D/2} G_{D/2}) / D, the last for even D.
        """
        D = self.n_components
        parts = spectrum.view(out.dtype)  # Re F_0, Im F_0 = 0, Re F_1, Im F_1, ...
        np.multiply(parts[:, 0], 1 / np.sqrt(D), out=out[:, 0])
        np.multiply(parts[:, 2 : D + 1], np.sqrt(2 / D), out=out[:, 1:])
        if D % 2 == 0:
            out[:, -1] /= np.sqrt(2)

    def _row_bytes(self, itemsize: int) -> int:
        return itemsize * (int(self.n_features_in_) + 3 * self.n_components)


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


@register("recursive_sketch")
class RecursiveSketch(PolynomialSketch):
    """The recursive sketch of (gamma <x, y> + coef0)^p (Ahle et al. 2020, with Tensor Sketch at every node).

    z = Q_p(x, ..., x): Q_1(x) = x, and Q_p(x, ..., x) = T(Q_{p/2}(x, ..., x), Q_{p/2}(x, ..., x)), where
    T(u, v) = FFT^-1(FFT(C u) * FFT(C' v)) is a Tensor Sketch of degree 2 into D = n_components buckets. Every
    node has its own count sketches, and x = (sqrt(gamma) x, sqrt(coef0)). The tree is balanced, with p
    leaves. (The paper adds constant leaves up to a power of two, and sketches each leaf first; both increase
    the variance.) Unbiased. The variance grows in proportion to p while p / D is small, but TensorSketch's
    grows like 2^p: for p = 16, D = 1,024 and flat unit rows x = y of 1,024 features it is 0.091 instead of
    208.

    Cost: at least 2 p - 2 count sketches and 3 p - 3 real FFTs of length D per row; choose D without large
    prime factors.

    Parameters
    ----------
    kernel : Polynomial or Linear (then the map is a count sketch), default <x, y>^2
    n_components : int, default 100
        The number D of features.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    buckets_, signs_ : ndarray of shape (p, d + 1)
        The hashes and the signs of the leaves; the last column is for the constant feature.
    inner_buckets_, inner_signs_ : ndarray of shape (max(p - 2, 0), D)
        The same for the sketches of inner nodes, from left to right, lower nodes first.

    Examples
    --------
    >>> from kfeat.kernels import Polynomial
    >>> from kfeat.maps import RecursiveSketch
    >>> X = [[0.6, 0.8], [0.8, 0.6]]
    >>> kernel = Polynomial(degree=8)
    >>> Z = RecursiveSketch(kernel, n_components=4096, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.5)  # the values of the kernel are 0.72 and 1
    True
    """

    facts = Facts(
        cost="p d + p D log D",
        variance="of order p ||x||^2p ||y||^2p / D while p < D",
        source="Ahle et al. 2020 (SODA), on a balanced tree",
        use="polynomial kernels of degrees from 4 on; below, tensor_sketch takes half the time",
    )

    n_components: Components = 100

    def _draw(self, X: Any, rng: Generator) -> int:
        p, D = self.kernel_.degree, self.n_components
        self.buckets_, self.signs_ = random_tables(rng, p, X.shape[1] + 1, D)
        self.inner_buckets_, self.inner_signs_ = random_tables(rng, max(p - 2, 0), D, D)
        return D

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        D, values = self.n_components, (self.signs_ * self._scales()).astype(dtype)
        leaves = [CountSketch(*table, D) for table in zip(self.buckets_, values, strict=True)]
        no_constant = np.zeros((len(self.inner_signs_), 1), dtype)
        inner_values = np.hstack([self.inner_signs_.astype(dtype), no_constant])
        inner_buckets = np.hstack([self.inner_buckets_, no_constant.astype(int)])
        inner = [CountSketch(*table, D) for table in zip(inner_buckets, inner_values, strict=True)]

        def map_block(X: Any, out: Array) -> None:
            block = arranged(X)
            out[:] = node(block, leaves, iter(inner)) if len(leaves) > 1 else leaves[0](block)

        return map_block

    def _row_bytes(self, itemsize: int) -> int:
        depth = int(self.kernel_.degree).bit_length()
        return itemsize * (int(self.n_features_in_) + (depth + 3) * self.n_components)


def node(block: Any, leaves: list[CountSketch], inner: Iterator[CountSketch]) -> Array:
    """Return the sketch (n, D) of degree len(leaves) >= 2 of an arranged block; it uses up `inner`."""
    middle = len(leaves) // 2
    spectrum = child(block, leaves[:middle], inner)
    spectrum *= child(block, leaves[middle:], inner)
    return fft.irfft(spectrum, n=leaves[0].n_buckets, axis=1, overwrite_x=True)


def child(block: Any, leaves: list[CountSketch], inner: Iterator[CountSketch]) -> Array:
    """Return the spectrum (n, D / 2 + 1) of a node's count sketch of one of its two halves."""
    if len(leaves) == 1:
        sketch = leaves[0](block)
    else:
        below = node(block, leaves, inner)
        sketch = next(inner)(arranged(below))
    return fft.rfft(sketch, axis=1)
