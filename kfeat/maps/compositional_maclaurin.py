"""Random features of compositional kernels from those of the inner kernel (Kar & Karnick 2012, section 5)."""

from itertools import pairwise
from math import inf
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt, Lt
from numpy.random import Generator
from sklearn.base import clone

from kfeat.errors import UnsupportedKernelError
from kfeat.kernels import Compositional, Kernel
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.maps.random_fourier import RandomFourier
from kfeat.maps.random_maclaurin import RandomMaclaurin
from kfeat.maps.series import coefficients, draw_degrees, in_order
from kfeat.parameters import Components


@register("compositional_maclaurin")
class CompositionalMaclaurin(FeatureMap):
    """Random features of k(x, y) = f(K(x, y)) = sum_n a_n K(x, y)^n, a_n >= 0 (Kar & Karnick 2012, 5).

    z_i(x) = sqrt(a_N / (D P(N))) prod_{j <= N} W_j(x), with a degree N and N independent one-dimensional
    features W_j of the inner kernel per feature, E[W(x) W(y)] = K(x, y). Unbiased, and
    Var <z(x), z(y)> = (sum_n a_n^2 E[(W(x) W(y))^2]^n / P(n) - k(x, y)^2) / D.

    The W_j are the columns of one inner map times the square root of their number. The columns must be
    independent and identically distributed, as in RandomFourier(features="offset"), and in RandomMaclaurin
    and CompositionalMaclaurin without exact columns. The columns of the latter two are sorted by degree, so
    each feature takes its columns at random. Theorem 9 of the paper also assumes that K and W are bounded and
    Lipschitz, W in the mean; the Laplacian kernel's W is not.

    Parameters
    ----------
    kernel : Compositional, default exp(exp(-||x - y||^2))
    inner : FeatureMap, optional
        An unfitted map of the inner kernel, whose `kernel` and `n_components` are set here; None is a
        suitable map: RandomFourier(features="offset") for a shift-invariant kernel.
    n_components : int, default 100
        The number D of features.
    degree_law : {"geometric", "truncated", "proportional"}, default "geometric"
        The distribution of the degrees, as in RandomMaclaurin; "proportional" is in proportion to
        a_N mean(K(x, x)^N) on the data.
    base : float, default 2.0
        The p of the geometric distribution, above 1; "proportional" does not use it.
    constant : bool, default True
        False leaves degree 0 out; the map then estimates k - a_0, and kernel_offset_ is a_0.
    random_state, n_jobs : see FeatureMap; an inner map without a random_state takes its numbers from here

    Attributes
    ----------
    degrees_, n_factors_, scales_ : ndarray of shape (n_components,)
        The degree N of each feature, its number of factors (0 for a zero column), and its scale.
    inner_ : FeatureMap
        The fitted inner map.
    columns_ : ndarray of shape (sum(n_factors_),)
        The inner map's column of each factor: first factors of all features, then second factors, ...

    Examples
    --------
    >>> from kfeat.kernels import Compositional, Gaussian, Polynomial
    >>> from kfeat.maps import CompositionalMaclaurin
    >>> X = [[0.0, 0.0], [1.0, 1.0]]
    >>> kernel = Compositional(Polynomial(degree=2, coef0=1.0), Gaussian(gamma=0.5))
    >>> feature_map = CompositionalMaclaurin(kernel, n_components=4000, random_state=0)
    >>> Z = feature_map.fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.4)  # the values of the kernel are 4 and 1.87
    True
    """

    facts = Facts(
        cost="that of E[N] D columns of the inner map, N the degree drawn",
        variance="(sum_n a_n^2 E[(W(x) W(y))^2]^n / P(n) - k^2) / D, W a feature of the inner kernel",
        source="Kar & Karnick 2012, section 5 and Theorem 9",
        use="powers and series of a kernel that has random features of its own",
    )
    approximates = Compositional
    default_kernel = Compositional()

    inner: FeatureMap | None = None
    n_components: Components = 100
    degree_law: Literal["geometric", "truncated", "proportional"] = "geometric"
    base: Annotated[float, Gt(1), Lt(inf)] = 2.0
    constant: bool = True

    @classmethod
    def supports(cls, kernel: Kernel) -> bool:
        """Return whether the kernel is compositional and its inner kernel has independent features."""
        return isinstance(kernel, Compositional) and any(
            black_box.supports(kernel.parts()[1]) for black_box in BLACK_BOXES
        )

    def check_kernel(self, kernel: object) -> None:
        """Raise UnsupportedKernelError if the kernel or the inner map is not suitable."""
        super().check_kernel(kernel)
        assert isinstance(kernel, Compositional)
        inner = kernel.parts()[1]
        self._black_box(inner).check_kernel(inner)

    def _draw(self, X: Any, rng: Generator) -> int:
        outer, inner = self.kernel_.parts()
        unfitted = self._black_box(inner)
        self._check_rows(X)
        if not self.constant:
            self.kernel_offset_ = float(coefficients(outer, 1)[0])
        rows = X
        if self.degree_law == "proportional":
            rows = np.sqrt(inner.diagonal(X))[:, None]  # norms in the inner kernel's feature space
        first = 0 if self.constant else 1
        degrees, weights = draw_degrees(
            rng, self.degree_law, outer, self.n_components, rows, self.base, first
        )
        self.degrees_, self.n_factors_, order = in_order(degrees, weights > 0)
        self.scales_ = np.sqrt(weights[order] / self.n_components)
        total = int(self.n_factors_.sum())
        unfitted.set_params(kernel=inner, n_components=max(total, 1))
        if unfitted.random_state is None:
            unfitted.set_params(random_state=int(rng.integers(2**31)))
        self.inner_ = unfitted.fit(X)
        by_degree = not isinstance(self.inner_, RandomFourier)  # then columns are sorted by degree
        self.columns_ = rng.permutation(total) if by_degree else np.arange(total)
        self.kernel_ = Compositional(outer, self.inner_.kernel_)
        return self.n_components

    def _black_box(self, kernel: Kernel) -> FeatureMap:
        """Return an unfitted map with independent columns; raises UnsupportedKernelError if there is none."""
        if self.inner is None:
            able = next(black_box for black_box in BLACK_BOXES if black_box.supports(kernel))
            return able(features="offset") if able is RandomFourier else able()
        if not has_independent_columns(self.inner):
            raise UnsupportedKernelError(
                f"CompositionalMaclaurin: inner: expected a map whose columns are independent features of "
                f'the inner kernel, which are RandomFourier(features="offset"), RandomMaclaurin and '
                f"CompositionalMaclaurin without exact columns and with the constant, got {self.inner!r}"
            )
        unfitted: FeatureMap = clone(self.inner)
        return unfitted

    def _check_rows(self, X: Any) -> None:
        """Raise DataError if the outer series does not converge at K(x, x)."""
        if self.kernel_.parts()[0].radius < inf:
            self.kernel_.diagonal(X)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        D, scales = self.n_components, self.scales_.astype(dtype)
        map_inner, n_inner = self.inner_._block_mapper(dtype), int(self.inner_._n_features_out)
        unit = dtype.type(np.sqrt(n_inner))  # columns of the inner map are W / sqrt(their number)
        first = np.searchsorted(self.n_factors_, range(1, int(self.n_factors_[-1]) + 1))
        ends = np.cumsum([0, *(D - first)])
        parts: list[Any] = [slice(start, end) for start, end in pairwise(ends)]
        if (np.diff(self.columns_) != 1).any():  # out of order; slices save a copy
            parts = [self.columns_[part] for part in parts]

        def map_block(X: Any, out: Array) -> None:
            self._check_rows(X)
            out[:] = scales
            if not first.size:
                return
            W = np.empty((X.shape[0], n_inner), dtype)
            map_inner(X, W)
            W *= unit
            for start, columns in zip(first, parts, strict=True):
                out[:, start:] *= W[:, columns]

        return map_block

    def _row_bytes(self, itemsize: int) -> int:
        n_inner = int(self.inner_._n_features_out)
        return self.inner_._row_bytes(itemsize) + itemsize * (n_inner + 2 * self.n_components)


BLACK_BOXES: tuple[Any, ...] = (RandomFourier, RandomMaclaurin, CompositionalMaclaurin)


def has_independent_columns(feature_map: FeatureMap) -> bool:
    """Return whether the columns are independent, identically distributed and each unbiased, up to a scale.

    Columns of a Tensor Sketch, or cosines and sines in pairs, depend on each other. Columns of a subclass or
    of a low-discrepancy sequence may. Columns of a map with exact columns or without its constant do not have
    the same distribution or are biased.
    """
    if type(feature_map) is RandomFourier:
        sequence = feature_map.get_params().get("sequence", "mc")
        return feature_map.features == "offset" and sequence in (None, "mc")
    if type(feature_map) is RandomMaclaurin:
        return feature_map.constant and not feature_map.h01
    return type(feature_map) is CompositionalMaclaurin and feature_map.constant
