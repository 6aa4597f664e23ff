"""A child process that runs trials, so that a solver in C can be ended at any moment.

Ctrl-C in the parent kills the child at once (a solver in C would ignore it). A child whose parent is gone,
even by kill -9, ends by itself. At the time limit the system ends the child, by a timer of its CPU seconds.

A trial is pickled and only the child unpickles it, since that imports the libraries of its map and its
solver. In a Dask worker this import took seconds before the first child began.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from threading import Lock
from time import perf_counter

import psutil
from threadpoolctl import threadpool_limits

from kfeat.errors import EngineError, KfeatError
from kfeat.experiments.clock import TEST_PHASES, Phase, busy_seconds, was_idle
from kfeat.experiments.row import Row
from kfeat.memory import limit_memory

# Each library reads its own variable when it is loaded. NumPy and SciPy each bring their own OpenBLAS.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)

_environment = Lock()


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker runs its trials; nothing here changes a trial's numbers.

    `time_limit` is in CPU seconds, summed over threads as in the tables, of the phases that the trial's clock
    times: mapping, training, predicting. Starting the process, loading the data, and time in which the
    process was suspended or waited for a core do not count. Relative paths of a user's own files start at
    `folder`; None means the current folder of this process.

    `memory` is the number of bytes that all trials at the same time on a machine may take; None: nine tenths
    of what is available when they begin. A process without a trial for `rest` seconds ends; None: never.
    """

    threads: int = 1
    alone: bool = True
    time_limit: float = inf
    memory: int | None = None
    mirror: str | None = None
    offline: bool = False
    debug: bool = False
    folder: str | None = None
    rest: float | None = None


class Worker:
    """One child process that runs one trial at a time and returns a row or an error."""

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        context = multiprocessing.get_context("spawn")
        self._interrupted = False
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, options), daemon=True)
        with threads_capped(options.threads), interrupts_held_back():
            self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        """Return whether the process can take another trial."""
        return self._process.is_alive()

    def start(self, pickled: bytes) -> bool:
        """Send a pickled trial, and return whether the process still exists.

        Wait for the result on `connection`.
        """
        self._pickled = pickled
        self._phase: Phase | None = None
        self._began, self._busy_before, self._cpu_before = perf_counter(), busy_seconds(), self._cpu_seconds()
        try:
            self.connection.send_bytes(pickled)
        except OSError:
            return False
        return self.alive

    def row(self) -> Row | None:
        """Wait for the next message of the process; return the row of its trial, or None while it runs.

        Raises the KfeatError of data that cannot be loaded, and EngineError if the child cannot unpickle
        the trial.
        """
        try:
            kind, value = self.connection.recv()
        except (EOFError, OSError):
            return self._died()
        if kind == "error":
            raise value
        if kind == "row":
            return dict(value)
        self._phase = value
        return None

    def _died(self) -> Row:
        self._process.join(timeout=5)
        code = self._process.exitcode
        self.kill()
        if self._interrupted:
            return {"status": "failed", "reason": "interrupted"}
        if code == -signal.SIGPROF and self._phase:
            return self._stopped(self._phase)
        if code == -signal.SIGKILL:
            reason = "the process was killed (signal 9), most likely because memory ran out"
        else:
            how = f"signal {-code}" if code and code < 0 else f"exit status {code}"
            reason = f"the process died ({how})"
        return {**self._header(), "status": "failed", "reason": reason}

    def _stopped(self, phase: Phase) -> Row:
        """Return the row of a trial that was stopped at the time limit.

        If it was stopped in mapping or training, the limit is a lower bound of their time.
        """
        limit = self._options.time_limit
        own = phase.began + limit - phase.before - self._cpu_before
        idle = was_idle(busy_seconds() - self._busy_before - own, perf_counter() - self._began)
        return {
            **self._header(),
            "status": "stopped",
            "reason": f"it had not ended after {limit:g} seconds",
            "limit_s": limit,
            "phase": phase.name,
            "threads": self._options.threads,
            "timed": self._options.alone and idle and phase.name not in TEST_PHASES,
        }

    def _header(self) -> Row:
        from kfeat.experiments.trial import header

        return header(pickle.loads(self._pickled))

    def _cpu_seconds(self) -> float:
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0  # it has died, which `row` will notice
        return float(times.user + times.system)

    def interrupt(self) -> None:
        """End the process while another thread waits for the row; that row is not used."""
        self._interrupted = True
        self._process.kill()

    def kill(self) -> None:
        """End the process now, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def handed_over(pickled: bytes, idle: list[Worker], options: WorkerOptions) -> Worker:
    """Give a pickled trial to an idle worker that is still alive, or to a new one; return the worker."""
    while idle:
        worker = idle.pop()
        if worker.alive and worker.start(pickled):
            return worker
        worker.kill()
    try:
        worker = Worker(options)
    except OSError as error:
        raise EngineError(
            f"cannot start a process for trials ({error.strerror}); use fewer --jobs, or raise the limit"
        ) from None
    worker.start(pickled)
    return worker


def _serve(connection: Connection, options: WorkerOptions) -> None:
    end_with_parent()
    limit_memory(options.memory)
    from kfeat.experiments.clock import give_memory_back
    from kfeat.experiments.trial import failure, header, run_trial

    if options.folder and os.path.isdir(options.folder):
        if cache := os.environ.get("KFEAT_CACHE"):  # relative to the folder of a Dask worker
            os.environ["KFEAT_CACHE"] = os.path.abspath(os.path.expanduser(cache))
        os.chdir(options.folder)
    logging.basicConfig(level=logging.DEBUG if options.debug else logging.ERROR)
    if not options.debug:
        warnings.simplefilter("ignore")

    def announce(phase: Phase | None) -> None:
        if phase is None:
            signal.setitimer(signal.ITIMER_PROF, 0)
        elif options.time_limit < inf:
            connection.send(("phase", phase))
            signal.setitimer(signal.ITIMER_PROF, max(options.time_limit - phase.before, 0.001))

    with threadpool_limits(options.threads):  # for a library that does not read the environment
        while True:
            try:
                if not connection.poll(options.rest):
                    connection.close()
                    return
                pickled = connection.recv_bytes()
            except (EOFError, OSError):  # the parent is gone
                return
            try:
                trial = pickle.loads(pickled)
            except Exception as error:
                unreadable = EngineError(
                    f"the process that should run a trial cannot read it ({type(error).__name__}: {error}); "
                    "it needs the same kfeat as this machine"
                )
                connection.send(("error", unreadable))
                continue
            try:
                row = run_trial(
                    trial,
                    threads=options.threads,
                    alone=options.alone,
                    mirror=options.mirror,
                    offline=options.offline,
                    announce=announce,
                )
                connection.send(("row", row))
            except KfeatError as error:
                connection.send(("error", error))
            except Exception as error:
                connection.send(("row", header(trial) | failure(error)))
            give_memory_back()  # other processes may need it now


@contextmanager
def threads_capped(threads: int) -> Iterator[None]:
    """Cap the threads of all numerical libraries of processes that are started in this context."""
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
    """Block Ctrl-C: a process started in this context never gets it, and this process gets it afterwards.

    A terminal also sends it to the child, which would print a traceback while Python starts.
    """
    resource_tracker.ensure_running()  # if it were started later, it would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Make this process end when its parent is gone, even by kill -9."""
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
