"""Where trials run: engines behind one small contract (`base`), chosen by name."""

from collections.abc import Iterator
from contextlib import contextmanager

from kfeat.errors import EngineError
from kfeat.experiments.engines.base import Engine
from kfeat.experiments.engines.local import Local

ENGINES = ("local", "dask")


@contextmanager
def opened_engine(
    name: str, jobs: int = 1, scheduler: str | None = None, exclusive: bool = False
) -> Iterator[Engine]:
    """Make the engine of this name ready, and end what it has started.

    `jobs` trials run at a time on this machine; with the address of a Dask `scheduler`, as many as its
    workers have threads. `exclusive` gives each machine of Dask's one trial at a time. Raises EngineError
    where the package that an engine needs is not installed, or where no scheduler answers.
    """
    if name == "local":
        yield Local(jobs)
        return
    try:
        from kfeat.experiments.engines.dask import dask_engine
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("dask", "distributed", "tornado"):
            raise
        raise EngineError(
            "--engine dask needs the package distributed; pip install distributed adds it"
        ) from None
    with dask_engine(scheduler, jobs, exclusive) as engine:
        yield engine
