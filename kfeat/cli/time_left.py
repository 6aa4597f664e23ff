"""How long a run will still take: what is expected of its trials, set right by those that have ended."""

from collections.abc import Callable, Mapping
from statistics import fmean
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

    def __init__(self, expected: Mapping[str, Estimate], clock: Callable[[], float] = monotonic) -> None:
        known = [one.seconds for one in expected.values() if one.seconds is not None]
        self._mean = fmean(known) if known else None
        self._expected = {
            key: one.seconds if one.seconds is not None else self._mean or 0.0
            for key, one in expected.items()
        }
        self._clock = clock
        self._waiting = sum(self._expected.values())
        self._n_waiting = len(expected)
        self._began: dict[str, float] = {}
        self._at_once = 1
        self._short = self._around = 0.0
        self._planned = self._taken = LONG

    def started(self, identity: str) -> None:
        """Take note of a trial that has begun."""
        self._waits_no_more(identity)
        self._began[identity] = self._clock()
        self._at_once = max(self._at_once, len(self._began))

    def finished(self, identity: str) -> None:
        """Take note of a trial that has ended, also of one that never began."""
        if identity not in self._began:
            self._waits_no_more(identity)
            return
        taken, seconds = self._clock() - self._began.pop(identity), self._expected.get(identity, 0.0)
        if seconds < LONG:
            self._short += 1
            self._around += max(taken - seconds, 0.0)
        else:
            self._planned += seconds
            self._taken += taken

    def _waits_no_more(self, identity: str) -> None:
        self._waiting -= self._expected.get(identity, 0.0)
        self._n_waiting -= 1

    @property
    def left(self) -> float | None:
        """The seconds until all trials have ended, as many at once as have run so far; None if unknown."""
        if self._mean is None and (self._n_waiting or self._began):
            return None
        now, factor = self._clock(), self._taken / self._planned
        around = self._around / self._short if self._short else AROUND
        running = [
            max(self._expected.get(identity, 0.0) * factor + around - (now - began), 0.0)
            for identity, began in self._began.items()
        ]
        waiting = max(self._waiting, 0.0) * factor + self._n_waiting * around
        return max((waiting + sum(running)) / self._at_once, max(running, default=0.0))
