"""The clock of a trial: wall and CPU seconds of its phases, and whether they may be compared with others.

They may where the rest of the machine was idle: other processes used less than a tenth of a core.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter, process_time, sleep
from typing import NamedTuple

import psutil

from kfeat.experiments.row import within_threads

# On test rows: these phases are no part of what a table shows as the time of mapping and training.
TEST_PHASES = frozenset({"map_test", "predict"})
ENOUGH = 0.5  # seconds over which even ticks of 10 ms tell a busy core from an idle one
LATELY = 5.0  # seconds over which a core that was busy for the last of them still shows


class Phase(NamedTuple):
    """A phase that begins: its name, and CPU seconds of the trial before it and of the process so far.

    Before a phase on training rows, those on test rows do not count.
    """

    name: str
    before: float
    began: float


def silent(phase: Phase | None) -> None:
    """Tell nobody which phase begins."""


class Clock:
    """Wall and CPU seconds of named phases, and how busy the rest of the machine was meanwhile.

    `announce` is called with each phase before it begins, and with None after it.
    """

    def __init__(self, threads: int, announce: Callable[[Phase | None], None] = silent) -> None:
        self.seconds: dict[str, dict[str, float]] = {}
        self._threads, self._announce = threads, announce
        self._others = self._wall = 0.0

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Time what happens in this context as `phase`."""
        self._announce(Phase(phase, self._before(phase), process_time()))
        busy, wall, cpu = busy_seconds(), perf_counter(), process_time()
        try:
            yield
        finally:
            self._announce(None)
        cpu, wall, busy = process_time() - cpu, perf_counter() - wall, busy_seconds() - busy
        self.seconds[phase] = {"cpu": round(cpu, 4), "wall": round(wall, 4)}
        self._wall += wall
        self._others += busy - cpu

    def _before(self, phase: str) -> float:
        """Return the CPU seconds of the phases so far that count in `phase`."""
        counted = self.seconds if phase in TEST_PHASES else self.seconds.keys() - TEST_PHASES
        return sum(self.seconds[name]["cpu"] for name in counted)

    def counts(self) -> bool:
        """Tell whether, over all phases, the rest of the machine was idle and the cap on threads held.

        Phases that are too short to tell count if it was idle for some time before them, too.
        """
        idle = was_idle(self._others, self._wall) and (self._wall >= ENOUGH or _watch.was_idle())
        return idle and within_threads(self.seconds, self._threads)


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
        self._ours = [psutil.Process()]
        with suppress(psutil.Error):  # those that may not be seen
            while len(self._ours) < 3 and (above := self._ours[-1].parent()):
                self._ours.append(above)
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
        for process in self._ours[1:]:
            with suppress(psutil.Error):  # it has ended
                times = process.cpu_times()
                ours[process.pid] = times.user + times.system
        return _Look(perf_counter(), busy_seconds(), ours)


_watch = Watch()  # one for the process, since it remembers what was before a trial
