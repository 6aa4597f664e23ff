"""The threads that a model works with."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def working_with(threads: int) -> Iterator[None]:
    """Let maps and BLAS use so many threads within this context."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads), parallel_config(backend="threading", n_jobs=threads):
        yield
