"""The part of the Dask engine that runs on a Dask worker: it drives killable processes in which trials run.

A thread of Dask cannot be stopped, and a solve in C holds it for hours; so each trial runs in a child process
of the Dask worker, with the cap on threads and the time limit that it has anywhere.
"""

import multiprocessing
import os
from dataclasses import replace
from threading import Lock
from typing import Any

from distributed import WorkerPlugin, get_worker
from tornado.ioloop import PeriodicCallback

from kfeat.experiments.row import Row
from kfeat.experiments.worker import Worker, WorkerOptions, handed_over

TRIM, TRIM_OF_DASK = "MALLOC_TRIM_THRESHOLD_", "65536"
# A child without a trial for so long, at most twice as long, ends: its run may be gone. On the machine of the
# run that is known otherwise, but other trials may wait for the memory that the child holds.
IDLE_SECONDS, IDLE_SECONDS_HERE = 60.0, 1.0


def run_on_worker(plugin: str, key: str, pickled: bytes) -> Row | None:
    """Return the row of a pickled trial from a child of this Dask worker; None where the trial was cancelled.

    Raises the KfeatError of data that cannot be loaded, or of a trial that cannot be unpickled.
    """
    children = get_worker().plugins[plugin]
    assert isinstance(children, Children)
    return children.row(key, pickled)


class Children(WorkerPlugin):
    """The child processes of one Dask worker; they end with a cancelled trial, the run, or the Dask worker.

    Unless the worker was started `here`, by the run itself, its own KFEAT_MIRROR counts before the run's.
    """

    def __init__(self, options: WorkerOptions, here: bool) -> None:
        self._options, self._here = options, here

    @property
    def options(self) -> WorkerOptions:
        """Return how trials run on this Dask worker."""
        own = None if self._here else os.environ.get("KFEAT_MIRROR")
        if own and "://" not in own:
            own = os.path.abspath(os.path.expanduser(own))  # children start in the folder of the run
        return replace(self._options, mirror=own or self._options.mirror)

    def setup(self, worker: Any) -> None:
        """Make ready on a Dask worker, whether it was there before the run or joined later."""
        self._lock = Lock()
        self._idle: list[Worker] = []
        self._resting: set[Worker] = set()
        self._busy: dict[str, Worker] = {}
        self._cancelled: set[str] = set()
        self._sweeper = PeriodicCallback(
            self._end_resting, 1000 * (IDLE_SECONDS_HERE if self._here else IDLE_SECONDS)
        )
        self._sweeper.start()
        leave_memory_to_glibc()
        # Dask's nanny marks its workers as daemons, which may not have children; ours end with them anyway.
        if multiprocessing.current_process().daemon:
            multiprocessing.current_process().daemon = False

    def row(self, key: str, pickled: bytes) -> Row | None:
        """Return the row of a pickled trial, which is Dask's task `key`; None where that was cancelled."""
        with self._lock:
            if key in self._cancelled:
                return None
            child = self._busy[key] = handed_over(pickled, self._idle, self.options)
            self._resting.discard(child)
        try:
            row = child.awaited_row()
        finally:
            with self._lock:
                del self._busy[key]
                self._idle.append(child)  # one that has died is found out when it is to take the next
        return None if key in self._cancelled else row

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End the child whose trial is cancelled: by Ctrl-C in the run, or since the run is gone."""
        if (start, finish) == ("executing", "released"):
            with self._lock:
                self._cancel(str(key))

    def teardown(self, worker: Any) -> None:
        """End all children, since the run or the Dask worker ends."""
        self._sweeper.stop()
        with self._lock:
            for key in self._busy:
                self._cancel(key)
            for child in self._idle:
                child.kill()
            self._idle.clear()

    def _cancel(self, key: str) -> None:
        self._cancelled.add(key)
        if key in self._busy:
            self._busy[key].interrupt()

    def _end_resting(self) -> None:
        """End the children that had no trial the last time either."""
        with self._lock:
            for child in self._resting.intersection(self._idle):
                self._idle.remove(child)
                child.kill()
            self._resting = set(self._idle)


def leave_memory_to_glibc() -> None:
    """Start children without the limit of free memory that Dask's nanny sets where nobody says otherwise.

    With it glibc maps each large array anew, since it no longer learns from the ones before, and maps took
    2.7 times as long as anywhere else. A limit of another size is someone's wish and stays.
    """
    if os.environ.get(TRIM) == TRIM_OF_DASK:
        del os.environ[TRIM]
