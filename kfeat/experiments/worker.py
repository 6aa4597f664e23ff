"""A child process that carries out trials, so that a solve in C can be ended at any moment.

Ctrl-C in the parent kills the child at once (a solve in C would swallow it), and a child whose parent is
gone, even by kill -9, ends by itself.
"""

import logging
import multiprocessing
import os
import signal
import threading
import traceback
import warnings
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import psutil
from threadpoolctl import threadpool_limits

from kfeat.errors import KfeatError
from kfeat.experiments.machine import busy_seconds, was_idle
from kfeat.experiments.plan import Trial
from kfeat.experiments.trial import run_trial


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker runs its trials; nothing here changes a trial's numbers.

    `time_limit` is how many seconds a trial may take, the loading of its data included.
    """

    threads: int = 1
    alone: bool = True
    time_limit: float = inf
    mirror: str | None = None
    offline: bool = False
    debug: bool = False


class Worker:
    """One child process that takes a trial at a time and answers with a row, an error or its end."""

    def __init__(self, options: WorkerOptions) -> None:
        self._options = options
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, options), daemon=True)
        self._process.start()
        theirs.close()
        self.trial: Trial | None = None

    def start(self, trial: Trial) -> None:
        """Hand over a trial; the answer can be waited for on `connection`."""
        self.trial = trial
        self._began, self._others = perf_counter(), busy_seconds() - self._cpu_seconds()
        self.connection.send(trial)

    @property
    def seconds_left(self) -> float:
        """Return for how long the trial in hand may go on."""
        return self._options.time_limit - (perf_counter() - self._began)

    def stop(self) -> dict[str, Any]:
        """End the process, whose trial is out of time, and return what its row then says."""
        others = busy_seconds() - self._cpu_seconds() - self._others
        idle = was_idle(others, perf_counter() - self._began)
        self.kill()
        limit = self._options.time_limit
        return {
            "status": "stopped",
            "reason": f"it had not ended after {limit:g} seconds",
            "limit_s": limit,
            "threads": self._options.threads,
            "timed": self._options.alone and idle,
        }

    def _cpu_seconds(self) -> float:
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def answer(self) -> dict[str, Any] | None:
        """Return the row of the trial in hand, or None if the process died over it; raise its error."""
        try:
            kind, value = self.connection.recv()
        except (EOFError, ConnectionError):
            return None
        finally:
            self.trial = None
        if kind == "row":
            return dict(value)
        if kind == "error":
            raise value
        raise RuntimeError(f"a trial ended in an unforeseen error:\n{value}")

    def exit_code(self) -> int | None:
        """Return the exit status of a process that died, negative for a signal."""
        self._process.join(timeout=5)
        return self._process.exitcode

    def kill(self) -> None:
        """End the process now, whatever it does."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection, options: WorkerOptions) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.basicConfig(level=logging.DEBUG if options.debug else logging.ERROR)
    if not options.debug:
        warnings.simplefilter("ignore")
    with threadpool_limits(options.threads):
        while True:
            try:
                trial = connection.recv()
            except EOFError:
                return
            try:
                row = run_trial(
                    trial,
                    threads=options.threads,
                    alone=options.alone,
                    mirror=options.mirror,
                    offline=options.offline,
                )
                connection.send(("row", row))
            except KfeatError as error:
                connection.send(("error", error))
            except Exception:
                connection.send(("crash", traceback.format_exc()))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
