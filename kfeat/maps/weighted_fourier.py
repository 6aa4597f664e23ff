"""The base class of weighted Fourier features: cosines and sines times square roots of learnt weights."""

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Kernel
from kfeat.kernels.distances import DENSE_FROM
from kfeat.kernels.operands import as_operand, canonical
from kfeat.maps.base import Array
from kfeat.maps.blocks import map_in_blocks, rows_per_block
from kfeat.maps.random_fourier import RandomFourier

Sign = Literal["nonnegative", "absolute", "signed"]
FULL_EXCHANGES = 3  # full exchanges without progress, before indices are exchanged one by one
UNSOLVABLE = (
    "the equations of the weights are singular in double precision: raise the regularisation (for Bayesian "
    "quadrature the jitter), or take fewer components"
)
STEPS = 10  # largest number of steps per weight: with more, rounding prevents the end of the search
BLOCK = 256  # rows of a Gram block
CANDIDATES = 1024  # pairs drawn at a time


@dataclass(eq=False, repr=False)
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

    features: Literal["pairs", "offset"] = field(default="pairs", init=False)  # not a parameter here

    @property
    def bias(self) -> str:
        """Why the estimates are biased."""
        return "its weights are learnt from the rows"

    @abstractmethod
    def _learn(self, X: Any, rng: Generator) -> Array:
        """Return the weights of frequencies_ for data X."""

    def _draw(self, X: Any, rng: Generator) -> int:
        width = super()._draw(X, rng)
        n = self.frequencies_.shape[1]
        self._check_memory(f"{n:,} weights that are learnt", 96 * n**2)
        self.weights_ = self._learn(X, rng)
        return width

    def _scales(self) -> Array:
        return np.sqrt(self.weights_ * self._factors())

    def _factors(self) -> Array:
        """Return the factor of each weight under the root: 1 for a pair, 2 for a cosine with an offset."""
        return np.repeat([1.0, 2.0], [self._n_pairs(), len(self.offsets_)])

    def plain_weights(self) -> Array:
        """Return the equal weights of the plain map; their sum is 1."""
        return 2 / self.n_components / self._factors()

    @property
    def has_features(self) -> bool:
        """Whether the weights have square roots; signed weights may be below 0 and have none."""
        return self.sign != "signed"

    def transform(self, X: Any, out: Array | None = None) -> Any:
        """Return the features of X (n, d), as in every map.

        Raises ParameterError for sign="signed": features need the square roots of the weights, and a weight
        below 0 has none. Use `approximate_kernel` instead.
        """
        if not self.has_features:
            raise ParameterError(
                f"{type(self).__name__}: signed weights have no square roots, so there are no features: call "
                "approximate_kernel(X, Y) for the kernel, or choose another `sign`"
            )
        return super().transform(X, out)

    def approximate_kernel(self, X: Any, Y: Any = None) -> Array:
        """Return the sum over i of w_i cos <v_i, x - y> for all rows of X (n, d) and Y (m, d), shape (n, m).

        Y is X by default. It equals transform(X) @ transform(Y).T if the map has features.
        """
        check_is_fitted(self)
        waves, others = (
            self._waves(validate_data(self, canonical(rows), accept_sparse="csr", reset=False))
            for rows in (X, X if Y is None else Y)
        )
        return (waves * self.weights_[self._frequency_of_column()]) @ others.T

    def _frequency_of_column(self) -> NDArray[np.int64]:
        return np.r_[: self.frequencies_.shape[1], : self._n_pairs()]

    def _waves(self, X: Any) -> Array:
        """Return the features of X with weights 1, in double precision."""
        unweighted = copy(self)
        unweighted.weights_ = np.ones(self.frequencies_.shape[1])
        rows = as_operand(X)
        waves = np.empty((rows.shape[0], len(self._frequency_of_column())))
        step = rows_per_block(8 * (rows.shape[1] + waves.shape[1]), self.min_rows)
        map_in_blocks(unweighted._block_mapper(waves.dtype), rows, waves, step, 1)
        return waves

    def _sampled(self, X: Any, n_rows: int, rng: Generator) -> Any:
        """Return up to `n_rows` rows of X in random order and double precision, to learn weights from.

        They are dense or CSR according to their values, so that equal data in any form give equal weights.
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
        """Return the sum of the weights, and the shares of negative weights and of zero weights."""
        return {
            "weight_sum": float(self.weights_.sum()),
            "negative_share": float((self.weights_ < 0).mean()),
            "zero_share": float((self.weights_ == 0).mean()),
        }


def weights_by(sign: Sign, A: Array, b: Array, start: NDArray[np.bool_] | None = None) -> Array:
    """Return the weights that minimise <w, A w> - 2 <b, w> under a rule for signs; A is positive definite.

    "signed" is the minimum over all numbers, "absolute" its absolute values, and "nonnegative" the minimum
    over numbers of at least 0; the search begins at `start`.
    """
    if sign == "nonnegative":
        return nonnegative_minimum(A, b, start)
    w = minimum(A, b)
    return w if sign == "signed" else np.abs(w)


def minimum(A: Array, b: Array) -> Array:
    """Return A^-1 b; raises ParameterError if A is not positive definite."""
    try:
        # LAPACK takes the transpose of a C-ordered copy without another copy, and overwrites it.
        factor = cho_factor(np.array(A, order="C").T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise ParameterError(UNSOLVABLE) from None
    return cho_solve(factor, b, check_finite=False)


def nonnegative_minimum(A: Array, b: Array, start: NDArray[np.bool_] | None = None) -> Array:
    """Return the minimum over w >= 0 by block principal pivoting (Portugal, Judice & Vicente 1994).

    Each step minimises over the free indices with the others at 0. Then all indices that violate an
    optimality condition (a free w_i below 0, or a gradient below 0 at a w_i fixed at 0) are exchanged.
    Without progress only the last one is exchanged, which terminates for every positive definite A (Murty's
    rule). It takes a few Cholesky factorisations, while active set methods take a step per weight. `start`
    has the indices that are free at first: all, or those of a similar problem.
    """
    free = np.ones(len(b), dtype=bool) if start is None else start
    fewest, tries = len(b) + 1, FULL_EXCHANGES
    tolerance = len(b) * np.finfo(np.float64).eps * float(np.abs(b).max(initial=0))
    for _ in range(STEPS * len(b)):
        w = np.zeros_like(b)
        w[free] = minimum(A if free.all() else A[np.ix_(free, free)], b[free])
        broken = np.where(free, w < 0, A @ w - b < -tolerance)
        count = int(broken.sum())
        if not count:
            return w
        if count < fewest:
            fewest, tries = count, FULL_EXCHANGES
        else:
            tries -= 1
        if tries < 0:
            broken[: np.flatnonzero(broken)[-1]] = False
        free = free ^ broken
    raise ParameterError(UNSOLVABLE)


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
    """Raise ParameterError if the rows have fewer than `n_pairs` pairs."""
    m = rows.shape[0]
    if n_pairs > m**2:
        raise ParameterError(
            f"{name}: expected n_pairs of at most {m**2:,}, since {m:,} rows have no more, got {n_pairs:,}: "
            "take fewer, or more rows"
        )


def folded(products: Array, n_frequencies: int) -> Array:
    """Return cosine plus sine columns for each frequency, in place; the sines come after all cosines."""
    out = products[..., :n_frequencies]
    out[..., : products.shape[-1] - n_frequencies] += products[..., n_frequencies:]
    return out


def equations(products: Array, b: Array, K2: float, size: float, n: int) -> PairEquations:
    """Return the equations of n frequencies from sums over pairs; `products` is Z^T Z of the rows."""
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

    Let Z (m x 2 n) be the features of m rows with weights 1. c_i(x, y) is the product of the cosines plus
    that of the sines. So the sum of c_i c_j over all m^2 pairs is the sum of the squares of the four entries
    of Z^T Z for i and j, and the sum of k c_i is that of the two entries of diag(Z^T K Z). This takes
    O(m n^2 + m^2 n) operations; the matrix of all pairs would take O(m^2 n^2).
    """
    held_out, others = (rows[:n_held], waves[:n_held]), (rows[n_held:], waves[n_held:])
    products = [part[1].T @ part[1] for part in (held_out, others)]
    (b, K2), (b_others, K2_others), (b_between, K2_between) = (
        kernel_sums(kernel, *left, *right)
        for left, right in ((held_out, held_out), (others, others), (held_out, others))
    )
    b_all, K2_all = b + b_others + 2 * b_between, K2 + K2_others + 2 * K2_between
    m, n = len(waves), n_frequencies
    of_held = equations(products[0], b, K2, n_held**2, n)
    of_others = equations(products[1], b_others, K2_others, (m - n_held) ** 2, n)
    products[0] += products[1]
    return of_held, of_others, equations(products[0], b_all, K2_all, m**2, n)


def kernel_sums(kernel: Kernel, X: Any, waves: Array, Y: Any, other_waves: Array) -> tuple[Array, float]:
    """Return the sums over all pairs of k(x, y) times the products of their features, and of k(x, y)^2."""
    b, K2 = np.zeros(waves.shape[1]), 0.0
    for block in gen_batches(len(waves), BLOCK):
        K = kernel(X[block], Y)
        b += np.einsum("ij,ij->j", waves[block], K @ other_waves)
        K2 += float(np.vdot(K, K))
    return b, K2


def sampled_pairs(
    rows: Any, waves: Array, kernel: Kernel, largest: Array, n_pairs: int, rng: Generator
) -> PairEquations:
    """Return the equations of `n_pairs` of the m^2 pairs, drawn in proportion to the norms ||c(x, y)||.

    The pairs are drawn with replacement by rejection from uniform draws. A pair has the weight 1 / ||c||, so
    that the equations are unbiased for those of all pairs, up to a common factor. `largest` has the bounds of
    |c_i|.
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
