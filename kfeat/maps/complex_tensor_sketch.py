"""Complex-to-real Tensor Sketch: count sketches with complex signs, written as real features."""

from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from kfeat.maps.base import FOURTH_ROOTS, Array, BlockMapper, Facts, random_fourth_roots, register
from kfeat.maps.count_sketch import (
    CountSketch,
    FFTs,
    Library,
    arranged,
    convolved,
    ffts,
    product_is_quicker,
    product_with_roots,
    with_ones,
)
from kfeat.maps.tensor_sketch import PolynomialSketch
from kfeat.parameters import Components


@register("complex_tensor_sketch")
class ComplexTensorSketch(PolynomialSketch):
    """Complex-to-real Tensor Sketch of (gamma <x, y> + coef0)^p (Sharma, Khan, Pratap & Kang 2026).

    c(x) = FFT^-1(FFT(C_1 x) * ... * FFT(C_p x)), with p independent count sketches C_k of (sqrt(gamma) x,
    sqrt(coef0)) into D / 2 complex buckets, their signs uniform in {1, i, -1, -i}. The features z(x) are the
    real and imaginary parts of c(x), so that <z(x), z(y)> = Re <c(x), c(y)>. Unbiased. With a = <x, y>^2 and
    q = sum x_i^2 y_i^2 (with the constant feature), and an even D,
    Var <z(x), z(y)> = ((||x||^2 ||y||^2 + a - q)^p + (2 a - q)^p - 2 a^p) / D,
    at most (2^(p+1) - 2) ||x||^2p ||y||^2p / D. TensorSketch has this variance plus a term of order
    3^p / D^2, since all but one or two of its frequencies are already complex. It matters for large p.

    Cost: at least p + 1 complex FFTs of length D / 2 per row; choose D / 2 without large prime factors.

    Parameters
    ----------
    kernel : Polynomial or Linear (then the map is a count sketch), default <x, y>^2
    n_components : int, default 100
        The number D of features. An odd D has (D + 1) / 2 buckets; its last feature is sqrt(2) times the real
        part of the last entry, so that the map is unbiased.
    domain : {"real", "frequency"}, default "real"
        "frequency" leaves the last FFT out; by Parseval's theorem the inner products are the same (for an
        even D).
    fft : {"scipy", "ducc0"}, default "scipy"
        The library that computes the FFTs, as in TensorSketch.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    buckets_, exponents_ : ndarray of shape (p, d + 1)
        The hashes of each count sketch, and the exponents j of its signs i^j; the last column is for the
        constant feature.

    Examples
    --------
    >>> from kfeat.kernels import Polynomial
    >>> from kfeat.maps import ComplexTensorSketch
    >>> X = [[0.6, 0.8], [0.8, 0.6]]
    >>> kernel = Polynomial(degree=3)
    >>> Z = ComplexTensorSketch(kernel, n_components=4096, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.2)  # the values of the kernel are 0.88 and 1
    True
    """

    facts = Facts(
        cost="p d + p D log D",
        variance="<= (2^(p+1) - 2) ||x||^2p ||y||^2p / D",
        source="Sharma et al. 2026 (UAI); Wacker et al. 2022",
        use="as tensor_sketch, whose error it betters only where 1.5^p is not small beside D",
    )

    n_components: Components = 100
    domain: Literal["real", "frequency"] = "real"
    fft: Library = "scipy"

    def _draw(self, X: Any, rng: Generator) -> int:
        ffts(self.fft)  # raises now if the library is missing
        shape = (self.kernel_.degree, X.shape[1] + 1)
        self.buckets_ = rng.integers(self._n_buckets(), size=shape)
        self.exponents_ = random_fourth_roots(rng, shape)
        return self.n_components

    def _n_buckets(self) -> int:
        return -(-self.n_components // 2)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        scales, M, transforms = self._scales().astype(dtype), self._n_buckets(), ffts(self.fft)
        tables = list(zip(self.buckets_, self.exponents_, strict=True))
        if product_is_quicker(self.kernel_.degree, self.n_features_in_, self.n_components):
            arrange: Any = with_ones
            transform: Any = np.asarray  # the products are spectra already
            sketches: list[Any] = [
                product_with_roots(h, FOURTH_ROOTS[e] * scales, M, dtype) for h, e in tables
            ]
        else:
            arrange = doubled if self.n_features_in_ < self.n_components else arranged  # measured
            sketches, transform = [ComplexCountSketch(*table, scales, M) for table in tables], transforms.fft

        def map_block(X: Any, out: Array) -> None:
            self._write(convolved(sketches, transform, arrange(X)), out, transforms)

        return map_block

    def _write(self, spectrum: Array, out: Array, transforms: FFTs) -> None:
        real = self.domain == "real"
        entries = transforms.ifft(spectrum) if real else spectrum
        columns = entries.view(out.dtype)[:, : self.n_components]  # Re, Im, Re, Im, ...
        if real:
            out[:] = columns
        else:
            np.multiply(columns, 1 / sqrt(self._n_buckets()), out=out)
        if self.n_components % 2:
            out[:, -1] *= sqrt(2)

    def _row_bytes(self, itemsize: int) -> int:
        return itemsize * (2 * int(self.n_features_in_) + 3 * self.n_components)


class ComplexCountSketch:
    """The sketch (Cx)_j = sum of i^e(k) x_k over the features k with h(k) = j, plus one constant feature.

    A real entry times its sign is real or imaginary, so only real sums are needed.
    """

    def __init__(
        self, buckets: NDArray[np.int64], exponents: NDArray[np.int8], scales: Array, n_buckets: int
    ) -> None:
        odd, d = (exponents & 1).astype(np.int64), len(buckets) - 1
        values = (1 - (exponents & 2)) * scales
        self.parts = CountSketch(2 * buckets + odd, values, 2 * n_buckets)  # Re, Im, Re, Im, ...
        columns = np.arange(d) + d * odd[:-1]
        self.matrix = csr_array((values[:-1], (buckets[:-1], columns)), shape=(n_buckets, 2 * d))
        self.constant_bucket, self.constant = int(buckets[-1]), values[-1] * FOURTH_ROOTS[odd[-1]]

    def __call__(self, block: Any) -> Array:
        """Return the sketches of the n rows of an arranged or doubled block, shape (n, M), complex."""
        if not issparse(block) and np.iscomplexobj(block):
            sums = (self.matrix @ block.view(self.matrix.dtype)).view(block.dtype).T
            sums[:, self.constant_bucket] += self.constant
            return sums
        parts = self.parts(block)
        complex_type = np.result_type(parts.dtype, np.complex64)
        if parts.flags.c_contiguous:
            return parts.view(complex_type)
        sketch = np.empty_like(parts[:, ::2], dtype=complex_type)  # in the layout of the parts
        sketch.real, sketch.imag = parts[:, ::2], parts[:, 1::2]
        return sketch


def doubled(X: Any) -> Any:
    """Return a dense block as (features x rows) twice, x + 0 i and 0 + i x; CSR unchanged.

    One real sparse product on it gives complex sketches.
    """
    if issparse(X):
        return X
    n, d = X.shape
    block = np.zeros((2 * d, n), np.result_type(X.dtype, np.complex64))
    block[:d].real = block[d:].imag = X.T
    return block
