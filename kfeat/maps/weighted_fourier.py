"""What maps of weighted Fourier features share: waves times the square roots of weights that are learnt."""

from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from kfeat.errors import DataError, ParameterError
from kfeat.kernels.base import DENSE_FROM
from kfeat.kernels.operands import as_operand, canonical
from kfeat.maps.blocks import map_in_blocks, rows_per_block
from kfeat.maps.random_fourier import RandomFourier
from kfeat.maps.weights import Sign
from kfeat.memory import check_memory


class WeightedFourier(RandomFourier):
    """Random Fourier features with a weight for each frequency.

    z(x) = (sqrt(w_1) cos <v_1, x>, ..., sqrt(w_1) sin <v_1, x>, ...), so that <z(x), z(y)> is the sum over i
    of w_i cos <v_i, x - y>; the plain map has w_i = 2 / D. An odd D has one more frequency, with one cosine
    sqrt(2 w_i) cos(<v_i, x> + b_i), whose plain weight is 1 / D.

    Attributes
    ----------
    weights_ : ndarray of shape (number of frequencies,)
        The w_i.
    """

    features = "pairs"
    sign: Sign
    weights_: NDArray[np.float64]

    @abstractmethod
    def _learn(self, X: Any, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the weights of frequencies_ for data X."""

    def _draw(self, X: Any, rng: np.random.Generator) -> int:
        width = super()._draw(X, rng)
        n = self.frequencies_.shape[1]
        check_memory(f"learning {n:,} weights", 96 * n**2, "take fewer components", ParameterError)
        self.weights_ = self._learn(X, rng)
        return width

    def _scales(self) -> NDArray[np.float64]:
        return np.sqrt(self.weights_ * self._factors())

    def _factors(self) -> NDArray[np.float64]:
        """Return the factor of each weight under the root: 1 for a pair, 2 for a cosine with an offset."""
        return np.repeat([1.0, 2.0], [self._n_pairs(), len(self.offsets_)])

    def plain_weights(self) -> NDArray[np.float64]:
        """Return the weights of the map without weights, whose sum is 1."""
        return 2 / self.n_components / self._factors()

    @property
    def has_features(self) -> bool:
        """Whether the weights have square roots: all but signed ones, which may be below 0."""
        return self.sign != "signed"

    def transform(self, X: Any, out: NDArray[Any] | None = None) -> Any:
        """Return the features of X (n, d), as every map does.

        Raises ParameterError for sign="signed": features need the square roots of the weights, and a weight
        below 0 has none. `approximate_kernel` has what the weights make of the kernel.
        """
        if not self.has_features:
            raise ParameterError(
                f"{type(self).__name__}: signed weights have no square roots, hence no features: call "
                "approximate_kernel(X, Y) for the kernel, or choose another `sign`"
            )
        return super().transform(X, out)

    def approximate_kernel(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """Return the sum over i of w_i cos <v_i, x - y> for all rows of X (n, d) and Y (m, d), shape (n, m).

        Y is X by default. It is transform(X) @ transform(Y).T where weights have a sign that allows features.
        """
        check_is_fitted(self)
        waves, others = (
            self._waves(validate_data(self, canonical(rows), accept_sparse="csr", reset=False))
            for rows in (X, X if Y is None else Y)
        )
        products: NDArray[np.float64] = (waves * self.weights_[self._frequency_of_column()]) @ others.T
        return products

    def _frequency_of_column(self) -> NDArray[np.int64]:
        return np.r_[: self.frequencies_.shape[1], : self._n_pairs()]

    def _waves(self, X: Any) -> NDArray[np.float64]:
        """Return the features of X at weights of 1, in double precision."""
        unweighted = copy(self)
        unweighted.weights_ = np.ones(self.frequencies_.shape[1])
        rows = as_operand(X)
        waves = np.empty((rows.shape[0], len(self._frequency_of_column())))
        step = rows_per_block(8 * (rows.shape[1] + waves.shape[1]), self.min_rows)
        map_in_blocks(unweighted._block_mapper(waves.dtype), rows, waves, step, 1)
        return waves

    def _sampled(self, X: Any, n_rows: int, rng: np.random.Generator) -> Any:
        """Return up to `n_rows` rows of X in random order and double precision, to learn weights from.

        Their values decide whether they are dense or CSR, so that equal data in any form give equal weights.
        """
        n, name = X.shape[0], type(self).__name__
        if n < 2:
            raise DataError(f"{name} learns from pairs of rows: expected at least 2 rows, got n_samples={n}")
        rows = as_operand(X[rng.choice(n, size=min(n_rows, n), replace=False)]).astype(np.float64)
        if not abs(rows - rows[np.zeros(rows.shape[0], dtype=int)]).max() > 0:
            raise DataError(
                f"{name} learns from rows that differ, but all {rows.shape[0]:,} are the same: give others"
            )
        n_values = rows.count_nonzero() if issparse(rows) else np.count_nonzero(rows)
        if n_values < DENSE_FROM * rows.shape[0] * rows.shape[1]:
            return csr_array(rows)
        return rows.toarray() if issparse(rows) else rows

    def learnt_parameters(self) -> dict[str, float]:
        """Return the sum of the weights, and the shares of them that are below 0 and that are 0."""
        return {
            "weight_sum": float(self.weights_.sum()),
            "negative_share": float((self.weights_ < 0).mean()),
            "zero_share": float((self.weights_ == 0).mean()),
        }
