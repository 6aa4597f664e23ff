"""How a child process starts: what it is given, since that would be too late later, and how it ends."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from threading import Lock

# Each library reads its own when it is loaded; NumPy's and SciPy's wheels bring two different OpenBLAS.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)

_environment = Lock()


@contextmanager
def threads_capped(threads: int) -> Iterator[None]:
    """Cap the threads of all numerical libraries that a process started within will ever load."""
    with _environment:
        before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back: a process started within never gets it, this one gets it afterwards.

    A terminal sends it to the child too, which would answer with a traceback while Python still starts.
    """
    resource_tracker.ensure_running()  # starting it later, within, would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Let this process end by itself once its parent is gone, even by kill -9."""
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
