"""The contract of an engine: it takes trials and tells the parent what becomes of them."""

import typing
from collections.abc import Generator

from kfeat.errors import KfeatError
from kfeat.experiments.engines.packing import Packing
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.worker import WorkerOptions


class Event(typing.NamedTuple):
    """What an engine tells of a trial: first, without a row, that it has begun; then, once, what came out.

    That is its row, or the KfeatError of data that cannot be loaded.
    """

    trial: Trial
    row: Row | KfeatError | None = None


class Engine(typing.Protocol):
    """Carries out trials in processes of its own; it writes no rows, which is the parent's work alone."""

    @property
    def here(self) -> bool:
        """Tell whether trials run on this machine, so that data which the parent fetches serve them."""

    @property
    def alone(self) -> bool:
        """Tell whether each trial has its machine to itself, so that its times count."""

    def carried_out(self, packing: Packing, options: WorkerOptions) -> Generator[Event, None, None]:
        """Run all trials of a packing, each once there is room, and yield each event when it happens.

        A row is taken before more trials start. What is `packing.unwanted` is ended without an event; closing
        the generator ends all that runs. Raises EngineError where the engine itself is lost.
        """
