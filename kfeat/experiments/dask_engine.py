"""The Dask engine: trials on the workers of a Dask scheduler, on this machine or on others.

Dask sends trials to its workers and rows back, and lists the workers. This module decides which worker runs
which trial: one trial per thread of a worker, or one per machine. So it is known when each trial begins. If a
worker is lost or cannot load the data, its trial begins again on another one.
"""

import logging
import os
import pickle
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, Queue
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from distributed import Client, KilledWorker

from kfeat.errors import EngineError, KfeatError
from kfeat.experiments.dask_client import ANSWER_SECONDS, dask_client
from kfeat.experiments.dask_worker import Children, run_on_worker
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.trial import header
from kfeat.experiments.worker import WorkerOptions

RETRIES = 3  # how often a trial is tried again after its worker was lost
LOOK_SECONDS = 1.0  # between two updates of the list of workers
SILENCE_SECONDS = 60.0  # a busy scheduler may not answer for a while; after this time it counts as lost
# A child process ends if it has had no trial for so long: its run may have ended. On the machine of the run
# this is known in another way, but other trials may need the memory that the child holds.
REST_SECONDS, REST_SECONDS_HERE = 60.0, 1.0

log = logging.getLogger(__name__)


@contextmanager
def dask_engine(address: str | None, jobs: int, exclusive: bool, options: WorkerOptions) -> Iterator["Dask"]:
    """Make an engine for the scheduler at `address`, or for one here with `jobs` workers of one thread each.

    Raises EngineError where no scheduler answers, or a worker cannot run trials.
    """
    here = address is None
    with dask_client(address, jobs) as client:
        engine = Dask(client, options, here=here, exclusive=exclusive or (here and jobs == 1))
        with engine.registered():
            yield engine


class _Call:
    """A trial that is sent to a worker: unpickling it there runs the trial and returns its row.

    The scheduler unpickles every task. Here the task's function is `pickle.loads` and its argument the bytes
    of this object, so that the scheduler does not import kfeat. That import took seconds in which no worker
    got a trial. The trial inside is pickled separately, for the worker's child process that runs it.
    """

    def __init__(self, children: str, key: str, trial: Trial) -> None:
        self._arguments = children, key, pickle.dumps(trial)

    def __reduce__(self) -> tuple[Callable[..., Row | None], tuple[str, str, bytes]]:
        return run_on_worker, self._arguments


@dataclass(eq=False)
class _Attempt:
    """A trial, the workers that were lost while they ran it or that lack its data, and where it runs now."""

    trial: Trial
    lost: list[str] = field(default_factory=list)
    lacking: dict[str, KfeatError] = field(default_factory=dict)
    address: str = ""
    future: Any = None


class Dask:
    """Runs trials on the workers of a scheduler; times count only if a machine runs one trial at a time."""

    def __init__(self, client: Client, options: WorkerOptions, *, here: bool, exclusive: bool) -> None:
        self.here, self.alone = here, exclusive
        rest = REST_SECONDS_HERE if here else REST_SECONDS
        self.options = replace(options, alone=exclusive, folder=os.getcwd(), rest=rest)
        self._client, self._children = client, f"kfeat-{uuid4().hex}"
        self._threads: Mapping[str, int] = {}
        self._looked, self._warned = 0.0, False
        self._sent: dict[str, _Attempt] = {}  # by Dask's key
        self._unsent: list[_Attempt] = []
        self._ended: Queue[str] = Queue()

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Give every worker child processes for this run, including workers that join later."""
        try:
            with self._answering():
                self._client.register_plugin(Children(self.options, self.here), name=self._children)
        except EngineError:
            raise
        except Exception as error:  # whatever a worker raises that cannot import kfeat
            raise EngineError(
                f"a Dask worker cannot run trials ({error}); it needs the same kfeat as this machine"
            ) from None
        try:
            yield
        finally:
            with suppress(Exception), self._answering():  # the run is over, even if a worker reports an error
                self._connected(ANSWER_SECONDS)  # without an answer the next line would wait forever
                self._client.unregister_worker_plugin(self._children)

    def has_room(self) -> bool:
        """Return whether a worker is free."""
        return self._place(()) is not None

    def submit(self, trial: Trial) -> None:
        """Send a trial to a worker that is free."""
        self._unsent.append(_Attempt(trial))
        self._send()

    def events(self) -> list[tuple[Trial, Row | KfeatError]]:
        """Wait briefly for trials to end, and return those that have; send lost trials again."""
        self._look()
        ended: list[tuple[Trial, Row | KfeatError]] = []
        for key in self._over():
            attempt = self._sent.pop(key)
            if (row := self._row(attempt)) is None:
                self._unsent.append(attempt)
            else:
                ended.append((attempt.trial, row))
        self._send()
        for attempt in [waiting for waiting in self._unsent if self._all_lack_data(waiting)]:
            self._unsent.remove(attempt)
            ended.append((attempt.trial, list(attempt.lacking.values())[-1]))
        return ended

    def cancel(self, identities: Collection[str]) -> None:
        """End trials and the child processes that run them."""
        self._unsent = [attempt for attempt in self._unsent if attempt.trial.id not in identities]
        keys = [key for key, attempt in self._sent.items() if attempt.trial.id in identities]
        futures = [self._sent.pop(key).future for key in keys]
        if futures:
            with suppress(Exception), self._answering():  # the run reports its own reason for ending
                self._connected(ANSWER_SECONDS)
                self._client.cancel(futures)

    def _look(self) -> None:
        """Update the list of workers, at most once in LOOK_SECONDS."""
        if monotonic() - self._looked < LOOK_SECONDS:
            return
        with self._answering():
            self._threads = self._connected(SILENCE_SECONDS)
        self._looked = monotonic()
        if not self._threads and not self._warned:
            log.warning("no worker is connected to the Dask scheduler; waiting for one")
        self._warned = not self._threads

    def _connected(self, seconds: float) -> Mapping[str, int]:
        """Return the threads of each worker; raises TimeoutError if the scheduler takes longer to answer."""
        threads: Mapping[str, int] = self._client.nthreads(callback_timeout=seconds)
        return threads

    def _place(self, lost: Collection[str], lacking: Collection[str] = ()) -> str | None:
        """Return the address of a free worker, if possible on a machine where no worker was lost."""
        threads = {address: n for address, n in self._threads.items() if address not in lacking}
        return free_worker(threads, [attempt.address for attempt in self._sent.values()], lost, self.alone)

    def _send(self) -> None:
        for attempt in list(self._unsent):
            address = self._place(attempt.lost, attempt.lacking)
            if address is None:
                continue
            self._unsent.remove(attempt)
            key = f"{attempt.trial.id}-{uuid4().hex}"
            call = pickle.dumps(_Call(self._children, key, attempt.trial))
            with self._answering():
                future = self._client.submit(pickle.loads, call, key=key, workers=[address], pure=False)
            attempt.address, attempt.future, self._sent[key] = address, future, attempt
            future.add_done_callback(lambda _, key=key: self._ended.put(key))

    def _over(self) -> list[str]:
        """Return the keys of trials that have ended or lost their worker; wait for a while for the first."""
        if lost := [key for key, attempt in self._sent.items() if attempt.address not in self._threads]:
            return lost
        if not self._sent:
            if not self._threads:
                sleep(LOOK_SECONDS)
            return []
        with suppress(Empty):
            key = self._ended.get(timeout=LOOK_SECONDS)
            return [key] if key in self._sent else []
        return []

    def _row(self, attempt: _Attempt) -> Row | None:
        """Return the row of an attempt that is over; None if its trial has to begin again.

        Raises EngineError if the worker cannot run trials.
        """
        future, address = attempt.future, attempt.address
        with self._answering():
            if future.status == "cancelled":  # not by us: Dask has lost its scheduler
                raise self._gone()
            error = future.exception(timeout=ANSWER_SECONDS) if future.status == "error" else None
            row = None
            if future.status == "finished":
                with suppress(TimeoutError):  # its worker was lost before the row was fetched
                    row = future.result(timeout=ANSWER_SECONDS)
            if row is None:
                self._client.cancel([future])
        if row is not None:
            return row_of_trial(row, attempt.trial, address)
        if error is None or isinstance(error, KilledWorker):
            attempt.lost.append(address)
            if len(attempt.lost) > RETRIES:
                return _lost(attempt.trial, attempt.lost)
            log.warning("the Dask worker at %s was lost; its trial begins again", address)
            return None
        if not isinstance(error, KfeatError):
            raise EngineError(
                f"the Dask worker at {address} cannot run trials ({type(error).__name__}: {error}); it "
                "needs the same kfeat as this machine"
            )
        located = type(error)(f"{error} (on the Dask worker at {address})")
        if isinstance(located, EngineError):
            raise located
        attempt.lacking[address] = located
        if not self._all_lack_data(attempt):
            log.warning("%s; its trial goes to another worker", located)
        return None

    def _all_lack_data(self, attempt: _Attempt) -> bool:
        return bool(self._threads) and attempt.lacking.keys() >= self._threads.keys()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn an error in this context into an EngineError if the scheduler has been lost."""
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
            "the Dask scheduler was lost, and so were the running trials; finished trials are kept: start a "
            "scheduler and run the same command again to continue"
        )


def free_worker(
    threads: Mapping[str, int], taken: Collection[str], avoided: Collection[str], exclusive: bool
) -> str | None:
    """Return the address of the worker that takes the next trial; None where none is free.

    `threads` is the number of threads of each worker by address, one per trial; `taken` has the address of
    each running trial. With `exclusive` a machine, that is a host, runs one trial at a time. Hosts of the
    addresses in `avoided` come last. Otherwise the least busy worker is chosen.
    """
    load, bad = Counter(taken), set(map(_host, avoided))
    busy = set(map(_host, taken)) if exclusive else set()
    free = [address for address, n in threads.items() if load[address] < n and _host(address) not in busy]
    return min(free, key=lambda worker: (_host(worker) in bad, load[worker] / threads[worker]), default=None)


def _host(address: str) -> str:
    """Return the machine in an address such as tcp://10.0.0.7:40321."""
    return urlsplit(address).hostname or address


def row_of_trial(row: Row, trial: Trial, address: str) -> Row:
    """Return the row that the worker at `address` made of `trial`.

    Raises EngineError if it is not a row of this trial: then another version of kfeat runs there, whose
    maps, kernels or solvers have other versions or defaults and give other numbers.
    """
    ours = header(trial)
    wrong = [name for name in ours.keys() - {"status", "environment"} if row.get(name) != ours[name]]
    if wrong:
        raise EngineError(
            f"the worker at {address} runs another version of kfeat: its row differs from the trial in "
            f"{', '.join(sorted(wrong))}; install the same version there"
        )
    return row


def _lost(trial: Trial, workers: Sequence[str]) -> Row:
    """Return the row of a trial that has lost as many workers as it may."""
    return header(trial) | {
        "status": "failed",
        "reason": f"each of the {len(workers)} Dask workers that took it was lost ({', '.join(workers)}): "
        "perhaps killed because memory ran out, or disconnected",
    }
