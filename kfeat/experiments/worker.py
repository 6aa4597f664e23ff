"""A child process that runs trials; at the time limit the system ends it, by a timer of its CPU seconds.

A trial is pickled and only the child unpickles it, since that imports the libraries of its map and its
solver. In a Dask worker this import took seconds before the first child began.
"""

import gc
import logging
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import psutil

from kfeat.child import Child, avx2_alone
from kfeat.data.access import AS_SET, Access
from kfeat.errors import EngineError, KfeatError
from kfeat.experiments.clock import TEST_PHASES, Phase, busy_seconds, was_idle
from kfeat.experiments.row import Row
from kfeat.text import say_once

LEAK = 1 << 29  # bytes that foreign code keeps after its trials: more than most libraries take


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker runs its trials; nothing here changes a trial's numbers.

    `time_limit` is in CPU seconds, summed over threads as in the tables, of the phases that the trial's clock
    times: learning a metric, mapping, training, predicting. Starting the process, loading the data, and time
    in which the process was suspended or waited for a core do not count. Relative paths of a user's own files
    start at `folder`; None means the current folder of this process.

    `memory` is the number of bytes that all trials at the same time on a machine may take; None: nine tenths
    of what is available when they begin. A process without a trial for `rest` seconds ends; None: never.
    With `avx2` it uses none of the instructions that x86 has beyond AVX2.
    """

    threads: int = 1
    alone: bool = True
    time_limit: float = inf
    memory: int | None = None
    access: Access = AS_SET
    debug: bool = False
    folder: str | None = None
    rest: float | None = None
    avx2: bool = False


class Worker(Child):
    """One child process that runs one trial at a time and returns a row or an error."""

    def __init__(self, options: WorkerOptions) -> None:
        limits = {"memory": options.memory, "rest": options.rest, "debug": options.debug}
        with avx2_alone() if options.avx2 else nullcontext():
            super().__init__(_prepare, options, threads=options.threads, **limits)
        self._options = options
        self._interrupted = False

    def start(self, pickled: bytes) -> bool:
        """Send a pickled trial, and return whether the process still exists.

        Wait for the result on `connection`.
        """
        self._pickled = pickled
        self._phase: Phase | None = None
        self._began, self._busy_before, self._cpu_before = perf_counter(), busy_seconds(), self.cpu_seconds()
        return self.send(pickled)

    def row(self) -> Row | None:
        """Wait for the next message of the process; return the row of its trial, or None while it runs.

        Raises the KfeatError of data that cannot be loaded, and EngineError if the child cannot unpickle
        the trial.
        """
        try:
            kind, value = self.receive()
        except EOFError:
            return self._died()
        if kind == "error":
            raise value
        if kind in ("row", "last row"):
            if kind == "last row":  # the next trial gets a fresh process
                self.kill()
            return dict(value)
        if kind == "left":
            say_once(logging.WARNING, value)
        else:
            self._phase = value
        return None

    def _died(self) -> Row:
        code, reason = self.ended()
        if self._interrupted:
            return {"status": "failed", "reason": "interrupted"}
        if code == -signal.SIGPROF and self._phase:
            return self._stopped(self._phase)
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

    def interrupt(self) -> None:
        """End the process while another thread waits for the row; that row is not used."""
        self._interrupted = True
        self._process.kill()


def give_to_worker(pickled: bytes, idle: list[Worker], options: WorkerOptions) -> Worker:
    """Give a pickled trial to an idle worker that is still alive, or to a new one; return the worker."""
    while idle:
        worker = idle.pop()
        if worker.alive and worker.start(pickled):
            return worker
        worker.kill()
    worker = Worker(options)
    worker.start(pickled)
    return worker


def _prepare(connection: Connection, options: WorkerOptions) -> Callable[[bytes], None]:
    """Return what the process does with a pickled trial: it sends the row, or an error."""
    from kfeat.experiments.clock import give_memory_back
    from kfeat.experiments.trial import failure, header, run_trial
    from kfeat.place import loaded_code

    if options.folder and os.path.isdir(options.folder):
        if cache := os.environ.get("KFEAT_CACHE"):  # relative to the folder of a Dask worker
            os.environ["KFEAT_CACHE"] = os.path.abspath(os.path.expanduser(cache))
        os.chdir(options.folder)

    def announce(phase: Phase | None) -> None:
        if phase is None:
            signal.setitimer(signal.ITIMER_PROF, 0)
        elif options.time_limit < inf:
            connection.send(("phase", phase))
            signal.setitimer(signal.ITIMER_PROF, max(options.time_limit - phase.before, 0.001))

    def outcome(pickled: bytes) -> tuple[str, Any]:
        try:
            trial = pickle.loads(pickled)
        except Exception as error:
            return "error", EngineError(
                f"the process that should run a trial cannot read it ({type(error).__name__}: {error}); "
                "it needs the same kfeat as this machine"
            )
        try:
            return "row", run_trial(
                trial, threads=options.threads, alone=options.alone, access=options.access, announce=announce
            )
        except KfeatError as error:
            return "error", error
        except BaseException as error:  # foreign code may raise KeyboardInterrupt, too; Ctrl-C is blocked
            return "row", header(trial) | failure(error)

    def answer(pickled: bytes) -> None:
        kind, value = outcome(pickled)
        give_memory_back()  # other processes may need it now
        if kind == "row" and (code := loaded_code()):
            gc.collect()
            kept = memory_in_use() - at_start
            if kept > LEAK:
                names = " or ".join(place.text for place in code)
                connection.send(("left", f"{names} keeps {kept / 1e6:,.0f} MB of memory after a trial"))
            # Code of a file may leave anything behind: another folder, threads, patched libraries.
            if kept > LEAK or not all(place.installed for place in code):
                kind = "last row"
        connection.send((kind, value))

    at_start = memory_in_use()
    return answer


def memory_in_use() -> int:
    """Return the bytes of memory that this process holds for itself, without files that it maps."""
    memory = psutil.Process().memory_info()
    return int(memory.rss - getattr(memory, "shared", 0))
