"""Refusing what would not fit in memory before any of it is allocated."""

import psutil

from kfeat.errors import KfeatError, SolverError

USABLE = 0.9  # of the free memory


def check_memory(what: str, needed: int, instead: str, error: type[KfeatError] = SolverError) -> None:
    """Raise `error` if `needed` bytes for `what` are not free, saying what to do `instead`."""
    free = psutil.virtual_memory().available
    if needed > USABLE * free:
        raise error(f"{what} takes {needed:,} bytes, {free:,} are free: {instead}")
