"""How long a run will still take: what is expected of its trials, set right by those that have ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic

from kfeat.experiments.estimates import Estimate

LONG = 1.0  # expected seconds from which a trial tells how far estimates are off
AROUND = 0.5  # seconds around the work of a trial, such as for its data, until one has ended


class TimeLeft:
    """Tells the seconds that a run has left.

    A trial takes its estimate times a factor, plus what is around the work of every trial. The latter is the
    mean over short trials that have ended; the factor is the ratio of the sums over long ones, and over one
    more that was as expected. A trial of which nothing is known counts as the mean of the others.
    """

    def __init__(
        self, expected: Mapping[str, Estimate] | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._expected: dict[str, float | None] = {}
        self._clock = clock
        self._all_known, self._n_known = 0.0, 0  # the seconds of all trials of which they are known
        self._waiting: set[str] = set()
        self._waiting_known = 0.0  # seconds
        self._waiting_unknown = 0
        self._coming: dict[str, tuple[float, int, int]] = {}  # seconds, trials known, trials unknown
        self._began: dict[str, float] = {}
        self._at_once = 1
        self._short = self._around = 0.0
        self._planned = self._taken = LONG
        self.add(expected or {})

    def announce(self, experiment: str, seconds: Sequence[float | None]) -> None:
        """Take note of what the trials of an experiment will take that begins later."""
        known = [one for one in seconds if one is not None]
        self._coming[experiment] = sum(known), len(known), len(seconds) - len(known)

    def over(self, experiment: str) -> None:
        """Take note that an experiment has begun, or that it will not."""
        self._coming.pop(experiment, None)

    def add(self, expected: Mapping[str, Estimate]) -> None:
        """Take note of trials that wait, and of what is expected of each by its id."""
        for identity, one in expected.items():
            self._expected[identity] = one.seconds
            self._waiting.add(identity)
            if one.seconds is None:
                self._waiting_unknown += 1
            else:
                self._waiting_known += one.seconds
                self._all_known += one.seconds
                self._n_known += 1

    def drop(self, identities: Iterable[str]) -> None:
        """Take note of trials that will not end, whether they wait or run."""
        for identity in identities:
            self._waits_no_more(identity)
            self._began.pop(identity, None)

    def started(self, identity: str) -> None:
        """Take note of a trial that has begun."""
        self._waits_no_more(identity)
        self._began[identity] = self._clock()
        self._at_once = max(self._at_once, len(self._began))

    def finished(self, identity: str) -> None:
        """Take note of a trial that has ended, also of one that never began."""
        self._waits_no_more(identity)
        if identity not in self._began:
            return
        taken, seconds = self._clock() - self._began.pop(identity), self._seconds(identity)
        if seconds < LONG:
            self._short += 1
            self._around += max(taken - seconds, 0.0)
        else:
            self._planned += seconds
            self._taken += taken

    def _waits_no_more(self, identity: str) -> None:
        if identity not in self._waiting:
            return
        self._waiting.remove(identity)
        seconds = self._expected[identity]
        if seconds is None:
            self._waiting_unknown -= 1
        else:
            self._waiting_known = self._waiting_known - seconds if self._waiting else 0.0

    @property
    def _mean(self) -> float:
        seconds, n = self._all_known, self._n_known
        for more, known, _ in self._coming.values():
            seconds, n = seconds + more, n + known
        return seconds / n if n else 0.0

    def _seconds(self, identity: str) -> float:
        seconds = self._expected.get(identity, 0.0)
        return self._mean if seconds is None else seconds

    @property
    def left(self) -> float | None:
        """The seconds until all trials have ended, as many at once as have run so far; None if unknown."""
        coming = [sum(each) for each in zip(*self._coming.values(), strict=True)] or [0.0, 0, 0]
        if not (self._n_known or coming[1]) and (self._waiting or self._began or coming[2]):
            return None
        now, factor = self._clock(), self._taken / self._planned
        around = self._around / self._short if self._short else AROUND
        running = [
            max(self._seconds(identity) * factor + around - (now - began), 0.0)
            for identity, began in self._began.items()
        ]
        seconds = max(self._waiting_known, 0.0) + coming[0]
        seconds += (self._waiting_unknown + coming[2]) * self._mean
        waiting = seconds * factor + (len(self._waiting) + coming[1] + coming[2]) * around
        return max((waiting + sum(running)) / self._at_once, max(running, default=0.0))
