"""Diagnose a fitted map on given data: which columns are useful, and how large the kernel errors are."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from scipy.sparse.linalg import eigsh
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from kfeat.errors import ParameterError
from kfeat.kernels.operands import canonical, check_finite, generator

CONFIDENCE = 0.95


class ColumnCounts(NamedTuple):
    """Numbers of columns: those that vary, those that are zero, those that are constant but not zero."""

    live: int
    zero: int
    constant: int


@dataclass(frozen=True)
class Estimate:
    """An estimate, from a sample of the rows, with a 95 % confidence interval for the value on all rows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Diagnosis:
    """What `FeatureMap.diagnose` finds on a sample of m rows.

    Errors are e_ij = <z(x_i), z(x_j)> - k_ij, where k_ij is the exact kernel minus `offset`. They are taken
    over all pairs i != j; the spectral error includes the pairs i = j.

    Attributes
    ----------
    n_rows, n_columns : int
        The shape of the feature matrix of the sample.
    zero, constant, duplicate : int
        The numbers of columns that are 0, the same in all rows but not 0, and equal to an earlier column that
        varies.
    effective_rank : float
        exp(-sum p_i log p_i), with p the eigenvalues of Z^T Z over their sum.
    offset : float
        The constant that the map leaves out of the kernel: its `kernel_offset_`.
    relative_frobenius : Estimate
        sqrt(sum e_ij^2 / sum k_ij^2).
    mean_absolute : Estimate
        mean |e_ij|.
    mean_relative : Estimate
        mean |e_ij| / |k_ij|, over the pairs with k_ij != 0.
    maximum : float
        max |e_ij| in the sample. It has no interval, since more rows can only raise it.
    relative_spectral : float
        ||Z Z^T - K||_2 / ||K||_2 (Yang et al., ICML 2014). It has no interval, since the jackknife is not
        valid for a largest eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import Polynomial
    >>> from kfeat.maps import RandomMaclaurin
    >>> X = np.random.default_rng(0).random((50, 3))
    >>> found = RandomMaclaurin(Polynomial(2), n_components=200, random_state=0).fit(X).diagnose(X)
    >>> found.n_columns, found.zero > 100  # columns whose degree is not 2 are 0
    (200, True)
    >>> found.relative_frobenius.low <= found.relative_frobenius.value <= found.relative_frobenius.high
    True
    """

    n_rows: int
    n_columns: int
    zero: int
    constant: int
    duplicate: int
    effective_rank: float
    offset: float
    relative_frobenius: Estimate
    mean_absolute: Estimate
    mean_relative: Estimate
    maximum: float
    relative_spectral: float


def diagnose(fitted: Any, X: Any, n_rows: int = 1000, random_state: Any = 0) -> Diagnosis:
    """Return the diagnosis of a fitted map on `n_rows` rows of X (all if it has fewer), drawn at random."""
    rows, unseen = sampled_rows(X, n_rows, random_state)
    Z = fitted.transform(rows).astype(np.float64)
    counts, G = column_counts(Z), gram_matrix(Z)
    return Diagnosis(
        n_rows=Z.shape[0],
        n_columns=Z.shape[1],
        zero=counts.zero,
        constant=counts.constant,
        duplicate=counts.live - distinct_columns(Z),
        effective_rank=effective_rank(G),
        offset=fitted.kernel_offset_,
        **kernel_errors(fitted, rows, G, unseen),
    )


def sampled_rows(X: Any, n_rows: int, random_state: Any) -> tuple[Any, float]:
    """Return up to `n_rows` rows of X, drawn without replacement, and the share of rows that stay unseen."""
    if not hasattr(X, "iloc"):  # a data frame keeps its column names, which a fitted map checks
        X = check_array(canonical(X), accept_sparse="csr")
    n = X.shape[0]
    if n_rows < 3 or n < 3:
        raise ValueError(f"a diagnosis needs at least 3 rows, got n_rows={n_rows} of n_samples={n}")
    m = min(n_rows, n)
    if m == n:
        return X, 0.0
    rows = np.sort(generator(random_state).choice(n, size=m, replace=False))
    return (X.iloc[rows] if hasattr(X, "iloc") else X[rows]), 1 - m / n


def held_out_rows(X: Any, n_rows: int, random_state: Any) -> tuple[Any, Any]:
    """Return `n_rows` rows of X, drawn without replacement, and all others.

    Raises ParameterError if fewer than 2 others remain.
    """
    X = check_array(canonical(X), accept_sparse="csr")
    n = X.shape[0]
    if n_rows < 3 or n_rows > n - 2:
        raise ParameterError(
            f"n_rows: expected 3 to {n - 2:,} rows to hold out of {n:,}, so that the map can learn from "
            f"others, got {n_rows:,}"
        )
    order = generator(random_state).permutation(n)
    return X[np.sort(order[:n_rows])], X[np.sort(order[n_rows:])]


def gram_matrix(Z: Any) -> NDArray[np.float64]:
    """Return Z Z^T of Z (n, D), dense or CSR, as an array; raises DataError if numbers overflow."""
    with np.errstate(all="ignore"):
        G = Z @ Z.T
    G = G.toarray() if issparse(G) else G
    check_finite(G, "inner products of features")
    return G


def unit_of(*matrices: NDArray[np.float64]) -> float:
    """Return the power of two that is next to the largest number: a division by it rounds nothing."""
    return float(2.0 ** (np.frexp(max(np.abs(matrix).max() for matrix in matrices))[1] - 1))


def kernel_errors(fitted: Any, rows: Any, estimates: NDArray[np.float64], unseen: float) -> dict[str, Any]:
    """Return the kernel errors of a Diagnosis from the map's `estimates` of the kernel between all `rows`."""
    K = np.asarray(fitted.kernel_(rows.astype(np.float64)), dtype=np.float64) - fitted.kernel_offset_
    unit = unit_of(K, estimates)
    K /= unit  # so that squares of large kernel values do not overflow
    error = estimates / unit - K
    spectral = spectral_norm(K)
    relative_spectral = spectral_norm(error) / spectral if spectral > 0 else np.nan
    error = np.abs(error, out=error)
    mean = over_pairs(error, np.ones_like(K), unseen)
    return {
        "relative_frobenius": over_pairs(error**2, K**2, unseen, np.sqrt),
        "mean_absolute": Estimate(mean.value * unit, mean.low * unit, mean.high * unit),
        "mean_relative": over_pairs(
            np.divide(error, np.abs(K), out=np.zeros_like(K), where=K != 0), (K != 0) * 1.0, unseen
        ),
        "maximum": float(error[~np.eye(K.shape[0], dtype=bool)].max()) * unit,
        "relative_spectral": relative_spectral,
    }


def spectral_norm(A: NDArray[np.float64]) -> float:
    """Return the largest absolute eigenvalue of a symmetric matrix by Lanczos, from a fixed start."""
    if not A.any():
        return 0.0
    # A start with no symmetry of the data's own, so that it is orthogonal to no eigenvector but by chance.
    start = np.random.default_rng(0).standard_normal(len(A))
    return float(abs(eigsh(A, k=1, v0=start, tol=1e-8, return_eigenvectors=False)[0]))


def over_pairs(
    numerator: NDArray[np.float64],
    denominator: NDArray[np.float64],
    unseen: float,
    function: Callable[[Any], Any] = lambda ratio: ratio,
) -> Estimate:
    """Return function(sum numerator / sum denominator) over i != j, with an interval.

    The interval comes from the jackknife over rows, since rows are independent and pairs are not. Leaving out
    row i subtracts twice its sum. `unseen` is the share of rows outside the sample; only they are uncertain.
    """
    sums = []
    for matrix in (numerator, denominator):
        by_row = matrix.sum(axis=1) - np.diagonal(matrix)
        sums.append((by_row.sum(), by_row.sum() - 2 * by_row))
    (top, tops), (bottom, bottoms) = sums
    if not (bottoms > 0).all():
        return Estimate(np.nan, np.nan, np.nan)  # the kernel is zero on the sample: no ratio is defined
    value, without = float(function(top / bottom)), function(tops / bottoms)
    m = len(without)
    deviation = np.sqrt(unseen * (m - 1) / m * ((without - without.mean()) ** 2).sum())
    margin = float(special.ndtri(0.5 + CONFIDENCE / 2) * deviation)
    return Estimate(value, max(value - margin, 0.0), value + margin)


def column_counts(Z: Any) -> ColumnCounts:
    """Return how many columns of a feature matrix (n, D) vary, are zero, or are constant."""
    counter = ColumnCounter()
    counter.see(Z)
    return counter.counts()


class ColumnCounter:
    """Counts which columns of a feature matrix vary, over blocks of its rows."""

    def __init__(self) -> None:
        self._first: Any = None

    def see(self, Z: Any) -> None:
        """Compare one or more rows (m, D) with the first row seen."""
        Z = canonical(Z)
        if self._first is None:
            self._first = np.array(Z[:1].toarray() if issparse(Z) else Z[:1])[0]
            self._same = np.arange(len(self._first))
        if issparse(Z):
            self._same = self._same[self._equal_in(Z)[self._same]]
            return
        for block in gen_batches(Z.shape[0], 1024):
            if len(self._same):  # usually every column varies in the first block
                equal = Z[block][:, self._same] == self._first[self._same]
                self._same = self._same[equal.all(axis=0)]

    def _equal_in(self, Z: Any) -> NDArray[np.bool_]:
        """Return which columns of CSR rows equal the first row seen, from counts of their stored numbers."""
        D, stored = len(self._first), Z.data != 0
        equal = stored & (Z.data == self._first[Z.indices])
        n_stored, n_equal = (np.bincount(Z.indices[which], minlength=D) for which in (stored, equal))
        return np.where(self._first == 0, n_stored == 0, n_equal == Z.shape[0])

    def counts(self) -> ColumnCounts:
        """Return the counts over the rows seen."""
        zero = int((self._first[self._same] == 0).sum())
        return ColumnCounts(len(self._first) - len(self._same), zero, len(self._same) - zero)


def distinct_columns(Z: Any) -> int:
    """Return the number of different columns of Z (n, D), dense or CSR, among those that vary."""
    if issparse(Z):
        C = Z.tocsc()
        C.eliminate_zeros()
        columns = [(C.indices[a:b], C.data[a:b]) for a, b in pairwise(C.indptr) if a < b]
        return len(
            {
                (rows.tobytes(), values.tobytes())
                for rows, values in columns
                if len(rows) < C.shape[0] or (values != values[0]).any()
            }
        )
    varying = Z[:, (Z[0] != Z).any(axis=0)]
    return len({column.tobytes() for column in np.ascontiguousarray(varying.T + 0.0)})


def effective_rank(G: NDArray[np.float64]) -> float:
    """Return the exponential of the entropy of the eigenvalues of G = Z Z^T; 0 where G is zero."""
    values = np.linalg.eigvalsh(G / unit_of(G)).clip(min=0)
    if not values.sum() > 0:
        return 0.0
    p = values[values > 0] / values.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
