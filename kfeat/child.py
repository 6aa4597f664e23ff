"""Child processes that can be ended at any moment: one that answers its parent, and one for a single call.

Ctrl-C in the parent kills the child at once (a solver in C would ignore it). A child whose parent is gone,
even by kill -9, ends by itself.
"""

import logging
import multiprocessing
import os
import platform
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import psutil
from threadpoolctl import threadpool_limits

from kfeat.errors import EngineError, SolverError
from kfeat.memory import limit_memory

# Each library reads its own variable when it is loaded. NumPy and SciPy each bring their own OpenBLAS.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
)  # fmt: skip
# OpenBLAS and NumPy then leave out what a processor has beyond AVX2 (NumPy's releases name it differently).
AVX2_ALONE = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL "
    "AVX512_SPR",
}
Prepare = Callable[..., Callable[[Any], None]]
Answer = TypeVar("Answer")

_environment = threading.Lock()


class Child:
    """A process that calls `prepare(connection, *arguments)`, and what this returns with each message.

    Its libraries use so many `threads`. Of the `limits`, `memory` is the bytes that it may take, and `rest`
    the seconds without a message after which it ends. With `debug` it shows warnings and all that is logged.
    """

    def __init__(self, prepare: Prepare, *arguments: Any, threads: int, **limits: Any) -> None:
        context = multiprocessing.get_context("spawn")
        try:
            self.connection, theirs = context.Pipe()
            args = theirs, prepare, arguments, threads
            self._process = context.Process(target=partial(_serve, **limits), args=args, daemon=True)
            with threads_capped(threads), interrupts_held_back():
                self._process.start()
        except OSError as error:
            raise EngineError(
                f"cannot start a process ({error.strerror}); use fewer --jobs, end others, or raise the limit"
            ) from None
        theirs.close()

    @property
    def alive(self) -> bool:
        """Return whether the process can take another message."""
        return self._process.is_alive()

    def send(self, message: Any) -> bool:
        """Send the process a message, and return whether the process still exists."""
        try:
            self.connection.send(message)
        except OSError:
            return False
        return self.alive

    def receive(self, seconds: float | None = None) -> Any:
        """Return the next message of the process; None if it sends none in so many seconds (None: no limit).

        Raises EOFError if the process has ended.
        """
        try:
            return self.connection.recv() if self.connection.poll(seconds) else None
        except OSError:
            raise EOFError from None

    def ended(self) -> tuple[int | None, str]:
        """Return the exit status of the process, below 0 for a signal, and why it ended, in words."""
        self._process.join(timeout=5)
        code = self._process.exitcode
        self.kill()
        return code, in_words(code)

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that the process has used; 0 if it has ended."""
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def kill(self) -> None:
        """End the process now, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(
    connection: Connection, prepare: Prepare, arguments: tuple[Any, ...], threads: int,
    memory: int | None = None, rest: float | None = None, debug: bool = False,
) -> None:  # fmt: skip
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Foreign code runs here: its prints go to stderr, since stdout is for results, and a process that it
    # forks neither answers, nor keeps the connection open when this process has ended.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    os.register_at_fork(after_in_child=connection.close)
    limit_memory(memory)
    logging.basicConfig(level=logging.DEBUG if debug else logging.ERROR)
    if not debug:
        warnings.simplefilter("ignore")
    answer = prepare(connection, *arguments)
    with threadpool_limits(threads):  # for a library that does not read the environment
        while True:
            try:
                if not connection.poll(rest):
                    connection.close()
                    return
                message = connection.recv()
            except (EOFError, OSError):  # the parent is gone
                return
            answer(message)


def in_words(code: int | None) -> str:
    """Return why a process ended, from its exit status, below 0 for a signal."""
    if code == -signal.SIGKILL:
        return "the process was killed (signal 9), most likely because memory ran out"
    how = f"signal {-code}" if code and code < 0 else f"exit status {code}"
    return f"the process died ({how})"


def in_fork(call: Callable[[], Answer]) -> Answer:
    """Return what `call()` returns in a forked child; what it raises is raised here.

    A fork shares the memory, so that no data are copied and `call` may be any function; only its value is
    pickled. Raises SolverError if the child dies.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(theirs, call), daemon=True)
    try:
        with interrupts_held_back(), warnings.catch_warnings():
            # Python warns of forks beside other threads, whose locks stay locked in the child. `_call` needs
            # none: the locks of Python, of malloc and of native.py are made anew.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        succeeded, answer = ours.recv()
    except EOFError:
        process.join()
        raise SolverError(f"{in_words(process.exitcode)} in which the solver ran: take fewer rows") from None
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
        ours.close()
    if not succeeded:
        raise answer
    return answer


def _call(connection: Connection, call: Callable[[], Any]) -> None:
    def answer() -> None:
        try:
            outcome = True, call()
        except Exception as error:
            outcome = False, error
        connection.send(outcome)
        os._exit(0)

    # In the thread that was forked, OpenMP would wait for ever for the parent's other threads.
    threading.Thread(target=answer, daemon=True).start()
    _end_with_parent()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def threads_capped(threads: int) -> Iterator[None]:
    """Cap the threads of all numerical libraries of processes that are started in this context."""
    with _environment, _variables(dict.fromkeys(THREAD_VARIABLES, str(threads))):
        yield


@contextmanager
def avx2_alone() -> Iterator[None]:
    """Let processes that start in this context use AVX2 at most, which x86 processors have had since 2015.

    Where a result magnifies rounding, it is equal on two processors only with the same instructions.
    """
    with _variables(AVX2_ALONE if platform.machine().lower() in ("x86_64", "amd64") else {}):
        yield


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
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
    """Block Ctrl-C: a process started in this context never gets it, and this process gets it afterwards.

    A terminal also sends it to the child, which would print a traceback while Python starts.
    """
    resource_tracker.ensure_running()  # if it were started later, it would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
