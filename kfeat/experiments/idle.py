"""Whether the rest of the machine was idle while something ran here."""

import os
from collections import deque
from contextlib import suppress
from time import perf_counter, sleep
from typing import NamedTuple

import psutil

ENOUGH = 0.5  # seconds over which even ticks of 10 ms tell a busy core from an idle one
LATELY = 5.0  # seconds over which a core that was busy for the last of them still shows


def busy_seconds() -> float:
    """Return the CPU seconds that all processes of the machine have used since it started."""
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0))


def was_idle(others: float, wall: float) -> bool:
    """Tell whether other processes used less than a tenth of a core: `others` CPU seconds in `wall` seconds.

    The system counts in ticks of about 10 ms, so half a tenth of a second is beyond what it can tell.
    """
    return max(0.0, others - 0.05) < 0.1 * max(wall, 1e-9)


class _Look(NamedTuple):
    """When somebody looked, and the CPU seconds by then: of all processes, and of our own by their number."""

    at: float
    busy: float
    ours: dict[int, float]


class Watch:
    """Tells whether the machine was idle lately, for what is too short to tell it by itself.

    In a few hundredths of a second a busy core leaves no more ticks than an idle one may. So this goes back
    to the last look that is half a second old; where the machine was not looked at for long, it stays for
    half a second and judges that. Not counted are this process and the two above it, which hand it work and
    wait for it: kfeat itself, or a worker of Dask and what started that.
    """

    def __init__(self) -> None:
        self._above = _processes_above(2)
        self._looks = deque([self._look()])

    def was_idle(self) -> bool:
        """Look, and tell whether others used less than a tenth of a core since the look before."""
        now = self._look()
        while len(self._looks) > 1 and now.at - self._looks[1].at >= ENOUGH:
            self._looks.popleft()
        if now.at - self._looks[0].at > LATELY:
            self._looks = deque([now])
            sleep(ENOUGH)
            now = self._look()
        then = self._looks[0]
        self._looks.append(now)
        ours = sum(now.ours[one] - then.ours[one] for one in now.ours.keys() & then.ours.keys())
        return was_idle(now.busy - then.busy - ours, now.at - then.at)

    def _look(self) -> _Look:
        ours = {os.getpid(): sum(os.times()[:4])}  # with what it started, as git for the commit in a row
        for process in self._above:
            with suppress(psutil.Error):  # it has ended
                times = process.cpu_times()
                ours[process.pid] = times.user + times.system
        return _Look(perf_counter(), busy_seconds(), ours)


def _processes_above(most: int) -> list[psutil.Process]:
    """Return the process that started this one, and the one that started that, as far as they may be seen."""
    found = [psutil.Process()]
    with suppress(psutil.Error):
        while len(found) <= most and (above := found[-1].parent()):
            found.append(above)
    return found[1:]
