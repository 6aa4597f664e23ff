"""Blocks of rows, mapped in threads with one BLAS thread each."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches
from threadpoolctl import ThreadpoolController

from kfeat.kernels.operands import Objects, check_finite

CACHE_BYTES = 2**21  # working memory of a block: measured best on a core with 1 MB of second-level cache
MAX_BYTES = 2**24  # largest working memory of a block with the minimum number of rows


def rows_per_block(row_bytes: int, min_rows: int) -> int:
    """Return the number of rows of a block, for this working memory per row."""
    return max(CACHE_BYTES // row_bytes, min(min_rows, MAX_BYTES // row_bytes), 1)


def map_in_blocks(
    mapper: Callable[[Any, NDArray[Any]], None], X: Any, out: NDArray[Any], step: int, n_jobs: int | None
) -> None:
    """Call `mapper(rows of X, rows of out)` for every `step` rows, in `n_jobs` threads.

    The mapper gets blocks in out's dtype, dense blocks C-contiguous and sparse ones as CSR. `n_jobs` is as in
    joblib: None is one thread unless `joblib.parallel_config` says otherwise, -1 all cores. Raises DataError
    if a feature is not finite.
    """
    blocks = list(gen_batches(X.shape[0], step))
    threads = min(effective_n_jobs(n_jobs), len(blocks))

    def map_one(rows: slice) -> None:
        with np.errstate(all="ignore"):
            mapper(block_of(X, rows, out.dtype), out[rows])
        check_finite(out[rows], "features")

    if threads <= 1:
        for rows in blocks:
            map_one(rows)
        return
    # With several threads, each must not start further threads of BLAS.
    with one_blas_thread():
        pool = ThreadPoolExecutor(threads)
        try:
            for _ in pool.map(map_one, blocks):
                pass
        finally:
            pool.shutdown(cancel_futures=True)


def block_of(X: Any, rows: slice, dtype: np.dtype[Any]) -> Any:
    """Return these rows of X; a view if X is C-ordered and has this dtype."""
    if isinstance(X, Objects):
        return X[rows]
    if not issparse(X):
        return np.ascontiguousarray(X[rows], dtype=dtype)
    start, stop = X.indptr[rows.start], X.indptr[rows.stop]
    parts = (
        X.data[start:stop].astype(dtype, copy=False),
        X.indices[start:stop],
        X.indptr[rows.start : rows.stop + 1] - start,
    )
    return csr_array(parts, shape=(rows.stop - rows.start, X.shape[1]), copy=False)


class _Within:
    """The number of calls that limit BLAS to one thread, and the limit."""

    def __init__(self) -> None:
        self.lock, self.calls, self.limit = Lock(), 0, ExitStack()


_within = _Within()


def _reset_within() -> None:
    global _within
    _within = _Within()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_within)  # another thread may have held the lock


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of overlapping calls has ended.

    With separate limits, the second of two overlapping calls would restore one thread as the old limit.
    """
    within = _within
    with within.lock:
        if not within.calls:
            within.limit.enter_context(blas().limit(limits=1, user_api="blas"))
        within.calls += 1
    try:
        yield
    finally:
        with within.lock:
            within.calls -= 1
            if not within.calls:
                within.limit.close()


@cache
def blas() -> ThreadpoolController:
    """Return the controller of the BLAS libraries in this process, cached since finding them takes time."""
    return ThreadpoolController()
