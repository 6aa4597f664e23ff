"""The time that a run has left: estimates of its trials, corrected by the trials that have ended."""

from collections.abc import Callable
from statistics import fmean
from time import monotonic

from kfeat.experiments.schedule import Event

AROUND = 0.5  # seconds of a trial beside its work, such as for its data
PRIOR = 1.0  # seconds that count as right estimates, before any trial has ended


class TimeLeft:
    """Estimates the seconds that a run has left.

    A trial counts as its estimate plus `AROUND`, times the ratio of the actual to the expected time of the
    trials that have ended. A trial without an estimate counts as the mean of the others.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._expected: dict[str, dict[str, float | None]] = {}  # by experiment and trial's id
        self._began: dict[str, float] = {}
        self._at_once = 1
        self._planned = self._taken = PRIOR
        self._mean: float | None = None

    def tell(self, event: Event) -> None:
        """Process an event."""
        ids = [trial.id for trial in event.trials]
        if event.what in ("expected", "begin"):
            self._expected[event.experiment] = {key: event.expected[key].seconds for key in ids}
            known = [one for each in self._expected.values() for one in each.values() if one is not None]
            self._mean = fmean(known) if known else self._mean
        elif event.what == "started":
            self._began[ids[0]] = self._clock()
            self._at_once = max(self._at_once, len(self._began))
        elif event.what == "finished":
            seconds = self._seconds(self._expected[event.experiment].pop(ids[0]))
            if ids[0] in self._began:
                self._planned += seconds
                self._taken += self._clock() - self._began.pop(ids[0])
        else:
            self._expected.pop(event.experiment, None)
            for key in ids:
                self._began.pop(key, None)

    def _seconds(self, expected: float | None) -> float:
        return AROUND + (expected if expected is not None else self._mean or 0.0)

    @property
    def left(self) -> float | None:
        """The seconds until all trials have ended, with as many at a time as so far; None if unknown."""
        trials = [item for each in self._expected.values() for item in each.items()]
        if trials and self._mean is None:
            return None
        now, factor = self._clock(), self._taken / self._planned
        waiting = sum(self._seconds(one) for key, one in trials if key not in self._began) * factor
        running = [
            max(self._seconds(one) * factor - (now - self._began[key]), 0.0)
            for key, one in trials
            if key in self._began
        ]
        return max((waiting + sum(running)) / self._at_once, max(running, default=0.0))
