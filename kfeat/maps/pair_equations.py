"""Least squares of kernel values on the cosines of pairs of rows, without the matrix of all pairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from kfeat.errors import ParameterError
from kfeat.kernels import Kernel

Array = NDArray[np.float64]
BLOCK = 256  # rows of a Gram block
CANDIDATES = 1024  # pairs that are drawn at a time


@dataclass(frozen=True)
class PairEquations:
    """The weighted mean over pairs of (k(x, y) - <w, c(x, y)>)^2, which is K2 - 2 <b, w> + <w, A w>.

    c(x, y) are the cosines cos <v_i, x - y> of the frequencies v_i; A and b are the means of c c^T and k c,
    K2 that of k^2, and `size` is the sum of the pairs' own weights.
    """

    A: Array
    b: Array
    K2: float
    size: float

    def relative_error(self, w: Array) -> float:
        """Return sqrt(sum (k - <w, c>)^2 / sum k^2) over the pairs."""
        squares = float(self.K2 - 2 * (self.b @ w) + w @ (self.A @ w))
        return float(np.sqrt(max(squares, 0) / self.K2))


def check_pairs(name: str, n_pairs: int, rows: Any) -> None:
    """Raise ParameterError where `n_pairs` are more than the rows have."""
    m = rows.shape[0]
    if n_pairs > m**2:
        raise ParameterError(
            f"{name}: expected n_pairs of at most {m**2:,}, since {m:,} rows have no more, got {n_pairs:,}: "
            "take fewer, or more rows"
        )


def folded(products: Array, n_frequencies: int) -> Array:
    """Return cosine plus sine columns, which stand after all cosines, summed for each frequency; in place."""
    out = products[..., :n_frequencies]
    out[..., : products.shape[-1] - n_frequencies] += products[..., n_frequencies:]
    return out


def equations(products: Array, b: Array, K2: float, size: float, n: int) -> PairEquations:
    """Return the equations of n frequencies from sums over pairs; `products` is Z^T Z of their rows."""
    n_sines = len(b) - n
    A = products[:n, :n] ** 2
    A[:n_sines, :n_sines] += products[n:, n:] ** 2
    A[:, :n_sines] += products[:n, n:] ** 2
    A[:n_sines] += products[n:, :n] ** 2
    A /= size
    return PairEquations(A, folded(b, n) / size, K2 / size, size)


def all_pairs(
    rows: Any, waves: Array, kernel: Kernel, n_frequencies: int, n_held: int
) -> tuple[PairEquations, PairEquations, PairEquations]:
    """Return the equations of all pairs of the first `n_held` rows, of the other rows, and of all rows.

    Of m rows with the features Z at weights of 1 (m x 2 n): as c_i(x, y) is the product of the cosines plus
    that of the sines, the sum of c_i c_j over all m^2 pairs is that of the squares of the four entries of
    Z^T Z that belong to i and j, and the sum of k c_i that of the two of diag(Z^T K Z). This takes
    O(m n^2 + m^2 n), where the matrix of the pairs would take O(m^2 n^2).
    """
    held, others = (rows[:n_held], waves[:n_held]), (rows[n_held:], waves[n_held:])
    products = [part[1].T @ part[1] for part in (held, others)]
    (b, K2), (b_others, K2_others), (b_between, K2_between) = (
        kernel_sums(kernel, *one, *two) for one, two in ((held, held), (others, others), (held, others))
    )
    b_all, K2_all = b + b_others + 2 * b_between, K2 + K2_others + 2 * K2_between
    m, n = len(waves), n_frequencies
    of_held = equations(products[0], b, K2, n_held**2, n)
    of_others = equations(products[1], b_others, K2_others, (m - n_held) ** 2, n)
    products[0] += products[1]
    return of_held, of_others, equations(products[0], b_all, K2_all, m**2, n)


def kernel_sums(kernel: Kernel, X: Any, waves: Array, Y: Any, other_waves: Array) -> tuple[Array, float]:
    """Return the sums over all pairs of k(x, y) times the products of their waves, and of k(x, y)^2."""
    b, K2 = np.zeros(waves.shape[1]), 0.0
    for block in gen_batches(len(waves), BLOCK):
        K = kernel(X[block], Y)
        b += np.einsum("ij,ij->j", waves[block], K @ other_waves)
        K2 += float(np.vdot(K, K))
    return b, K2


def sampled_pairs(
    rows: Any, waves: Array, kernel: Kernel, largest: Array, n_pairs: int, rng: np.random.Generator
) -> PairEquations:
    """Return the equations of `n_pairs` of the m^2 pairs, drawn in proportion to the norms ||c(x, y)||.

    By rejection from uniform draws, with replacement; a pair counts with 1 / ||c||, so that the equations are
    unbiased for those of all pairs, up to a common factor. `largest` are the bounds of |c_i|.
    """
    m, n = len(waves), len(largest)
    A, b, K2, size, left = np.zeros((n, n)), np.zeros(n), 0.0, 0.0, n_pairs
    bound = np.linalg.norm(largest)
    origin = np.zeros((1, rows.shape[1]))
    while left:
        i, j = rng.integers(m, size=(2, CANDIDATES))
        heights = bound * rng.random(CANDIDATES)
        c = folded(waves[i] * waves[j], n)
        norms = np.linalg.norm(c, axis=1)
        taken = np.flatnonzero(heights < norms)[:left]
        k = kernel(rows[i[taken]] - rows[j[taken]], origin)[:, 0]
        counts = 1 / norms[taken]
        c = c[taken] * np.sqrt(counts)[:, None]
        A += c.T @ c
        b += (k * np.sqrt(counts)) @ c
        K2, size, left = K2 + float(counts @ k**2), size + float(counts.sum()), left - len(taken)
    return PairEquations(A / size, b / size, K2 / size, size)
