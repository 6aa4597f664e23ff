"""Calling LIBLINEAR and LIBSVM: messages are collected, random numbers start from a known seed."""

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from kfeat.errors import DataError

PRINT_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
C_INT_MAX = 2**31 - 1
_C_LIBRARY: Any = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
# The print function and rand() are global to the process: one solve at a time.
_ONE_AT_A_TIME = Lock()


@contextmanager
def solving(set_print_function: Callable[[Any], None], seed: int | None) -> Iterator[list[str]]:
    """Collect what the library prints in the list that is yielded; rand() starts from `seed`.

    None stands for the state in which the C library itself starts (seed 1), as in a fresh process.
    """
    messages: list[str] = []
    listen = PRINT_FUNCTION(lambda text: messages.append(text.decode("ascii", "replace")))
    with _ONE_AT_A_TIME:
        _C_LIBRARY.srand(ctypes.c_uint(1 if seed is None else seed & 0xFFFFFFFF))
        set_print_function(listen)
        try:
            yield messages
        finally:
            set_print_function(PRINT_FUNCTION(0))


@contextmanager
def thread_cap() -> Iterator[None]:
    """Hold OpenMP, with which LIBSVM is built, to the smallest cap that any thread pool is under.

    A library that is loaded after `threadpool_limits` was called does not know of it: LIBSVM would take all
    cores of a run that was meant to have one.
    """
    pools = ThreadpoolController()
    caps = [pool["num_threads"] for pool in pools.info()]
    with pools.limit(limits=min(caps, default=1), user_api="openmp"):
        yield


def c_array(values: NDArray[Any], c_type: Any) -> Any:
    """Return a C pointer of `c_type` to the first of `values`, which must be kept alive."""
    return ctypes.cast(values.ctypes.data, ctypes.POINTER(c_type))


def check_sizes(library: str, **sizes: int) -> None:
    """Raise DataError if a count does not fit the C int in which the library holds it."""
    for name, size in sizes.items():
        if size > C_INT_MAX:
            raise DataError(
                f"{library} counts in C's int, at most {C_INT_MAX:,}: {name.replace('_', ' ')} would be "
                f"{size:,}; take fewer rows, features or classes"
            )
