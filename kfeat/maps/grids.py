"""Random grids: the code of the cell in which a row lies.

A grid cuts each column of the data into bins: value x of column j is in bin floor(x / w_j + s_j), for a
width w_j and a shift s_j in [0, 1). The code of a cell is the sum of its bins times random integers. The sums
stay below 2^53, so double precision adds them exactly in any order: blocks, threads, dense and sparse rows
give the same codes bit for bit. Two different cells share a code with probability 2^-b, for multipliers of b
bits.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import min_max_axis

from kfeat.errors import DataError

BLOCK = 8192  # rows at a time: NumPy multiplies shorter runs by a scalar four times slower
COLUMNS = 16  # columns at a time, whose bins take 1 MB
EXACT = 53  # bits of an integer in double precision
GLANCE = 64  # rows that show for most columns that they have more than two values

Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """The smallest and the largest value of each column, shape (d,) each."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Any) -> "Limits":
        """Return those of X, dense or CSR."""
        low, high = min_max_axis(X, axis=0) if issparse(X) else (X.min(axis=0), X.max(axis=0))
        return cls(low.astype(np.float64), high.astype(np.float64))

    def within(self, outer: "Limits") -> bool:
        """Return whether all values lie within other limits."""
        return bool((self.low >= outer.low).all() and (self.high <= outer.high).all())


class RandomGrids(NamedTuple):
    """G grids of d columns: inverse widths, shifts and integer multipliers, shape (G, d) each."""

    inverse_widths: Floats
    shifts: Floats
    multipliers: Floats

    def bins(self, x: Floats) -> Floats:
        """Return the bin of each value of x (d,) in each grid, shape (G, d)."""
        return np.floor(x * self.inverse_widths + self.shifts)

    def bits(self, limits: Limits) -> int:
        """Return the most bits that multipliers can have: the codes of rows within the limits are exact."""
        largest = np.maximum(*(np.abs(self.bins(edge)) for edge in limits)).sum(axis=1).max()
        return EXACT - 1 - int(np.log2(largest + 1))

    def codes(self, X: Any, limits: Limits | None = None) -> NDArray[np.int64]:
        """Return the codes of the cells of rows X (n, d), dense or CSR, shape (G, n).

        Values beyond the limits are moved to them. Raises DataError if a code would not be exact.
        """
        codes = np.empty((len(self.multipliers), X.shape[0]), np.int64)
        for rows in gen_batches(X.shape[0], BLOCK):
            block = X[rows]
            reached = Limits.of(block)
            if limits is not None and not reached.within(limits):
                block = _moved(block, limits)
                reached = Limits.of(block)
            if (self.multipliers.max(axis=1) * 2.0 ** -self.bits(reached)).max() > 1:
                raise DataError(
                    f"the rows reach from {reached.low.min():.3g} to {reached.high.max():.3g}, which is too "
                    "many bins to tell apart: scale the columns, or lower gamma"
                )
            codes[:, rows] = self._of_sparse(block) if issparse(block) else self._of_dense(block, reached)
        return codes

    def _of_dense(self, X: Any, limits: Limits) -> Floats:
        """Return the codes of dense rows.

        A column that lies in one bin costs nothing. The bins of a column of two values, such as an indicator,
        are linear in it, so one matrix product has all grids.
        """
        M, x = self.multipliers, np.array(X.T, dtype=np.float64, order="C")
        first, last = self.bins(limits.low), self.bins(limits.high)
        start = M * first
        pairs = _two_valued(x, limits)
        above = (x[pairs] > limits.low[pairs, None]).astype(np.float64)
        codes = (M * (last - first))[:, pairs] @ above + start.sum(axis=1)[:, None]
        cut = first != last
        cut[:, pairs] = False
        buffer = np.empty((COLUMNS, x.shape[1]))
        for g in range(len(M)):
            columns = np.flatnonzero(cut[g])
            for k in range(0, len(columns), COLUMNS):
                some = columns[k : k + COLUMNS]
                b = np.take(x, some, axis=0, out=buffer[: len(some)], mode="clip")
                b *= self.inverse_widths[g, some, None]
                b += self.shifts[g, some, None]
                np.floor(b, out=b)
                codes[g] += M[g, some] @ b - start[g, some].sum()
        return codes

    def _of_sparse(self, X: Any) -> Floats:
        """Return the codes of CSR rows: zeros are in bin 0, so only the stored values count."""
        x, j, ones = X.data.astype(np.float64), X.indices, np.ones(X.shape[1])
        codes = np.empty((len(self.multipliers), X.shape[0]))
        for total, inverse_widths, shifts, multipliers in zip(codes, *self, strict=True):
            terms = multipliers[j] * np.floor(x * inverse_widths[j] + shifts[j])
            total[:] = csr_array((terms, j, X.indptr), shape=X.shape) @ ones
        return codes


def _moved(X: Any, limits: Limits) -> Any:
    """Return rows with the values beyond the limits moved to them."""
    if not issparse(X):
        return X.astype(np.float64).clip(*limits)
    moved = X.data.astype(np.float64).clip(limits.low[X.indices], limits.high[X.indices])
    return csr_array((moved, X.indices, X.indptr), shape=X.shape)


def _two_valued(x: Floats, limits: Limits) -> NDArray[np.intp]:
    """Return the columns, here rows of x, that have two different values and no other."""

    def without_others(which: NDArray[np.intp], stop: int | None) -> NDArray[np.intp]:
        some = x[which, :stop]
        outer = (some == limits.low[which, None]) | (some == limits.high[which, None])
        return which[outer.all(axis=1)]

    return without_others(without_others(np.flatnonzero(limits.low < limits.high), GLANCE), None)
