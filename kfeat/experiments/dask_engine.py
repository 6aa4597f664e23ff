"""The Dask engine: trials on the workers of a Dask scheduler, on this machine or on others.

Dask carries trials to its workers and rows back, and says which workers there are. Which worker takes which
trial is decided here, one per thread of a worker or one per machine: so it is known when each begins, and one
whose worker is lost, or cannot have the data, begins again on another.
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

RETRIES = 3  # of a trial whose worker was lost
LOOK_SECONDS = 1.0  # between two looks at which workers there are
SILENCE_SECONDS = 60.0  # after which a scheduler that was there is taken for lost: it may be busy for a while
# A child without a trial for so long ends: its run may be gone. On the machine of the run that is known
# otherwise, but other trials may wait for the memory that the child holds.
REST_SECONDS, REST_SECONDS_HERE = 60.0, 1.0

log = logging.getLogger(__name__)


@contextmanager
def dask_engine(address: str | None, jobs: int, exclusive: bool, options: WorkerOptions) -> Iterator["Dask"]:
    """Make an engine of the scheduler at `address`, or of one here with `jobs` workers of one thread each.

    Raises EngineError where no scheduler answers, or a worker cannot run trials.
    """
    here = address is None
    with dask_client(address, jobs) as client:
        engine = Dask(client, options, here=here, exclusive=exclusive or (here and jobs == 1))
        with engine.registered():
            yield engine


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


@dataclass(eq=False)
class _Attempt:
    """A trial, the workers that were lost under it or have no data for it, and where it runs now."""

    trial: Trial
    lost: list[str] = field(default_factory=list)
    lacking: dict[str, KfeatError] = field(default_factory=dict)
    address: str = ""
    future: Any = None


class Dask:
    """Runs trials on the workers of a scheduler; their times count where each machine has one at a time."""

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
        """Give every worker, also one that joins later, child processes for this run."""
        try:
            with self._answering():
                self._client.register_plugin(Children(self.options, self.here), name=self._children)
        except EngineError:
            raise
        except Exception as error:  # whatever a worker raises that cannot import what is here
            raise EngineError(
                f"a Dask worker cannot run trials ({error}); each needs the same kfeat as there is here"
            ) from None
        try:
            yield
        finally:
            with suppress(Exception), self._answering():  # the run is over, whatever a worker says against it
                self._connected(ANSWER_SECONDS)  # or what follows would wait for ever
                self._client.unregister_worker_plugin(self._children)

    def has_room(self) -> bool:
        """Tell whether a worker is free."""
        return self._place(()) is not None

    def submit(self, trial: Trial) -> None:
        """Send a trial to a worker that is free."""
        self._unsent.append(_Attempt(trial))
        self._send()

    def events(self) -> list[tuple[Trial, Row | KfeatError]]:
        """Wait for a moment for trials to end, and return those that have; send again what was lost."""
        self._look()
        found: list[tuple[Trial, Row | KfeatError]] = []
        for key in self._over():
            attempt = self._sent.pop(key)
            if (row := self._row(attempt)) is None:
                self._unsent.append(attempt)
            else:
                found.append((attempt.trial, row))
        self._send()
        for attempt in [one for one in self._unsent if self._nobody_can(one)]:
            self._unsent.remove(attempt)
            found.append((attempt.trial, list(attempt.lacking.values())[-1]))
        return found

    def cancel(self, identities: Collection[str]) -> None:
        """End trials, whose children end with them."""
        self._unsent = [one for one in self._unsent if one.trial.id not in identities]
        keys = [key for key, one in self._sent.items() if one.trial.id in identities]
        futures = [self._sent.pop(key).future for key in keys]
        if futures:
            with suppress(Exception), self._answering():  # a run that ends says why, whatever happens here
                self._connected(ANSWER_SECONDS)
                self._client.cancel(futures)

    def _look(self) -> None:
        """See which workers there are, from time to time."""
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
        """Return the address of a free worker, if possible on no machine where one was lost."""
        threads = {address: n for address, n in self._threads.items() if address not in lacking}
        return free_worker(threads, [one.address for one in self._sent.values()], lost, self.alone)

    def _send(self) -> None:
        """Send every trial for which a worker is free."""
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
        """Return the keys of what has ended, or whose worker is lost; wait for some time for the first."""
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
        """Return the row of an attempt that is over; None where its trial is to begin again.

        Raises EngineError where the worker cannot run trials.
        """
        future, address = attempt.future, attempt.address
        with self._answering():
            if future.status == "cancelled":  # not by us, so that Dask has lost its scheduler
                raise self._gone()
            error = future.exception(timeout=ANSWER_SECONDS) if future.status == "error" else None
            row = None
            if future.status == "finished":
                with suppress(TimeoutError):  # its worker is gone before it was fetched
                    row = future.result(timeout=ANSWER_SECONDS)
            if row is None:
                self._client.cancel([future])
        if row is not None:
            return checked(row, attempt.trial, address)
        if error is None or isinstance(error, KilledWorker):
            attempt.lost.append(address)
            if len(attempt.lost) > RETRIES:
                return _lost(attempt.trial, attempt.lost)
            log.warning("the Dask worker at %s was lost; its trial begins again", address)
            return None
        if not isinstance(error, KfeatError):
            raise EngineError(
                f"the Dask worker at {address} cannot run trials ({type(error).__name__}: {error}); each "
                "needs the same kfeat as there is here"
            )
        said = type(error)(f"{error} (on the Dask worker at {address})")
        if isinstance(said, EngineError):
            raise said
        attempt.lacking[address] = said
        if not self._nobody_can(attempt):
            log.warning("%s; its trial goes to another worker", said)
        return None

    def _nobody_can(self, attempt: _Attempt) -> bool:
        """Tell whether all workers lack the data of a trial."""
        return bool(self._threads) and attempt.lacking.keys() >= self._threads.keys()

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


def free_worker(
    threads: Mapping[str, int], taken: Collection[str], avoided: Collection[str], exclusive: bool
) -> str | None:
    """Return the address of the worker that takes the next trial; None where none is free.

    `threads` are the workers' threads by address, each for one trial, and `taken` is the address of each
    trial that runs. With `exclusive` a machine has one trial at a time; all addresses with the same host are
    one machine. Machines with an address that is to be `avoided` come last, then workers with less room.
    """
    load, bad = Counter(taken), set(map(_host, avoided))
    busy = set(map(_host, taken)) if exclusive else set()
    free = [address for address, n in threads.items() if load[address] < n and _host(address) not in busy]
    return min(free, key=lambda one: (_host(one) in bad, load[one] / threads[one]), default=None)


def _host(address: str) -> str:
    """Return the machine in an address such as tcp://10.0.0.7:40321."""
    return urlsplit(address).hostname or address


def checked(row: Row, trial: Trial, address: str) -> Row:
    """Return the row that the worker at `address` made of `trial`.

    Raises EngineError where it is not a row of this trial, since another version of kfeat runs there, whose
    maps, kernels or solvers have other versions or defaults and give other numbers.
    """
    ours = header(trial)
    wrong = [name for name in ours.keys() - {"status", "environment"} if row.get(name) != ours[name]]
    if wrong:
        raise EngineError(
            f"the worker at {address} runs another version of kfeat: its row differs from the trial in "
            f"{', '.join(sorted(wrong))}; install there what is installed here"
        )
    return row


def _lost(trial: Trial, workers: Sequence[str]) -> Row:
    """Return the row of a trial under which workers were lost as often as it may be tried."""
    return header(trial) | {
        "status": "failed",
        "reason": f"each of the {len(workers)} Dask workers that took it was lost ({', '.join(workers)}): "
        "killed, perhaps for want of memory, or cut off",
    }
