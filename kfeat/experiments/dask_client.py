"""The client of a Dask scheduler: of one that runs, or of workers that start here."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import dask
from distributed import Client, LocalCluster, Security
from distributed.comm.core import connect

from kfeat.child import interrupts_held_back
from kfeat.errors import EngineError

ANSWER_SECONDS = 10.0  # a scheduler or a worker has to answer within this time
# Turns off what Dask's processes do for a dashboard that does not run: it used a tenth of the cores.
UNWATCHED = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}


@contextmanager
def dask_client(address: str | None, jobs: int) -> Iterator[Client]:
    """Connect to the scheduler at `address`, or start one here with `jobs` workers of one thread each.

    Raises EngineError where no scheduler answers.
    """
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":  # kfeat's own messages say what the user needs
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with _started(jobs) if address is None else _connected(address) as client:
        yield client


@contextmanager
def _started(jobs: int) -> Iterator[Client]:
    """Start a scheduler and workers here; they end with the run and show no traceback after Ctrl-C."""
    with interrupts_held_back(), dask.config.set(UNWATCHED):
        cluster = LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port: by default all ask for 8787
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
    with cluster, Client(cluster) as client:
        yield client


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler; raises EngineError where none answers."""
    try:
        asyncio.run(_greet(address))
        client = Client(address, timeout=ANSWER_SECONDS)
    except Exception as error:  # also a TypeError, if another kind of Dask server answers
        why = str(error) or "the server there is not a Dask scheduler; its dashboard has another port"
        raise EngineError(
            f"no Dask scheduler answers at {address} ({why}); `dask scheduler` starts one and prints its "
            "address"
        ) from None
    try:
        yield client
    finally:
        with suppress(OSError):
            client.close(timeout=ANSWER_SECONDS)


async def _greet(address: str) -> None:
    """Raise if no Dask server answers: a client would wait for it forever."""
    connecting = connect(address, timeout=ANSWER_SECONDS, **Security().get_connection_args("client"))
    # `connect` fails earlier and gives the reason.
    comm = await asyncio.wait_for(connecting, 1.5 * ANSWER_SECONDS)
    await comm.close()
