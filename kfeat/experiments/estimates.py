"""What each trial of a run will take: seconds and memory, before it starts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from kfeat.data import Protocol, Source
from kfeat.data.shapes import Shape, shape_of
from kfeat.experiments.memory_need import peak_bytes
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.seconds import PastSeconds
from kfeat.experiments.workload import of_trial
from kfeat.memory import available_memory


@dataclass(frozen=True)
class Estimate:
    """Seconds on one core and bytes at the peak; None where nobody can tell before the data are there.

    What is not known counts as nothing: such a trial runs as a small one.
    """

    seconds: float | None
    memory: int | None


def estimates(
    trials: Sequence[Trial], past: Iterable[Row], memory: float | None = None, time_limit: float = inf
) -> dict[str, Estimate]:
    """Return the estimate of each trial by its id, the same for all repeats of a cell.

    `past` are rows to learn seconds from, `memory` the bytes that there are (None: what is available), of
    which LIBSVM takes a share; no trial goes on beyond `time_limit` seconds.
    """
    seconds, there = PastSeconds(past), memory or available_memory()
    shapes: dict[tuple[int, int], Shape | None] = {}

    def shape(source: Source, protocol: Protocol) -> Shape | None:
        key = id(source), id(protocol)  # the trials of a plan share them, and their hash reads all of them
        if key not in shapes:
            shapes[key] = shape_of(source, protocol)
        return shapes[key]

    found: dict[str, Estimate] = {}
    for trial in trials:
        if trial.cell not in found:
            work = of_trial(trial, shape)
            expected = seconds.of(trial.cell, work)
            found[trial.cell] = Estimate(
                None if expected is None else min(expected, time_limit),
                None if work is None else peak_bytes(work, there),
            )
    return {trial.id: found[trial.cell] for trial in trials}
