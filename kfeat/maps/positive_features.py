"""Positive features of the exponential and the Gaussian kernel (FAVOR+, Choromanski et al. 2021)."""

from typing import Any

import numpy as np
from numpy.random import Generator

from kfeat.kernels import Exponential, Gaussian
from kfeat.kernels.base import number
from kfeat.kernels.distances import squared_norms
from kfeat.maps.base import Array, BlockMapper, Facts, FeatureMap, register
from kfeat.parameters import Components


@register("positive_features")
class PositiveFeatures(FeatureMap):
    """Positive random features of exp(<x, y> / sigma^2) or exp(-gamma ||x - y||^2) (Choromanski et al. 2021).

    z_i(x) = exp(<w_i, u> - ||u||^2 / 2) / sqrt(D), w_i of N(0, I), u = x / sigma (Lemma 1); for the Gaussian
    u = sqrt(2 gamma) x and exp(<w_i, u> - ||u||^2). Unbiased, and every estimate is above 0. With
    r = ||u + v||^2, where v belongs to y as u to x, the variance is k^2 (exp(r) - 1) (1 - exp(-r)) / D
    (Lemma 2). It is small if u is near -v, and very large for long rows. Each vector w_i is used with both
    signs, which takes half the products with X; an odd D has one more vector with one sign.

    Parameters
    ----------
    kernel : Exponential or Gaussian, default exp(<x, y>)
    n_components : int, default 100
        The number D of features.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    directions_ : ndarray of shape (d, number of vectors)
        The vectors w_i, divided by sigma or multiplied by sqrt(2 gamma).

    Examples
    --------
    >>> from kfeat.kernels import Exponential
    >>> from kfeat.maps import PositiveFeatures
    >>> X = [[0.6, 0.8], [-0.8, 0.6]]
    >>> Z = PositiveFeatures(Exponential(), n_components=4000, random_state=0).fit_transform(X)
    >>> bool(Z.min() > 0 and abs(Z @ Z.T - Exponential()(X)).max() < 1)
    True
    """

    facts = Facts(
        cost="d D / 2, and D exponentials",
        variance="k(x, y)^2 (e^r - 1) (1 - e^-r) / D, r = ||x + y||^2 / sigma^2, or 2 gamma ||x + y||^2",
        source="Choromanski et al. 2021, Lemmas 1 and 2",
        use="where estimates must be positive, and small kernel values right; short rows",
    )
    approximates = Exponential | Gaussian
    default_kernel = Exponential()

    n_components: Components = 100

    def _draw(self, X: Any, rng: Generator) -> int:
        n_vectors = self.n_components - self.n_components // 2
        self._check_memory(f"{n_vectors:,} directions", 16 * X.shape[1] * n_vectors)
        scale, _ = self._scale_and_decay()
        self.directions_ = rng.standard_normal((X.shape[1], n_vectors)) * scale
        return self.n_components

    def _scale_and_decay(self) -> tuple[float, float]:
        """Return ||u|| / ||x||, and the factor of ||x||^2 in the exponent."""
        if isinstance(self.kernel_, Gaussian):
            gamma = number(self.kernel_, "gamma")
            return float(np.sqrt(2 * gamma)), 2 * gamma
        inverse = 1 / np.float64(number(self.kernel_, "sigma"))
        return float(inverse), float(0.5 * inverse**2)

    def _block_mapper(self, dtype: np.dtype[Any]) -> BlockMapper:
        directions, n_vectors = self.directions_.astype(dtype), self.directions_.shape[1]
        decay = dtype.type(self._scale_and_decay()[1])
        shift = dtype.type(np.log(self.n_components) / 2)

        def map_block(X: Any, out: Array) -> None:
            offsets = (decay * squared_norms(X) + shift)[:, None]
            exponents = X @ directions
            np.subtract(exponents, offsets, out=out[:, :n_vectors])
            np.add(exponents[:, : self.n_components // 2], offsets, out=out[:, n_vectors:])
            np.negative(out[:, n_vectors:], out=out[:, n_vectors:])
            np.exp(out, out=out)

        return map_block
