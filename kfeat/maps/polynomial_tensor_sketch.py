"""Polynomial Tensor Sketch: a fitted polynomial of <x, y> by Tensor Sketches (Han, Avron & Shin 2020)."""

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import fft, optimize

from kfeat.errors import ParameterError
from kfeat.kernels import DotProductKernel, Gaussian
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.maps.count_sketch import CountSketch, arranged, random_tables
from kfeat.maps.series import SampledPairs, damp, sampled_pairs, series_of, terms
from kfeat.parameters import Components

LARGEST = 10  # the largest degree that `degree=None` tries


class Fit(NamedTuple):
    """Coefficients c_0 .. c_r, the number of columns per degree, and the expected squared error."""

    coefficients: Array
    n_buckets: int
    squared_error: float


@register("polynomial_tensor_sketch")
class PolynomialTensorSketch(FeatureMap):
    """Tensor Sketches of all degrees up to r, weighted to fit the kernel (Han, Avron & Shin, ICML 2020).

    z(x) = (sqrt(c_0), sqrt(c_1) T_1(x), ..., sqrt(c_r) T_r(x)), with T_j the Tensor Sketch of degree j into m
    columns. All share r count sketches, so that each degree costs one more sketch, its FFT and an inverse.
    "regression" uses the c_j >= 0 that minimise the mean squared error of the kernel on sampled pairs,
    including the variance of the sketches: they are shrunk, and the map is biased. The published coefficients
    may be negative, which no real features can have; with non-negative ones <z(x), z(y)> is a kernel.
    "taylor" uses the coefficients of the series, with a bias only from the degrees above r.

    Parameters
    ----------
    kernel : any dot-product kernel or Gaussian, default exp(-||x - y||^2)
    n_components : int, default 100
        The largest number of columns; each degree has the same number.
    degree : int, optional
        The degree r; None chooses the one up to 10 with the least expected error.
    coefficients : {"regression", "taylor"}, default "regression"
        How the c_j are chosen.
    n_rows : int, default 256
        The number of random rows whose pairs are used.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    coefficients_ : ndarray of shape (r + 1,)
        The c_j.
    n_buckets_ : int
        The number m of columns of each degree with c_j > 0.
    error_ : float
        The expected root mean squared error of the kernel on the pairs of the sample.
    buckets_, signs_ : ndarray of shape (r, d + 1)
        The hashes and the signs of each count sketch; the last column is not used.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Exponential
    >>> from kfeat.maps import PolynomialTensorSketch
    >>> X = np.random.default_rng(0).random((50, 5)) / 2
    >>> feature_map = PolynomialTensorSketch(Exponential(), n_components=1000, random_state=0).fit(X)
    >>> Z = feature_map.transform(X)
    >>> bool(np.abs(Z @ Z.T - Exponential()(X)).max() < 0.5)
    True
    """

    facts = Facts(
        cost="r d + 2 r m log m, m = D / r columns per degree",
        variance="sum_ij c_i c_j <x, y>^|i - j| V_min(i, j), V_j of Tensor Sketch into m columns",
        source="Han, Avron & Shin, ICML 2020",
        use="dot-product kernels and Gaussians of short rows on sparse data of many features",
    )
    approximates = DotProductKernel | Gaussian
    default_kernel = Gaussian()

    n_components: Components = 100
    degree: Annotated[int, Ge(1), Le(64)] | None = None
    coefficients: Literal["regression", "taylor"] = "regression"
    n_rows: Annotated[int, Ge(2), Le(10_000)] = 256

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        return "it sketches a polynomial near the kernel"

    def _draw(self, X: Any, rng: Generator) -> int:
        series_of(self.kernel_).check_rows(X)
        pairs = sampled_pairs(self.kernel_, X, self.n_rows, rng)
        # Coefficients of <x, y> / R with R the largest ||x|| ||y||, so that no power overflows.
        self.radius_ = float(pairs.sizes.max()) or 1.0
        pairs = pairs._replace(sizes=pairs.sizes / self.radius_)
        degrees = range(LARGEST + 1) if self.degree is None else [self.degree]
        fits = [self._fit(pairs, r) for r in degrees]
        best = min(fits, key=lambda fit: fit.squared_error)
        if not np.isfinite(best.squared_error):
            raise ParameterError(
                f"PolynomialTensorSketch: n_components = {self.n_components} is below the number of degrees "
                "that need columns: use more components, or a lower degree"
            )
        c = np.trim_zeros(best.coefficients, "b") if best.coefficients.any() else best.coefficients[:1]
        self.scaled_, self.n_buckets_ = c, best.n_buckets
        self.coefficients_ = c * self.radius_ ** -np.arange(len(c), dtype=float)
        self.error_ = float(np.sqrt(best.squared_error))
        shape = (len(c) - 1, X.shape[1] + 1, self.n_buckets_)
        self.buckets_, self.signs_ = random_tables(rng, *shape)
        return self._n_constant() + self.n_buckets_ * int((c[1:] > 0).sum())

    def _n_constant(self) -> int:
        return int(self.scaled_[0] > 0 or len(self.scaled_) == 1)

    def _fit(self, pairs: SampledPairs, r: int) -> Fit:
        """Return the fit of degree r; degrees with the coefficient 0 leave their columns to the others."""
        if self.coefficients == "taylor":
            c, given = np.zeros(r + 1), terms(self.kernel_, r)[: r + 1]
            c[: len(given)] = given * self.radius_ ** np.arange(len(given), dtype=float)
            m = self._buckets_for(c)
        else:
            live = np.ones(r + 1, dtype=bool)
            while m := self._buckets_for(live):
                c = least_error(pairs, live, m)
                if (c[1:][live[1:]] > 0).all():
                    break
                live[1:] &= c[1:] > 0
        return Fit(c, m, expected_error(pairs, c, m)) if m else Fit(np.zeros(r + 1), 1, np.inf)

    def _buckets_for(self, c: Array) -> int:
        """Return the number of columns per degree with a coefficient; 0 if there are too few columns."""
        degrees = int(np.count_nonzero(c[1:]))
        return max((self.n_components - bool(c[0])) // max(degrees, 1), int(degrees == 0))

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        m, n_constant = self.n_buckets_, self._n_constant()
        values = (self.signs_ / np.sqrt(self.radius_)).astype(dtype)
        values[:, -1] = 0
        sketches = [CountSketch(h, s, m) for h, s in zip(self.buckets_, values, strict=True)]
        roots = np.sqrt(self.scaled_).astype(dtype)
        series = series_of(self.kernel_)

        def map_block(X: Any, out: Array) -> None:
            series.check_rows(X)
            out[:, :n_constant] = roots[0]
            damp(self.kernel_, X, out[:, :n_constant])
            block, start, spectrum = arranged(X), n_constant, None
            for sketch, root, used in zip(sketches, roots[1:], self.scaled_[1:] > 0, strict=True):
                counts = sketch(block)
                if spectrum is None:
                    damp(self.kernel_, X, counts)
                    spectrum = fft.rfft(counts, axis=1)
                else:
                    spectrum *= fft.rfft(counts, axis=1)
                if used:  # even if single precision rounds the root to 0
                    np.multiply(fft.irfft(spectrum, n=m, axis=1), root, out=out[:, start : start + m])
                    start += m

        return map_block

    def _row_bytes(self, itemsize: int) -> int:
        return super()._row_bytes(itemsize) + 4 * itemsize * self.n_buckets_


def powers(pairs: SampledPairs, r: int) -> Array:
    """Return damping <x, y>^j for j = 0 .. r, shape (pairs, r + 1)."""
    inner = pairs.sizes * pairs.cosines
    return pairs.damping[:, None] * inner[:, None] ** np.arange(r + 1)


def covariances(pairs: SampledPairs, r: int, m: int) -> Array:
    """Return the mean damped covariance of the Tensor Sketches of degrees i, j <= r into m columns.

    Degrees i <= j share their first i count sketches, and the others have the mean <x, y>^(j - i), so the
    covariance is <x, y>^(j - i) Var T_i.
    """
    M, inner = np.zeros((r + 1, r + 1)), pairs.sizes * pairs.cosines
    for i in range(1, r + 1):
        variance = pairs.damping**2 * pairs.sizes ** (2 * i) * pairs.tensor_sketch_variance(i, m)
        for j in range(i, r + 1):
            M[i, j] = M[j, i] = (variance * inner ** (j - i)).mean()
    return M


def expected_error(pairs: SampledPairs, c: Array, m: int) -> float:
    """Return the mean squared error of the kernel with coefficients c."""
    r = len(c) - 1
    bias = pairs.values - powers(pairs, r) @ c
    return float((bias**2).mean() + c @ covariances(pairs, r, m) @ c)


def least_error(pairs: SampledPairs, live: NDArray[np.bool_], m: int) -> Array:
    """Return the c >= 0 of the live degrees that minimise the expected error: a regression."""
    r = len(live) - 1
    basis = powers(pairs, r)[:, live]
    H = basis.T @ basis / len(basis) + covariances(pairs, r, m)[np.ix_(live, live)]
    scale = 1 / np.sqrt(np.diag(H).clip(min=np.finfo(float).tiny))
    H = H * np.outer(scale, scale) + 1e-12 * np.eye(len(scale))
    L = np.linalg.cholesky(H)
    target = np.linalg.solve(L, scale * (basis.T @ pairs.values) / len(basis))
    c = np.zeros(r + 1)
    c[live] = scale * optimize.nnls(L.T, target)[0]
    return c
