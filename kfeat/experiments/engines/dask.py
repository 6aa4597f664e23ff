"""The Dask engine: trials on the workers of a Dask scheduler, on this machine or on others.

Dask carries trials to its workers and rows back, and says which workers there are. Which worker takes which
trial is decided here, one per thread of a worker or one per machine: so it is known when each begins, and one
whose worker is lost, or cannot have the data, begins again on another.
"""

import logging
import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, Queue
from time import monotonic
from typing import Any
from uuid import uuid4

from distributed import Client, KilledWorker

from kfeat.errors import EngineError, KfeatError
from kfeat.experiments.engines.base import Event
from kfeat.experiments.engines.dask_client import ANSWER_SECONDS, dask_client
from kfeat.experiments.engines.dask_worker import Children, run_on_worker
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.engines.places import free_worker
from kfeat.experiments.engines.returned import checked, lost_row
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.worker import WorkerOptions

RETRIES = 3  # of a trial whose worker was lost
LOOK_SECONDS = 1.0  # between two looks at which workers there are
SILENCE_SECONDS = 60.0  # after which a scheduler that was there is taken for lost: it may be busy for a while

log = logging.getLogger(__name__)


@contextmanager
def dask_engine(address: str | None, jobs: int, exclusive: bool) -> Iterator["Dask"]:
    """Make an engine of the scheduler at `address`, or of one here with `jobs` workers of one thread each.

    Raises EngineError where no scheduler answers.
    """
    here = address is None
    with dask_client(address, jobs) as client:
        yield Dask(client, here=here, exclusive=exclusive or (here and jobs == 1))


class _Call:
    """A trial on its way to a worker: unpickling it there runs the trial, and gives its row.

    The scheduler unpickles every task, whose function is `pickle.loads` and whose argument the bytes of this:
    so it needs no kfeat and does not import it, which took it seconds in which no worker got a trial. The
    trial within is pickled once more, for the worker's child in which it runs.
    """

    def __init__(self, children: str, key: str, trial: Trial) -> None:
        self._arguments = children, key, pickle.dumps(trial)

    def __reduce__(self) -> tuple[Callable[..., Row | None], tuple[str, str, bytes]]:
        return run_on_worker, self._arguments


@dataclass
class _Attempt:
    """A trial, the workers that were lost under it, where it runs now, and whether its begin was told."""

    trial: Trial
    lost: list[str] = field(default_factory=list)
    address: str = ""
    future: Any = None
    begun: bool = False


class Dask:
    """Runs trials on the workers of a scheduler; their times count where each machine has one at a time."""

    def __init__(self, client: Client, *, here: bool, exclusive: bool) -> None:
        self.here, self.alone = here, exclusive
        self._client = client
        self._threads: Mapping[str, int] = {}
        self._without_data: dict[str, dict[str, KfeatError]] = {}  # by the data, what each worker said
        self._looked = 0.0
        self._waits = False

    def carried_out(self, packing: Packing, options: WorkerOptions) -> Generator[Event, None, None]:
        """Run all trials and yield the events."""
        again: deque[_Attempt] = deque()  # of trials that count as running: their memory stays theirs
        running: dict[str, _Attempt] = {}
        ended: Queue[str] = Queue()
        options = replace(options, alone=self.alone, folder=os.getcwd())
        self._without_data.clear()
        children = f"kfeat-{uuid4().hex}"
        try:
            self._register(Children(options, self.here), children)
            while again or running or packing.any_left():
                self._look()
                while found := self._next(packing, again, running):
                    attempt, place = found
                    if not attempt.begun:
                        attempt.begun = True
                        yield Event(attempt.trial)
                    if place is None:
                        packing.ended(attempt.trial)
                        yield Event(attempt.trial, self._why_nobody_can(attempt.trial))
                    else:
                        running[self._submit(attempt, place, children, ended)] = attempt
                for key in self._over(running, ended):
                    attempt = running.pop(key)
                    row = self._row(attempt)
                    if row is None:
                        again.append(attempt)
                    else:
                        packing.ended(attempt.trial)
                        yield Event(attempt.trial, row)
        finally:
            with suppress(Exception), self._answering():  # the run is over, whatever a worker says against it
                self._connected(ANSWER_SECONDS)  # or what follows would wait for ever
                self._client.cancel([attempt.future for attempt in running.values()])
                self._client.unregister_worker_plugin(children)

    def _register(self, plugin: Children, name: str) -> None:
        """Give every worker, also one that joins later, child processes for this run, under a name."""
        try:
            with self._answering():
                self._client.register_plugin(plugin, name=name)
        except EngineError:
            raise
        except Exception as error:  # whatever a worker raises that cannot import what is here
            raise EngineError(
                f"a Dask worker cannot run trials ({error}); each needs the same kfeat as there is here"
            ) from None

    def _look(self) -> None:
        """See which workers there are, from time to time."""
        if monotonic() - self._looked < LOOK_SECONDS:
            return
        with self._answering():
            self._threads = self._connected(SILENCE_SECONDS)
        self._looked = monotonic()
        if not self._threads and not self._waits:
            log.warning("no worker is connected to the Dask scheduler; waiting for one")
        self._waits = not self._threads

    def _connected(self, seconds: float) -> Mapping[str, int]:
        """Return the threads of each worker; raises TimeoutError if the scheduler takes longer to answer."""
        threads: Mapping[str, int] = self._client.nthreads(callback_timeout=seconds)
        return threads

    def _next(
        self, packing: Packing, again: deque[_Attempt], running: dict[str, _Attempt]
    ) -> tuple[_Attempt, str | None] | None:
        """Return what is to be sent now, and to which worker: None where none has the data."""
        self._end_unwanted(packing, again, running)
        taken = [other.address for other in running.values()]
        for attempt in again:
            place = self._place(attempt.trial, attempt.lost, taken)
            if place or self._nobody_can(attempt.trial):
                again.remove(attempt)
                return attempt, place
        if not free_worker(self._threads, taken, [], self.alone):
            return None
        trial = packing.next(lambda one: bool(self._place(one, [], taken)) or self._nobody_can(one))
        return (_Attempt(trial), self._place(trial, [], taken)) if trial else None

    def _place(self, trial: Trial, lost: list[str], taken: list[str]) -> str | None:
        """Return the address of the worker that takes a trial which others were `lost` under."""
        return free_worker(self._able(trial), taken, lost, self.alone)

    def _able(self, trial: Trial) -> Mapping[str, int]:
        """Return the threads of each worker that has, as far as is known, the trial's data."""
        without = self._without_data.get(trial.data_key)
        if not without:
            return self._threads
        return {address: n for address, n in self._threads.items() if address not in without}

    def _nobody_can(self, trial: Trial) -> bool:
        """Tell whether there are only workers without the trial's data."""
        return bool(self._threads) and not self._able(trial)

    def _why_nobody_can(self, trial: Trial) -> KfeatError:
        """Return what the last of the workers that are there said of the trial's data."""
        said = self._without_data[trial.data_key]
        return [error for address, error in said.items() if address in self._threads][-1]

    def _end_unwanted(self, packing: Packing, again: deque[_Attempt], running: dict[str, _Attempt]) -> None:
        """End the trials that nobody waits for any more."""
        for key in [key for key, attempt in running.items() if attempt.trial.id in packing.unwanted]:
            attempt = running.pop(key)
            with self._answering():
                self._client.cancel([attempt.future])
            packing.ended(attempt.trial)
        for attempt in [one for one in again if one.trial.id in packing.unwanted]:
            again.remove(attempt)
            packing.ended(attempt.trial)

    def _submit(self, attempt: _Attempt, address: str, children: str, ended: "Queue[str]") -> str:
        """Send a trial to the worker at `address`, and return the key that `ended` will get."""
        key = f"{attempt.trial.id}-{len(attempt.lost)}-{children}"
        with self._answering():
            attempt.future = self._client.submit(
                pickle.loads,
                pickle.dumps(_Call(children, key, attempt.trial)),
                key=key,
                workers=[address],
                pure=False,
            )
        attempt.address = address
        attempt.future.add_done_callback(lambda _: ended.put(key))
        return key

    def _over(self, running: Mapping[str, _Attempt], ended: "Queue[str]") -> list[str]:
        """Return the keys of what has ended, or whose worker is lost; wait for some time for the first."""
        if lost := [key for key, attempt in running.items() if attempt.address not in self._threads]:
            return lost
        with suppress(Empty):
            key = ended.get(timeout=LOOK_SECONDS)
            return [key] if key in running else []
        return []

    def _row(self, attempt: _Attempt) -> Row | None:
        """Return the row of an attempt that is over; None where its trial is to be tried again.

        Raises EngineError where the worker cannot run trials.
        """
        future, address = attempt.future, attempt.address
        with self._answering():
            if future.status == "cancelled":  # not by us, so that Dask has lost its scheduler
                raise self._gone()
            error = future.exception(timeout=ANSWER_SECONDS) if future.status == "error" else None
            row = self._result(future) if future.status == "finished" else None
            if row is None:
                self._client.cancel([future])
        if isinstance(error, KfeatError):
            said = type(error)(f"{error} (on the Dask worker at {address})")
            if isinstance(error, EngineError):
                raise said
            self._without_data.setdefault(attempt.trial.data_key, {})[address] = said
            if self._able(attempt.trial):
                log.warning("%s; trials go to other workers", said)
            return None
        if error is not None and not isinstance(error, KilledWorker):
            raise EngineError(
                f"the Dask worker at {address} cannot run trials ({type(error).__name__}: {error}); each "
                "needs the same kfeat as there is here"
            )
        if row is not None:
            return checked(row, attempt.trial, address)
        attempt.lost.append(address)
        if len(attempt.lost) > RETRIES:
            return lost_row(attempt.trial, attempt.lost)
        log.warning("the Dask worker at %s was lost; its trial begins again", address)
        return None

    def _result(self, future: Any) -> Row | None:
        """Return the row that has been made, or None if its worker is gone before it was fetched."""
        try:
            return future.result(timeout=ANSWER_SECONDS)
        except TimeoutError:
            return None

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn whatever fails within since there is no scheduler any more into an EngineError."""
        if self._client.status != "running":
            raise self._gone()
        try:
            yield
        except Exception as error:
            if isinstance(error, (OSError, CancelledError)) or self._client.status != "running":
                raise self._gone() from None
            raise

    def _gone(self) -> EngineError:
        return EngineError(
            "the Dask scheduler was lost, and with it what ran on its workers; finished trials are kept, and "
            "the same command goes on from there once a scheduler is up"
        )
