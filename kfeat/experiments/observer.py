"""What a run tells whoever observes it."""

import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kfeat.errors import KfeatError
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row


class Begun(typing.NamedTuple):
    """What of an experiment is to run when it begins.

    `trials` are to run, and `expected` is what each will take, by their ids; of the others of its plan `done`
    are done, and `in_hand` wait or run for another experiment that shares them.
    """

    experiment: str
    trials: Sequence[Trial]
    expected: Mapping[str, Estimate]
    done: int = 0
    in_hand: int = 0


class RunObserver(typing.Protocol):
    """What a run tells whoever observes it."""

    def downloads(self) -> Any:
        """A `rich.progress.Progress` for downloads, or None."""

    def expect(self, experiment: str, seconds: Sequence[float | None]) -> None:
        """What the trials of an experiment will take that begins later, as far as that is known."""

    def begin(self, begun: Begun) -> None:
        """An experiment begins, maybe while trials of others run."""

    def started(self, trial: Trial) -> None:
        """A trial has begun."""

    def finished(self, trial: Trial, row: Row) -> None:
        """A trial is saved."""

    def end(self, experiment: str, left: Collection[str], error: KfeatError | None) -> None:
        """An experiment's last trial is saved, or an error has ended it, and the trials that were left."""
