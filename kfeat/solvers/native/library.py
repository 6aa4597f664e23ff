"""Calling LIBLINEAR and LIBSVM: one thread at a time, messages collected, random numbers seeded."""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from kfeat.errors import DataError
from kfeat.kernels.forks import is_forked

PRINT_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
C_INT_MAX = 2**31 - 1
_C_LIBRARY: Any = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)

_lock = Lock()


def _new_lock() -> None:
    """Start anew in a forked child: another thread of the parent may have held the lock."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Keep all other threads out of the C libraries.

    Their print functions and rand() are global to the process, and so are the random numbers of the LIBLINEAR
    inside scikit-learn.
    """
    with _lock:
        yield


@contextmanager
def solving(set_print_function: Callable[[Any], None], seed: int | None) -> Iterator[list[str]]:
    """Collect what the library prints in the list that is yielded; rand() starts from `seed`.

    None stands for the state in which the C library itself starts (seed 1), as in a fresh process.
    """
    messages: list[str] = []
    listen = PRINT_FUNCTION(lambda text: messages.append(text.decode("ascii", "replace")))
    with one_at_a_time():
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
    cores of a run that was meant to have one. In a forked child it is one thread, see `kfeat.kernels.forks`.
    """
    pools = ThreadpoolController()
    caps = [pool["num_threads"] for pool in pools.info()]
    with pools.limit(limits=1 if is_forked() else min(caps, default=1), user_api="openmp"):
        yield


def structure(kind: Any, **fields: Any) -> Any:
    """Return a C structure of the packages with these fields, and all others 0.

    Their own constructors must not be called: `parameter()` and `svm_parameter()` set the print function,
    under a solve in another thread. What a field points to must be kept alive.
    """
    made = kind.__new__(kind)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def weight_fields(weights: Mapping[int, float]) -> dict[str, Any]:
    """Return the fields of both libraries' parameters that hold the factors of C by label."""
    return {
        "nr_weight": len(weights),
        "weight_label": (ctypes.c_int * len(weights))(*weights),
        "weight": (ctypes.c_double * len(weights))(*weights.values()),
    }


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
