"""Tensor Sketch: polynomial kernels by count sketches (Pham & Pagh 2013); recursive sketches."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from scipy import fft
from sklearn.base import clone

from kfeat.kernels import Kernel, Linear, Polynomial
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.maps.count_sketch import (
    CountSketch,
    Library,
    arranged,
    convolved,
    ffts,
    product_is_quicker,
    product_with_roots,
    random_tables,
    universal_tables,
    with_ones,
)
from kfeat.parameters import Components


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
