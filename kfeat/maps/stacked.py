"""Stacked features: a sum of kernels has the features of its terms, side by side (Lu et al. 2014)."""

from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.base import clone

from kfeat.errors import ParameterError
from kfeat.kernels import Sum
from kfeat.kernels.operands import generator
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.maps.random_fourier import RandomFourier
from kfeat.maps.tensor_sketch import TensorSketch
from kfeat.text import counted


@register("stacked")
class Stacked(FeatureMap):
    """The maps of the terms of a sum of kernels, side by side.

    z(x) = (sqrt(w_1) z_1(x), sqrt(w_2) z_2(x), ...) for k = sum_i w_i k_i, so <z(x), z(y)> is the sum of the
    approximations.

    Parameters
    ----------
    kernel : Sum, default <x, y>^2 + exp(-||x - y||^2)
    maps : list of FeatureMap, optional
        One unfitted map per term, whose kernel is set to that term; None is Tensor Sketch and random Fourier.
        Maps without a random_state get one from this map's random_state.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    maps_ : list of FeatureMap
        The fitted maps.

    Examples
    --------
    >>> from kfeat.kernels import Gaussian, Polynomial, Sum
    >>> from kfeat.maps import RandomFourier, Stacked, TensorSketch
    >>> kernel = Sum([Polynomial(degree=2), Gaussian()], weights=[0.5, 1.0])
    >>> parts = [TensorSketch(n_components=64), RandomFourier(n_components=32)]
    >>> Stacked(kernel, parts, random_state=0).fit_transform([[0.0, 1.0], [1.0, 1.0]]).shape
    (2, 96)
    """

    facts = Facts(
        cost="that of its maps",
        variance="sum of w_i^2 times those of its maps",
        source="Lu et al. 2014; Bellet 2020",
        use="sums of kernels, such as one for each group of features or several bandwidths",
    )
    approximates = Sum
    default_kernel = Sum()

    maps: list[FeatureMap] | None = None

    @property
    def bias(self) -> str:
        """Why the estimates of its maps are biased."""
        reasons = [f"{type(part).__name__}: {part.bias}" for part in self._unfitted() if part.bias]
        return "; ".join(reasons)

    def check_kernel(self, kernel: object) -> None:
        """Raise UnsupportedKernelError or ParameterError if the maps do not fit the terms of the sum."""
        super().check_kernel(kernel)
        assert isinstance(kernel, Sum)
        maps = self._unfitted()
        if len(maps) != len(terms := kernel.terms()):
            raise ParameterError(
                f"Stacked: expected one map per kernel, got {len(maps)} for {counted(len(terms), 'kernels')}"
            )
        for (_, term), unfitted in zip(terms, maps, strict=True):
            unfitted.check_kernel(term)
            if not unfitted.has_features:
                raise ParameterError(
                    f"Stacked: {type(unfitted).__name__} with weights below 0 has no features to stack"
                )

    def _unfitted(self) -> list[FeatureMap]:
        return [TensorSketch(), RandomFourier()] if self.maps is None else self.maps

    def _draw(self, X: Any, rng: Generator) -> int:
        terms = self.kernel_.terms()
        self.maps_ = []
        for (_, kernel), unfitted in zip(terms, self._unfitted(), strict=True):
            part = clone(unfitted).set_params(kernel=kernel)
            if part.random_state is None:
                part.set_params(random_state=int(rng.integers(2**31)))
            elif not isinstance(part.random_state, int | np.integer):  # the copy would not advance it
                source = generator(unfitted.random_state)
                part.set_params(random_state=int(source.integers(2**31)))
            self.maps_.append(part.fit(X))
        self.kernel_ = Sum([part.kernel_ for part in self.maps_], self.kernel_.weights)
        self.kernel_offset_ = sum(
            w * part.kernel_offset_ for (w, _), part in zip(terms, self.maps_, strict=True)
        )
        return sum(int(part._n_features_out) for part in self.maps_)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        parts, start = [], 0
        for (weight, _), part in zip(self.kernel_.terms(), self.maps_, strict=True):
            columns = slice(start, start + part._n_features_out)
            parts.append((columns, dtype.type(np.sqrt(weight)), part._block_mapper(dtype)))
            start = columns.stop

        def map_block(X: Any, out: Array) -> None:
            for columns, scale, mapper in parts:
                mapper(X, out[:, columns])
                if scale != 1:
                    out[:, columns] *= scale

        return map_block

    def _row_bytes(self, itemsize: int) -> int:
        return max(part._row_bytes(itemsize) for part in self.maps_)
