"""The clock of a trial: wall and CPU seconds of its phases, and whether they may be compared with others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import NamedTuple

from kfeat.experiments.idle import ENOUGH, Watch, busy_seconds, was_idle
from kfeat.experiments.row import within_threads

# On test rows: these phases are no part of what a table shows as the time of mapping and training.
TEST_PHASES = frozenset({"map_test", "predict"})

_watch = Watch()  # one for the process, since it remembers what was before a trial


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
        yield
        cpu, wall, busy = process_time() - cpu, perf_counter() - wall, busy_seconds() - busy
        self._announce(None)
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
