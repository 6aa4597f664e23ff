"""Where trials run: engines, in processes of this machine or on Dask workers."""

import pickle
import typing
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait

import joblib

from kfeat.errors import EngineError, KfeatError
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.worker import Worker, WorkerOptions, give_to_worker


class Engine(typing.Protocol):
    """Runs trials in its own processes, as its `options` say. It writes no rows.

    `here` says that trials run on this machine and can use data that the parent fetched. `alone` says that
    each trial has its machine to itself, so that its times count.
    """

    options: WorkerOptions
    here: bool
    alone: bool

    def has_room(self) -> bool:
        """Return whether a trial could start now."""

    def submit(self, trial: Trial) -> None:
        """Start a trial; there must be room."""

    def events(self) -> Sequence[tuple[Trial, Row | KfeatError]]:
        """Wait for a while for trials to end, and return each with its row, or the error of its data.

        Raises EngineError if the engine itself is lost.
        """

    def cancel(self, identities: Collection[str]) -> None:
        """End the trials with these ids; they cause no event."""


class Local:
    """Runs `jobs` trials at a time on this machine; their times count only if `jobs` is 1."""

    here = True

    def __init__(self, options: WorkerOptions, jobs: int = 1) -> None:
        self.alone = jobs == 1
        self.options = replace(options, alone=self.alone)
        self._jobs = jobs
        self._idle: list[Worker] = []
        self._busy: dict[Worker, Trial] = {}

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        for worker in (*self._idle, *self._busy):
            worker.kill()

    def has_room(self) -> bool:
        """Return whether fewer than `jobs` trials run."""
        return len(self._busy) < self._jobs

    def submit(self, trial: Trial) -> None:
        """Start a trial in an idle process or in a new one."""
        self._busy[give_to_worker(pickle.dumps(trial), self._idle, self.options)] = trial

    def events(self) -> list[tuple[Trial, Row | KfeatError]]:
        """Wait until a trial has ended, and return all that have."""
        while self._idle:  # they hold memory, and waiting trials may need it
            self._idle.pop().kill()
        ended: list[tuple[Trial, Row | KfeatError]] = []
        while self._busy and not ended:
            ready = wait([worker.connection for worker in self._busy])
            for worker in [worker for worker in self._busy if worker.connection in ready]:
                outcome: Row | KfeatError | None
                try:
                    outcome = worker.row()
                except EngineError:
                    raise
                except KfeatError as error:  # of the data
                    outcome = error
                if outcome is not None:
                    ended.append((self._busy.pop(worker), outcome))
                    self._idle.append(worker)
        return ended

    def cancel(self, identities: Collection[str]) -> None:
        """End the processes of these trials."""
        for worker in [worker for worker, trial in self._busy.items() if trial.id in identities]:
            del self._busy[worker]
            worker.kill()


@contextmanager
def opened_engine(
    name: str, jobs: int, scheduler: str | None, exclusive: bool, options: WorkerOptions
) -> Iterator[Engine]:
    """Start the engine of this name, `local` or `dask`, and stop its processes at the end.

    `jobs` trials run at a time on this machine; with the address of a Dask `scheduler`, as many as its
    workers have threads. With `exclusive` each machine of Dask runs one trial at a time. Raises EngineError
    if a package that the engine needs is not installed, or if no scheduler answers.
    """
    if name == "local":
        with Local(options, jobs) as local:
            yield local
        return
    try:
        from kfeat.experiments.dask_engine import dask_engine
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("dask", "distributed", "tornado"):
            raise
        raise EngineError(
            "--engine dask needs the package distributed; install it with `pip install distributed`"
        ) from None
    with dask_engine(scheduler, jobs, exclusive, options) as engine:
        yield engine


def physical_cores() -> int:
    """Return the physical cores that this process may use, by its affinity and its container's limits."""
    return int(joblib.cpu_count(only_physical_cores=True))
