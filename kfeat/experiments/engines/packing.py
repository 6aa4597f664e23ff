"""Which trial starts next, so that those that run at once fit into memory together."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf

from kfeat.experiments.plan import Trial


class Packing:
    """Trials that wait in their order, and the memory of those that run.

    A trial starts if it fits beside those that run. While the first one waits for memory, others pass it
    only if they fit beside it, too, so that it starts once those end that ran before. Where nothing runs
    the first one starts, whatever it needs.

    `needs` are bytes by a trial's id, 0 where it is not among them; `memory` is what there is. Where none of
    those that wait can start, `more` is asked to add others, and tells whether it did. What runs of those
    that are dropped is `unwanted`: the engine ends it.
    """

    def __init__(
        self,
        trials: Iterable[Trial] = (),
        needs: Mapping[str, int] | None = None,
        memory: float = inf,
        more: Callable[[], bool] = lambda: False,
    ) -> None:
        self.waiting: OrderedDict[str, Trial] = OrderedDict()
        self.running: dict[str, int] = {}  # the bytes of each trial that runs
        self.unwanted: set[str] = set()
        self.memory = memory
        self._needs: dict[str, int] = {}
        self._more = more
        self._least: float = inf
        self._passed: set[str] = set()  # those that run and passed the first that waits
        self.add(trials, needs or {})

    def add(self, trials: Iterable[Trial], needs: Mapping[str, int]) -> None:
        """Let others wait behind those that wait."""
        for trial in trials:
            self.waiting[trial.id] = trial
            self._needs[trial.id] = needs.get(trial.id, 0)
            self._least = min(self._least, self._needs[trial.id])

    def drop(self, identities: Iterable[str]) -> None:
        """Let trials wait no more, nor run on."""
        for identity in identities:
            self.waiting.pop(identity, None)
            if identity in self.running:
                self.unwanted.add(identity)

    def any_left(self) -> bool:
        """Tell whether there is a trial that waits, also one that is added now."""
        while not self.waiting and self._more():
            pass
        return bool(self.waiting)

    def next(self, suits: Callable[[Trial], bool] | None = None) -> Trial | None:
        """Return the trial that starts now, which counts as running from here on; None where none can.

        It is one that `suits`, if that is asked for.
        """
        while (found := self._fitting(suits)) is None:
            if not self._more():
                return None
        self.running[found] = self._needs[found]
        return self.waiting.pop(found)

    def _fitting(self, suits: Callable[[Trial], bool] | None) -> str | None:
        if not self.waiting:
            return None
        free = self.memory - sum(self.running.values())
        first = next(iter(self.waiting))
        need = self._needs[first]
        may_start = suits is None or suits(self.waiting[first])
        if may_start and (need <= free or not self.running):
            self._passed.clear()
            return first
        beside = self.memory - need - sum(self.running.get(identity, 0) for identity in self._passed)
        fits = min(free, beside)
        if fits < self._least:  # as where all are alike: there is no need to look at each
            return None
        for identity, trial in islice(self.waiting.items(), 1, None):
            if self._needs[identity] <= fits and (suits is None or suits(trial)):
                self._passed.add(identity)
                return identity
        return None

    def ended(self, trial: Trial) -> None:
        """Take the memory of a trial that ran as free."""
        del self.running[trial.id]
        self.unwanted.discard(trial.id)
