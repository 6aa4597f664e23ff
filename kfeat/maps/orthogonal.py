"""Fourier features of the Gaussian kernel whose frequencies depend on each other: ORF, SORF and Fastfood."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.sparse import issparse

from kfeat.kernels import Gaussian
from kfeat.maps.base import Array, Facts, random_signs, register
from kfeat.maps.random_fourier import FourierFeatures, Phases
from kfeat.maps.tensor_srht import next_power_of_two, walsh_hadamard
from kfeat.parameters import Components


@dataclass(eq=False, repr=False)
class GaussianFourier(FourierFeatures):
    """Pairs of cosines and sines, with one more cosine for an odd D; frequencies are in independent blocks.

    It needs the Gaussian kernel, whose spectrum does not change under rotations.
    """

    approximates = Gaussian
    default_kernel = Gaussian()

    n_components: Components = 100

    @abstractmethod
    def _draw_frequencies(self, rng: Generator, d: int, n_frequencies: int) -> None:
        """Draw the random numbers of the frequencies."""

    def _draw(self, X: Any, rng: Generator) -> int:
        self._draw_frequencies(rng, X.shape[1], self._n_frequencies())
        self.offsets_ = rng.uniform(0, 2 * np.pi, self.n_components % 2)
        return self.n_components


@register("orf")
class ORF(GaussianFourier):
    """Orthogonal random features of the Gaussian kernel, w from sqrt(2 gamma) S Q (Yu et al. 2016, sec. 3).

    Q has rows of a random rotation, up to d orthogonal frequencies in each block. S gives each the length of
    a Gaussian vector, chi with d degrees of freedom. Each frequency alone is N(0, 2 gamma I), so the map is
    unbiased. With q frequencies in each block and a = gamma ||x - y||^2, the variance of random Fourier
    features is multiplied, to first order in 1 / d, by 1 - (q - 1) (a / sinh a)^2 / d.

    Parameters
    ----------
    kernel : Gaussian, default exp(-||x - y||^2)
    n_components : int, default 100
        The number D of features, a cosine and a sine for each frequency; an odd D has one more cosine.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    frequencies_ : ndarray of shape (d, number of frequencies)
        The frequencies, as columns.

    Examples
    --------
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import ORF
    >>> X, kernel = [[0.0, 0.0], [1.0, 1.0]], Gaussian(gamma=0.5)
    >>> Z = ORF(kernel, n_components=4000, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.1)
    True
    """

    facts = Facts(
        cost="d D / 2",
        variance="random_fourier's times 1 - min(1, D / 2d) (a / sinh a)^2, a = gamma ||x - y||^2",
        source="Yu, Suresh, Choromanski, Holtmann-Rice & Kumar 2016, section 3",
        use="the Gaussian kernel, in place of random_fourier; its fit takes about 2 d^2 D operations more",
    )

    def _draw_frequencies(self, rng: Generator, d: int, n_frequencies: int) -> None:
        needed = 8 * d * (n_frequencies + 3 * min(d, n_frequencies))
        self._check_memory(f"{n_frequencies:,} frequencies", needed)
        frequencies = np.empty((d, n_frequencies))
        for start in range(0, n_frequencies, d):
            block = frequencies[:, start : start + d]
            block[:] = random_rotation(rng, d, block.shape[1])
        frequencies *= np.sqrt(2 * self.kernel_.gamma * rng.chisquare(d, n_frequencies))
        self.frequencies_ = frequencies


def random_rotation(rng: Generator, d: int, n_columns: int) -> Array:
    """Return `n_columns` <= d columns of an orthogonal matrix from the Haar measure, shape (d, n_columns).

    The QR decomposition of a Gaussian matrix gives it if R has a positive diagonal, which makes it unique;
    LAPACK does not ensure this (Mezzadri 2007).
    """
    Q, R = np.linalg.qr(rng.standard_normal((d, n_columns)))
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)


class HadamardFourier(GaussianFourier):
    """Blocks of frequencies in the padded dimension m: products of Hadamard matrices H and diagonals.

    The rows are first multiplied by the diagonals signs_ (number of blocks, m), of which there may be one set
    for each H; `_middle` is the operation between the first H and the last.
    """

    min_rows: ClassVar[int] = 8  # the size of the matrix products does not depend on the number of rows

    signs_: Array

    @abstractmethod
    def _lengths(self) -> Array:
        """Return the factor of each block and frequency that turns the product into the phases <w, x>."""

    @abstractmethod
    def _middle(self, dtype: np.dtype[Any]) -> Callable[[Array], Array]:
        """Return the function of rows (n, number of blocks, m) between the H; it may overwrite the rows."""

    def _size(self) -> tuple[int, int, int]:
        """Return the number of blocks, m, and the number of frequencies of each block."""
        m, n_frequencies = next_power_of_two(int(self.n_features_in_)), self._n_frequencies()
        n_blocks = -(-n_frequencies // m)
        return n_blocks, m, -(-n_frequencies // n_blocks)

    def _phases(self, dtype: np.dtype[Any]) -> Phases:
        (n_blocks, m, width), d, n_frequencies = self._size(), int(self.n_features_in_), self._n_frequencies()
        signs = self.signs_.reshape(-1, n_blocks, m)[0, :, :d].astype(dtype)
        lengths = self._lengths().ravel()[:n_frequencies].astype(dtype)
        middle = self._middle(dtype)

        def phases_of(X: Any) -> Array:
            dense = X.toarray() if issparse(X) else X
            padded = np.zeros((len(dense), n_blocks, m), dtype)
            np.multiply(dense[:, None, :], signs, out=padded[:, :, :d])
            rows = middle(walsh_hadamard(padded.reshape(-1, m)).reshape(padded.shape))
            phases = walsh_hadamard(rows.reshape(-1, m), width).reshape(len(dense), n_blocks * width)
            return phases[:, :n_frequencies] * lengths

        return phases_of

    def _row_bytes(self, itemsize: int) -> int:
        n_blocks, m, _ = self._size()
        return itemsize * (m + 4 * n_blocks * m + self.n_components)


@register("sorf")
class SORF(HadamardFourier):
    """Structured orthogonal features, w from sqrt(2 gamma) H B_1 H B_2 H B_3 / m (Yu et al. 2016, sec. 4).

    The product gives m phases <w, x> with orthogonal w, where m is the number of features d, padded with
    zeros to a power of two. The B are diagonals of random signs, H is the Walsh-Hadamard matrix.

    The map is biased, since all frequencies have the length sqrt(2 gamma m), while a Gaussian vector's length
    varies. The bias is -a^2 k(x, y) / m to first order in 1 / m, a = gamma ||x - y||^2, at most 0.54 / m.
    The rest is due to directions that are not quite uniform. The variance is ORF's for m >= 64; for few
    features it is up to 3 times larger.

    Parameters
    ----------
    kernel : Gaussian, default exp(-||x - y||^2)
    n_components : int, default 100
        The number D of features, a cosine and a sine for each frequency; an odd D has one more cosine.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    signs_ : ndarray of shape (3, number of blocks, m)
        The diagonals of B_3, B_2 and B_1 of each block.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import SORF
    >>> X = np.zeros((2, 256))
    >>> X[1, :64] = 0.125
    >>> Z = SORF(Gaussian(gamma=1.0), n_components=4096, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1)) < 0.05)
    True
    """

    facts = Facts(
        cost="1.5 D log d",
        variance="orf's for d of at least 64, and a bias of up to 0.54 / d",
        source="Yu, Suresh, Choromanski, Holtmann-Rice & Kumar 2016, section 4",
        use="the Gaussian kernel, dense data of hundreds of features and more; fastfood has no bias",
    )

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        return "products of Hadamard matrices are not uniform rotations"

    def _draw_frequencies(self, rng: Generator, d: int, n_frequencies: int) -> None:
        n_blocks, m, _ = self._size()
        self._check_memory(f"{n_blocks * m:,} frequencies", 8 * 4 * n_blocks * m)
        self.signs_ = random_signs(rng, (3, n_blocks, m))

    def _lengths(self) -> Array:
        n_blocks, m, width = self._size()
        # H H H / m has rows of length sqrt(m); they are divided by it and multiplied by the lengths.
        return np.full((n_blocks, width), np.sqrt(m)) * np.sqrt(2 * self.kernel_.gamma / m) / m

    def _middle(self, dtype: np.dtype[Any]) -> Callable[[Array], Array]:
        _, second, third = self.signs_.astype(dtype)

        def middle(rows: Array) -> Array:
            rows *= second
            rows = walsh_hadamard(rows.reshape(-1, rows.shape[2])).reshape(rows.shape)
            rows *= third
            return rows

        return middle


@register("fastfood")
class Fastfood(HadamardFourier):
    """Fastfood features of the Gaussian kernel, w from sqrt(2 gamma / m) S H G Pi H B (Le et al. 2013).

    The product gives m phases <w, x>, where m is the number of features d, padded with zeros to a power of
    two. B has random signs, Pi is a permutation, G is Gaussian, H is the Walsh-Hadamard matrix, and S = s /
    ||G||, where the s_i have the chi distribution with m degrees of freedom. D / 2 frequencies use as many
    independent blocks as needed, the first rows of each.

    Unbiased: a row of H G is Gaussian, and Pi H B / sqrt(m) only rotates it, so its direction is uniform and
    independent of its length. S gives it the length of a Gaussian vector. So each frequency alone is exactly
    N(0, 2 gamma I). Frequencies of a block are not independent: with q frequencies in each block and
    a = gamma ||x - y||^2, the variance of random Fourier features is multiplied, to first order in 1 / m, by
    1 + (q - 1) (1 - 2 kappa) (a / sinh a)^2 / m, kappa = ||x - y||_4^4 / ||x - y||_2^4.

    Parameters
    ----------
    kernel : Gaussian, default exp(-||x - y||^2)
    n_components : int, default 100
        The number D of features, a cosine and a sine for each frequency; an odd D has one more cosine.
    random_state, n_jobs : see FeatureMap

    Attributes
    ----------
    signs_, permutations_, normals_ : ndarray of shape (number of blocks, m)
        The diagonal of B, the order Pi and the diagonal of G of each block.
    lengths_ : ndarray of shape (number of blocks, frequencies per block)
        The lengths s of the frequencies for 2 gamma = 1.

    Examples
    --------
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.maps import Fastfood
    >>> X, kernel = [[0.0, 0.0], [1.0, 1.0]], Gaussian(gamma=0.5)
    >>> Z = Fastfood(kernel, n_components=4000, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - kernel(X)).max() < 0.1)
    True
    """

    facts = Facts(
        cost="D log d",
        variance="up to 2 times random_fourier's where x - y is dense, below it where sparse",
        source="Le, Sarlos & Smola 2013",
        use="the Gaussian kernel, dense data of hundreds of features and more; orf for a smaller error",
    )

    def _draw_frequencies(self, rng: Generator, d: int, n_frequencies: int) -> None:
        n_blocks, m, width = self._size()
        self._check_memory(f"{n_blocks * m:,} frequencies", 8 * 4 * n_blocks * m)
        self.signs_ = random_signs(rng, (n_blocks, m))
        self.permutations_ = rng.permuted(np.tile(np.arange(m), (n_blocks, 1)), axis=1)
        self.normals_ = rng.standard_normal((n_blocks, m))
        self.lengths_ = np.sqrt(rng.chisquare(m, (n_blocks, width)))

    def _lengths(self) -> Array:
        norms = np.linalg.norm(self.normals_, axis=1, keepdims=True)
        return self.lengths_ / norms * np.sqrt(2 * self.kernel_.gamma / self.signs_.shape[1])

    def _middle(self, dtype: np.dtype[Any]) -> Callable[[Array], Array]:
        n_blocks, m = self.signs_.shape
        order = (self.permutations_ + m * np.arange(n_blocks)[:, None]).ravel()
        normals = self.normals_.ravel().astype(dtype)

        def middle(rows: Array) -> Array:
            rows = np.take(rows.reshape(-1, n_blocks * m), order, axis=1)
            rows *= normals
            return rows

        return middle
