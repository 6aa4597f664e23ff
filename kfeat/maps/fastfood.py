"""Fastfood: the Gaussian kernel's Fourier features by Hadamard transforms (Le, Sarlos & Smola 2013)."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.errors import ParameterError
from kfeat.maps.base import Facts, register
from kfeat.maps.gaussian_fourier import GaussianFourier, Phases
from kfeat.maps.hadamard import next_power_of_two, walsh_hadamard
from kfeat.maps.signs import random_signs
from kfeat.memory import check_memory


class HadamardFourier(GaussianFourier):
    """Blocks of frequencies in the padded dimension m: products of Hadamard matrices H and diagonals."""

    min_rows: ClassVar[int] = 8  # the products are as small as they are for any number of rows

    def _n_blocks(self) -> int:
        return -(-self._n_frequencies() // next_power_of_two(int(self.n_features_in_)))

    def _block_width(self) -> int:
        """Return how many frequencies each block gives: equally many, so that all are cut alike."""
        return -(-self._n_frequencies() // self._n_blocks())

    def _check_size(self, d: int) -> None:
        n_frequencies = self._n_blocks() * next_power_of_two(d)
        needed = 8 * 4 * n_frequencies
        check_memory(f"a map of {n_frequencies:,} frequencies", needed, "take fewer", ParameterError)

    def _row_bytes(self, itemsize: int) -> int:
        m = next_power_of_two(int(self.n_features_in_))
        return itemsize * (m + 4 * self._n_blocks() * m + self.n_components)


@register("fastfood")
class Fastfood(HadamardFourier):
    """Fastfood features of the Gaussian kernel, w from sqrt(2 gamma / m) S H G Pi H B (Le et al. 2013).

    The product gives m phases <w, x> at once, where m is the number of features d, padded with zeros to a
    power of two: B has random signs, Pi permutes, G is Gaussian, H is the Walsh-Hadamard matrix, and S = s /
    ||G||, where the s_i follow the chi distribution with m degrees of freedom. D / 2 frequencies take as many
    independent blocks as needed, the first rows of each.

    Unbiased: a row of H G is Gaussian, and Pi H B / sqrt(m) only rotates it, so that its direction is uniform
    and independent of its length, which S makes a Gaussian vector's. So each frequency alone is exactly
    N(0, 2 gamma I). Two of a block are not independent: with q frequencies in each block and a = gamma
    ||x - y||^2, the variance of random Fourier features is multiplied, to first order in 1 / m, by
    1 + (q - 1) (1 - 2 kappa) (a / sinh a)^2 / m, kappa = ||x - y||_4^4 / ||x - y||_2^4.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel to approximate, a Gaussian; None is exp(-||x - y||^2).
    n_components : int, default 100
        The number D of features: D / 2 frequencies, a cosine and a sine for each (an odd D has one more
        cosine, with an offset).
    random_state : int, Generator, RandomState or None, default None
        The source of the random numbers; an int makes the map reproducible.
    n_jobs : int, optional
        The number of threads of `transform`, as joblib counts them: None is one, -1 is all cores.

    Attributes
    ----------
    signs_, permutations_, normals_ : ndarray of shape (number of blocks, m)
        The diagonal of B, the order Pi and the diagonal of G of each block.
    lengths_ : ndarray of shape (number of blocks, frequencies per block)
        The lengths s of the frequencies for 2 gamma = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import Fastfood
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> Z = Fastfood(Gaussian(gamma=0.5), n_components=4000, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1)) < 0.1)
    True
    """

    facts: ClassVar[Facts] = Facts(
        cost="D log d",
        variance="up to 2 times random_fourier's where x - y is dense, below it where sparse",
        source="Le, Sarlos & Smola 2013",
        use="the Gaussian kernel, dense data of hundreds of features and more; orf for a smaller error",
    )

    def _draw_frequencies(self, rng: np.random.Generator, d: int, n_frequencies: int) -> None:
        self._check_size(d)
        m, n_blocks = next_power_of_two(d), self._n_blocks()
        self.signs_ = random_signs(rng, (n_blocks, m))
        self.permutations_ = rng.permuted(np.tile(np.arange(m), (n_blocks, 1)), axis=1)
        self.normals_ = rng.standard_normal((n_blocks, m))
        self.lengths_ = np.sqrt(rng.chisquare(m, (n_blocks, self._block_width())))

    def _phases(self, dtype: np.dtype[Any]) -> Phases:
        n_blocks, m = self.signs_.shape
        d, n_frequencies, width = int(self.n_features_in_), self._n_frequencies(), self._block_width()
        signs, normals = self.signs_[:, :d].astype(dtype), self.normals_.ravel().astype(dtype)
        order = (self.permutations_ + m * np.arange(n_blocks)[:, None]).ravel()
        norms = np.linalg.norm(self.normals_, axis=1, keepdims=True)
        lengths = (
            (self.lengths_ / norms * np.sqrt(2 * self.kernel_.gamma / m))
            .ravel()[:n_frequencies]
            .astype(dtype)
        )

        def phases_of(X: Any) -> NDArray[Any]:
            n = X.shape[0]
            rows = walsh_hadamard(signed_and_padded(X, signs, m)).reshape(n, n_blocks * m)
            rows = np.take(rows, order, axis=1)
            rows *= normals
            rows = walsh_hadamard(rows.reshape(n * n_blocks, m), width).reshape(n, n_blocks * width)
            return rows[:, :n_frequencies] * lengths

        return phases_of


def signed_and_padded(X: Any, signs: NDArray[Any], m: int) -> NDArray[Any]:
    """Return every row of X (n, d) times every row of signs (k, d), padded with zeros, dense: (n k, m)."""
    dense = X.toarray() if issparse(X) else X
    n, (k, d) = len(dense), signs.shape
    padded = np.zeros((n, k, m), signs.dtype)
    np.multiply(dense[:, None, :], signs, out=padded[:, :, :d])
    return padded.reshape(n * k, m)
