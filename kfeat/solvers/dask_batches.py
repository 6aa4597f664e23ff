"""Batches of Dask arrays, whose blocks are computed one at a time."""

from collections.abc import Callable, Iterator, Sequence
from operator import add
from typing import Any, Self

import numpy as np

from kfeat.batches import Batches, Rows
from kfeat.errors import DataError


def as_batches(X: Any) -> Any:
    """Return a Dask array as batches, and anything else unchanged."""
    return DaskBatches(X) if type(X).__module__.startswith("dask.array") else X


class DaskBatches(Batches):
    """The rows of a Dask array (n, d), one batch for each chunk of rows.

    Work on a chunk and sums over chunks are tasks of Dask: with a `distributed.Client` they run on its
    workers, which need kfeat, and only results come back. Newton's method passes over the chunks many times:
    call `X.persist()` first, so that the workers keep them. Raises DataError for chunks of unknown size.
    """

    def __init__(self, X: Any, rows: Rows | None = None) -> None:
        if X.ndim != 2 or X.dtype.kind not in "fiub" or np.isnan([*X.shape, *X.chunks[0]]).any():
            raise DataError(
                f"expected a Dask array of rows of real numbers in chunks of known size, got {X!r}; "
                "X.compute_chunk_sizes() finds the sizes"
            )
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        self.X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        super().__init__(np.cumsum([0, *self.X.chunks[0]]), X.shape[1], X.dtype, rows)

    def _with_rows(self, rows: Rows) -> Self:
        return type(self)(self.X, rows)

    def each(self, function: Callable[..., Any], *aligned: Any) -> Iterator[Any]:
        """Yield function(block, *parts) for each chunk, all of which are computed at once."""
        from dask import base

        compute: Any = base.compute
        yield from compute(*self._tasks(function, aligned))

    def total(self, function: Callable[..., Any], *aligned: Any) -> Any:
        """Return the sum over the chunks; neighbours are added first, so that the workers do the sums."""
        from dask import base
        from dask.delayed import delayed

        sums, plus = self._tasks(function, aligned), delayed(add)
        while len(sums) > 1:
            pairs = [plus(a, b) for a, b in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + (sums[-1:] if len(sums) % 2 else [])
        compute: Any = base.compute
        return compute(sums[0])[0]

    def _tasks(self, function: Callable[..., Any], aligned: Sequence[Any]) -> list[Any]:
        from dask.delayed import delayed

        blocks, call = self.X.to_delayed()[:, 0], delayed(on_rows, pure=False)
        return [call(function, blocks[k], rows, *parts) for k, rows, parts in self._pieces(aligned)]


def on_rows(function: Callable[..., Any], block: Any, rows: Rows | None, *parts: Any) -> Any:
    """Return the function's value on a chunk, or on some of its rows."""
    return function(block if rows is None else block[rows], *parts)
