"""The order in which trials run, and which of them cannot run for want of memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kfeat.experiments.engines.base import Engine
from kfeat.experiments.estimates import Estimate
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.trial import header


@dataclass(frozen=True)
class Order:
    """The trials that are to run, in their order, with their bytes by id, and the rows of those too big."""

    trials: list[Trial]
    needs: Mapping[str, int]
    refused: list[tuple[Trial, Row]]


def arranged(
    trials: Sequence[Trial], expected: Mapping[str, Estimate], engine: Engine, memory: float
) -> Order:
    """Return the order in which an engine should run trials of which `memory` bytes may be taken at once.

    Where several run at a time the longest comes first, so that no long one is left over at the end, when
    the others have nothing to do; one at a time they keep the order of the plan. Only of processes on this
    machine it is known what memory they share: there a trial that needs more than there is does not start.
    """
    if not engine.here:
        return Order(longest_first(trials, expected), {}, [])
    needs = {trial.id: expected[trial.id].memory or 0 for trial in trials}
    refused = [
        (trial, refusal(trial, needs[trial.id], memory)) for trial in trials if needs[trial.id] > memory
    ]
    fitting = [trial for trial in trials if needs[trial.id] <= memory]
    if not engine.alone:
        fitting = longest_first(fitting, expected)
    return Order(fitting, needs, refused)


def longest_first(trials: Sequence[Trial], expected: Mapping[str, Estimate]) -> list[Trial]:
    """Return the trials by their expected seconds, falling; those of equal length as they were."""
    return sorted(trials, key=lambda trial: expected[trial.id].seconds or 0.0, reverse=True)


def refusal(trial: Trial, need: int, memory: float) -> Row:
    """Return the row of a trial that is too big: failed, with the bytes it would need and those there are."""
    return header(trial) | {
        "status": "failed",
        "reason": f"it needs about {need:,} bytes of memory, more than the {memory:,.0f} there are: run it "
        "with more (--memory SIZE, or another machine), or take fewer rows or components",
    }
