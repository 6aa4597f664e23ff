"""Which trial starts next: the longest first, and only together what fits into memory together."""

from collections.abc import Mapping, Sequence

from kfeat.experiments.estimates import Estimate
from kfeat.experiments.plan import Trial
from kfeat.experiments.row import Row
from kfeat.experiments.trial import header


class Schedule:
    """The trials that wait, and the memory of those that run.

    With more than one job the longest trial comes first, so that no long one is left over at the end, when
    the other processes have nothing to do; with one job the order of the plan stays. A trial starts if it
    fits beside those that run. While the first one waits for memory, others pass it only if they fit beside
    it, too, so that it starts once those end that ran before.

    `too_big` are the trials that do not fit into `memory` bytes even alone; they never start.
    """

    def __init__(
        self, trials: Sequence[Trial], expected: Mapping[str, Estimate], *, jobs: int, memory: int
    ) -> None:
        self._needs = {trial.id: expected[trial.id].memory or 0 for trial in trials}
        self._memory = memory
        self._jobs = jobs
        self.too_big = [trial for trial in trials if self._needs[trial.id] > memory]
        self._waiting = [trial for trial in trials if self._needs[trial.id] <= memory]
        if jobs > 1:
            self._waiting.sort(key=lambda trial: expected[trial.id].seconds or 0.0, reverse=True)
        self._running: dict[str, int] = {}
        self._passed: set[str] = set()  # those that run and passed the first of the waiting

    def next(self) -> Trial | None:
        """Return the trial that starts now, which counts as running from here on; None where none can."""
        if len(self._running) >= self._jobs or not self._waiting:
            return None
        free = self._memory - sum(self._running.values())
        first, *others = self._waiting
        if self._needs[first.id] <= free:
            self._passed.clear()
            return self._started(first)
        beside = self._memory - self._needs[first.id]
        beside -= sum(self._running.get(identity, 0) for identity in self._passed)
        fits = min(free, beside)
        trial = next((trial for trial in others if self._needs[trial.id] <= fits), None)
        if trial is not None:
            self._passed.add(trial.id)
            return self._started(trial)
        return None

    def _started(self, trial: Trial) -> Trial:
        self._waiting.remove(trial)
        self._running[trial.id] = self._needs[trial.id]
        return trial

    def ended(self, trial: Trial) -> None:
        """Give back the memory of a trial that ran."""
        del self._running[trial.id]

    def refusal(self, trial: Trial) -> Row:
        """Return the row of a trial that is too big, with the bytes it would need and those there are."""
        return header(trial) | {
            "status": "failed",
            "reason": f"it needs about {self._needs[trial.id]:,} bytes of memory, more than the "
            f"{self._memory:,} there are: run it with more (--memory, or another machine), or take fewer "
            "rows or components",
        }
