"""The recursive sketch: polynomial kernels of high degree by a tree of degree-2 Tensor Sketches."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from scipy import fft

from kfeat.maps.base import Array, BlockMapper, Facts, register
from kfeat.maps.tensor_sketch import CountSketch, PolynomialSketch, arranged, random_tables
from kfeat.parameters import Components


@register("recursive_sketch")
class RecursiveSketch(PolynomialSketch):
    """The recursive sketch of (gamma <x, y> + coef0)^p (Ahle et al. 2020, with Tensor Sketch at every node).

    z = Q_p(x, ..., x): Q_1(x) = x, and Q_p(x, ..., x) = T(Q_{p/2}(x, ..., x), Q_{p/2}(x, ..., x)), where
    T(u, v) = FFT^-1(FFT(C u) * FFT(C' v)) is a Tensor Sketch of degree 2 into D = n_components buckets. Every
    node has its own count sketches, and x = (sqrt(gamma) x, sqrt(coef0)). The tree is balanced, with p leaves
    (the paper adds constant leaves up to a power of two, which increase the variance). Unbiased. The variance
    grows in proportion to p while p / D is small, but TensorSketch's grows like 2^p: for p = 16, D = 1,024
    and flat unit rows x = y of 1,024 features it is 0.091 instead of 208.

    Cost: at least 2 p - 2 count sketches and 3 p - 3 real FFTs of length D per row; choose D without large
    prime factors.

    Parameters
    ----------
    kernel : Polynomial or Linear (then the map is a count sketch), default <x, y>^2
    n_components : int, default 100
        The number D of features.
    base : {"none", "count_sketch"}, default "none"
        "count_sketch" also sketches each leaf into D buckets before the lowest nodes, as published. The count
        sketches of the nodes take rows of any length, so this saves nothing and adds variance.
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
    base: Literal["none", "count_sketch"] = "none"

    def _draw(self, X: Any, rng: Generator) -> int:
        p, D = self.kernel_.degree, self.n_components
        self.buckets_, self.signs_ = random_tables(rng, p, X.shape[1] + 1, D)
        self.inner_buckets_, self.inner_signs_ = random_tables(rng, max(p - 2, 0), D, D)
        if self.base == "count_sketch" and p > 1:
            # A count sketch of a count sketch is a count sketch with the composed hash.
            buckets, signs = random_tables(rng, p, D, D)
            self.signs_ *= np.take_along_axis(signs, self.buckets_, axis=1)
            self.buckets_ = np.take_along_axis(buckets, self.buckets_, axis=1)
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
