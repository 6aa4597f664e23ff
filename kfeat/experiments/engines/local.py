"""The local engine: killable child processes of this one."""

import pickle
from collections.abc import Generator
from dataclasses import dataclass, replace
from multiprocessing.connection import wait

import joblib

from kfeat.errors import EngineError, KfeatError
from kfeat.experiments.engines.base import Event
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.worker import Worker, WorkerOptions, handed_over


@dataclass(frozen=True)
class Local:
    """Runs `jobs` trials at a time on this machine; their times count only where that is one."""

    jobs: int = 1
    here: bool = True

    @property
    def alone(self) -> bool:
        """Tell whether one trial runs at a time."""
        return self.jobs == 1

    def carried_out(self, packing: Packing, options: WorkerOptions) -> Generator[Event, None, None]:
        """Run all trials and yield the events."""
        options = replace(options, alone=self.alone)
        idle: list[Worker] = []
        busy: dict[Worker, Trial] = {}
        try:
            while True:
                for worker in [one for one, trial in busy.items() if trial.id in packing.unwanted]:
                    worker.kill()
                    packing.ended(busy.pop(worker))
                if not (busy or packing.waiting):
                    _end(idle)  # what comes next is measured by the memory that there is
                    if not packing.any_left():
                        return
                while len(busy) < self.jobs and (trial := packing.next()):
                    yield Event(trial)
                    busy[handed_over(pickle.dumps(trial), idle, options)] = trial
                _end(idle)  # they hold memory, which the trials that wait need, or none is left for them
                wait([worker.connection for worker in busy], min(worker.patience for worker in busy))
                for worker in list(busy):
                    row = _what_came_out(worker)
                    if row is not None:
                        trial = busy.pop(worker)
                        idle.append(worker)
                        packing.ended(trial)
                        yield Event(trial, row)
        finally:
            for worker in (*idle, *busy):
                worker.kill()


def _end(idle: list[Worker]) -> None:
    while idle:
        idle.pop().kill()


def _what_came_out(worker: Worker) -> Row | KfeatError | None:
    """Return the row of a worker's trial, or the error of its data; None while it goes on."""
    try:
        return worker.row()
    except EngineError:
        raise
    except KfeatError as error:
        return error


def physical_cores() -> int:
    """Return the physical cores that this process may use, by its affinity and its container's limits."""
    return int(joblib.cpu_count(only_physical_cores=True))
