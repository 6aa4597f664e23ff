"""A number of candidates in the place of a budget of time: a search that is the same on any machine."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from kfeat.experiments.cost import effort
from kfeat.own.budget import ANY, Budget
from kfeat.own.candidates import Candidate
from kfeat.own.cost import MOST_LEARNT, binning_effort, path_time
from kfeat.own.facts import parted
from kfeat.own.folds import folds_at
from kfeat.own.result import Row

SECONDS = 1.0  # nominal ones, of the budget for each candidate
# Nominal seconds of one value of C or alpha on one fold, for each unit of effort: about those of two cores.
UNITS = {"linear": 1e-6, "map": 1.3e-11, "binning": 3.5e-10, "svm": 1e-6, "kernel_ridge": 2e-9}
LEARNING = 2.5  # nominal seconds of a metric that is learnt from all rows that it takes


class CountedBudget(Budget):
    """So many candidates, whose times follow from their sizes, so that no clock decides anything."""

    def __init__(self, n_candidates: int) -> None:
        self._nominal, self._left, self._metrics = 0.0, n_candidates, set[tuple[str, int]]()
        super().__init__(SECONDS * n_candidates)

    def now(self) -> float:
        """Return the nominal seconds of what was scored so far."""
        return self._nominal

    @property
    def any_time(self) -> float:
        """The deadline of all questions, which nothing ends."""
        return monotonic() + ANY

    @property
    def deadline(self) -> float:
        """The deadline of tests."""
        return self.any_time

    @property
    def searches(self) -> bool:
        """Whether another candidate is scored."""
        return self._left > 0 and super().searches

    def score(
        self, ask: Callable[..., Row | None], end: float, candidate: Candidate, **question: Any
    ) -> Row | None:
        """Return what a scorer answers, with nominal seconds; None once they are over."""
        if self.now() >= end:
            return None
        answer = ask("score", self.any_time, candidate=candidate, **question)
        n, values = question["n"], question["values"]
        times = {"seconds": nominal_seconds(candidate, n, len(values))}
        self._left -= 1
        self._nominal += times["seconds"]
        if parted(candidate.scale)[1]:
            times["learning"] = folds_at(n) * LEARNING * min(n / MOST_LEARNT, 1.0)
            if (candidate.scale, n) not in self._metrics:
                self._nominal += times["learning"]
            self._metrics.add((candidate.scale, n))
        return {"budget": self.seconds, **(answer or {"failed": "no answer"}), **times}


def nominal_seconds(candidate: Candidate, n: int, n_values: int) -> float:
    """Return about how many seconds the folds of a candidate take on n rows, by its sizes alone."""
    regression = candidate.loss == "squares"
    if candidate.sparse:
        seconds = UNITS["binning"] * binning_effort(n, candidate.D)
    else:
        kind = candidate.kind if not candidate.exact else "kernel_ridge" if regression else "svm"
        seconds = UNITS[kind] * effort(n, candidate.D, candidate.exact, regression)
    return folds_at(n) * path_time(candidate, n_values) * seconds
