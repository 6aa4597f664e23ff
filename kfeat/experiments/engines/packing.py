"""Which trial starts next, so that those that run at once fit into memory together."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import islice
from math import inf

from kfeat.experiments.plan import Trial


class Packing:
    """Trials that wait in their order, and the memory of those that run.

    A trial starts if it fits beside those that run. While the first one waits for memory, others pass it
    only if they fit beside it, too, so that it starts once those end that ran before. Where nothing runs
    the first one starts, whatever it needs.

    `needs` are bytes by a trial's id, 0 where it is not among them; `memory` is what there is.
    """

    def __init__(
        self, trials: Sequence[Trial], needs: Mapping[str, int] | None = None, memory: float = inf
    ) -> None:
        self.waiting = OrderedDict((trial.id, trial) for trial in trials)
        self._needs, self._memory = needs or {}, memory
        self._least = min((self._needs.get(identity, 0) for identity in self.waiting), default=0)
        self._running: dict[str, int] = {}
        self._passed: set[str] = set()  # those that run and passed the first that waits

    def next(self) -> Trial | None:
        """Return the trial that starts now, which counts as running from here on; None where none can."""
        if not self.waiting:
            return None
        free = self._memory - sum(self._running.values())
        first = next(iter(self.waiting))
        need = self._needs.get(first, 0)
        if need <= free or not self._running:
            self._passed.clear()
            return self._started(first)
        beside = self._memory - need - sum(self._running.get(identity, 0) for identity in self._passed)
        fits = min(free, beside)
        if fits < self._least:  # as where all are alike: there is no need to look at each
            return None
        others = islice(self.waiting, 1, None)
        found = next((identity for identity in others if self._needs.get(identity, 0) <= fits), None)
        if found is None:
            return None
        self._passed.add(found)
        return self._started(found)

    def _started(self, identity: str) -> Trial:
        self._running[identity] = self._needs.get(identity, 0)
        return self.waiting.pop(identity)

    def ended(self, trial: Trial) -> None:
        """Take the memory of a trial that ran as free."""
        del self._running[trial.id]
