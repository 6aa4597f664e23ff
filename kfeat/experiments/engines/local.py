"""The local engine: killable child processes of this one."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait

import joblib

from kfeat.experiments.engines.base import Event
from kfeat.experiments.plan import Trial
from kfeat.experiments.worker import Worker, WorkerOptions, handed_over


@dataclass(frozen=True)
class Local:
    """Runs `jobs` trials at a time on this machine; their times count only where that is one."""

    jobs: int = 1
    here: bool = True

    def carried_out(self, trials: Sequence[Trial], options: WorkerOptions) -> Generator[Event, None, None]:
        """Run all `trials` in their order, and yield the events."""
        options = replace(options, alone=self.jobs == 1)
        idle: list[Worker] = []
        busy: list[Worker] = []
        queue = list(trials)[::-1]
        try:
            while queue or busy:
                while queue and len(busy) < self.jobs:
                    yield Event(queue[-1])
                    busy.append(handed_over(queue.pop(), idle, options))
                wait([worker.connection for worker in busy], min(worker.patience for worker in busy))
                for worker in list(busy):
                    row = worker.row()
                    if row is not None:
                        busy.remove(worker)
                        idle.append(worker)
                        yield Event(worker.trial, row)
        finally:
            for worker in (*idle, *busy):
                worker.kill()


def physical_cores() -> int:
    """Return the physical cores that this process may use, by its affinity and its container's limits."""
    return int(joblib.cpu_count(only_physical_cores=True))
