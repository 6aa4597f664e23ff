"""Rows of a Gram matrix, computed in blocks by matrix products and kept in single precision."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import SolverError

BLOCK = 256  # rows computed at once: their temporaries are small beside what is kept
SUMMED = 32  # rows converted to double precision at once, which stay in a processor's cache


class KernelRows:
    """K[i], i < n, on demand; the rows that were asked for least recently make way for others.

    `values` gives K[rows] for positions `rows`, shape (rows, n); at most `capacity` rows are kept, or as many
    as are asked for at once. Like LIBSVM's cache they are float32.
    """

    def __init__(self, values: Callable[[Any], NDArray[Any]], n: int, capacity: int) -> None:
        self._values = values
        self._n = n
        self._capacity = capacity
        self._kept: dict[int, NDArray[np.float32]] = {}  # in the order in which they were last asked for

    def among(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return K[rows][:, rows] in double precision."""
        H = np.empty((len(rows), len(rows)))
        for k, row in enumerate(self._get(rows)):
            H[k] = row[rows]
        return H

    def combined(self, rows: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sum_i weights_i K[rows_i], shape (n,), summed in double precision."""
        total = np.zeros(self._n)
        kept = self._get(rows)
        for start in range(0, len(rows), SUMMED):
            some = slice(start, start + SUMMED)
            total += weights[some] @ np.array(kept[some], dtype=np.float64)
        return total

    def _get(self, rows: NDArray[np.intp]) -> list[NDArray[np.float32]]:
        """Return K[rows], those that are missing computed."""
        wanted = rows.tolist()
        found = {i: self._kept.pop(i) for i in wanted if i in self._kept}
        missing = [i for i in wanted if i not in found]
        while self._kept and len(self._kept) + len(wanted) > self._capacity:
            del self._kept[next(iter(self._kept))]
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            for i, row in zip(block, self._computed(block), strict=True):
                found[i] = row.copy()  # a view would keep the block
        self._kept |= found
        return [found[i] for i in wanted]

    def _computed(self, block: list[int]) -> NDArray[np.float32]:
        K = self._values(block).astype(np.float32, copy=False)
        if not np.isfinite(K).all():
            raise SolverError("kernel values are not finite: scale the features down")
        return K
