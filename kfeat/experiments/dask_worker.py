"""The part of the Dask engine that runs on a Dask worker: it runs trials in processes that can be killed.

A thread of Dask cannot be stopped, and a solver in C may run for hours. So each trial runs in a child process
of the Dask worker, with the same cap on threads and time limit as elsewhere.
"""

import multiprocessing
import os
from dataclasses import replace
from threading import Lock
from typing import Any

from distributed import WorkerPlugin, get_worker

from kfeat.experiments.row import Row
from kfeat.experiments.worker import Worker, WorkerOptions, give_to_worker

# Dask's nanny sets this limit. With it glibc maps each large array anew, which made feature maps 2.7 times
# slower.
TRIM, TRIM_OF_DASK = "MALLOC_TRIM_THRESHOLD_", "65536"


def run_on_worker(plugin: str, key: str, pickled: bytes) -> Row | None:
    """Return the row of a pickled trial from a child of this Dask worker; None if the trial was cancelled.

    Raises the KfeatError of data that cannot be loaded, or of a trial that cannot be unpickled.
    """
    children = get_worker().plugins[plugin]
    assert isinstance(children, Children)
    return children.row(key, pickled)


class Children(WorkerPlugin):
    """The child processes of one Dask worker; they end with a cancelled trial, the run, or the Dask worker.

    The worker's own KFEAT_MIRROR has priority over the run's, unless the run started the worker (`here`).
    """

    def __init__(self, options: WorkerOptions, here: bool) -> None:
        self._options, self._here = options, here

    @property
    def options(self) -> WorkerOptions:
        """Return how trials run on this Dask worker."""
        own = None if self._here else os.environ.get("KFEAT_MIRROR")
        if own and "://" not in own:
            own = os.path.abspath(os.path.expanduser(own))  # children start in the folder of the run
        run = self._options
        return replace(run, access=replace(run.access, mirror=own or run.access.mirror))

    def setup(self, worker: Any) -> None:
        """Prepare a Dask worker, whether it existed before the run or joined later."""
        self._lock = Lock()
        self._idle: list[Worker] = []
        self._busy: dict[str, Worker] = {}
        self._cancelled: set[str] = set()
        if os.environ.get(TRIM) == TRIM_OF_DASK:  # another value was set on purpose
            del os.environ[TRIM]
        # Dask's nanny marks its workers as daemons, which may not have children; ours end with them anyway.
        if multiprocessing.current_process().daemon:
            multiprocessing.current_process().daemon = False

    def row(self, key: str, pickled: bytes) -> Row | None:
        """Return the row of a pickled trial, which is Dask's task `key`; None if that was cancelled."""
        with self._lock:
            if key in self._cancelled:
                return None
            child = self._busy[key] = give_to_worker(pickled, self._idle, self.options)
        try:
            while (row := child.row()) is None:
                pass
        finally:
            with self._lock:
                del self._busy[key]
                self._idle.append(child)  # if it has ended, this is noticed when it gets the next trial
        return None if key in self._cancelled else row

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End the child whose trial is cancelled, by Ctrl-C in the run or because the run is gone."""
        if (start, finish) == ("executing", "released"):
            with self._lock:
                self._cancel(str(key))

    def teardown(self, worker: Any) -> None:
        """End all children when the run or the Dask worker ends."""
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
