"""The clock of a trial and its machine: seconds of phases, memory, versions, and whether others worked.

Times may be compared if the rest of the machine was idle: other processes used less than a tenth of a core.
"""

import ctypes
import hashlib
import os
import platform
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

import psutil

from kfeat.experiments.row import within_threads
from kfeat.version import commit

# The keys of a row's environment beside the packages.
MACHINE = ("processor", "cores", "host", "system", "python", "commit")
PACKAGES = ("kfeat", "numpy", "scipy", "scikit-learn", "liblinear-official", "libsvm-official")


@cache
def environment() -> dict[str, Any]:
    """Return versions, processor, cores, host and commit of kfeat's source tree (with `+` if it was changed).

    The host is a hash of the machine's name, which distinguishes machines of the same kind.
    """
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "host": hashlib.sha256(os.fsencode(platform.node())).hexdigest()[:8],
        "commit": commit(),
        "packages": {package: version(package) for package in PACKAGES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def give_memory_back() -> None:
    """Return freed memory to the system; glibc would keep it, for instance 700 MB of LIBSVM."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def reset_peak_memory() -> None:
    """Make `peak_memory_mb` count from now on, if the system supports it (Linux)."""
    give_memory_back()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_mb() -> float | None:
    """Return the largest resident size of this process since the reset, in MB; None if unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    peak = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)
    return None if peak is None else round(peak * 1024 / 1e6, 1)


# Phases on the test rows: tables do not count them as time of mapping and training.
TEST_PHASES = frozenset({"map_test", "predict"})
ENOUGH = 0.5  # seconds after which ticks of 10 ms distinguish a busy core from an idle one
LATELY = 5.0  # seconds: over a longer time, a core that became busy at its end could go unnoticed


class Phase(NamedTuple):
    """A phase that begins: its name, the CPU seconds of the trial before it, and those of the process so far.

    `before` leaves out phases on test rows if the phase works on training rows.
    """

    name: str
    before: float
    began: float


def silent(phase: Phase | None) -> None:
    """Ignore the phase."""


class Clock:
    """Wall and CPU seconds of named phases, and how busy the rest of the machine was during them.

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
        """Return whether, over all phases, the rest of the machine was idle and the cap on threads held.

        If the phases are too short to decide this, the machine must also have been idle shortly before them.
        """
        idle = was_idle(self._others, self._wall) and (self._wall >= ENOUGH or _watch.was_idle())
        return idle and within_threads(self.seconds, self._threads)


def busy_seconds() -> float:
    """Return the CPU seconds that all processes of the machine have used since it started."""
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0))


def was_idle(others: float, wall: float) -> bool:
    """Return whether `others`, the CPU seconds of other processes, are below a tenth of the `wall` seconds.

    The system counts in ticks of about 10 ms, so the first 0.05 seconds are not counted.
    """
    return max(0.0, others - 0.05) < 0.1 * max(wall, 1e-9)


class _Look(NamedTuple):
    """A measurement: its time, and the CPU seconds so far of all processes, and of our own by process id."""

    at: float
    busy: float
    ours: dict[int, float]


class Watch:
    """Decides whether the machine was idle shortly before now, for trials that are too short to decide it.

    In a few hundredths of a second a busy core may show no more ticks than an idle one. So this compares with
    the last measurement that is half a second old. If the last measurement is too old, it waits for half a
    second and uses that time. This process and the two above it do not count, since these only start it and
    wait for it: kfeat itself, or a Dask worker and the process that started it.
    """

    def __init__(self) -> None:
        self._ours = [psutil.Process()]
        with suppress(psutil.Error):  # this process may not be allowed to see them
            while len(self._ours) < 3 and (above := self._ours[-1].parent()):
                self._ours.append(above)
        self._looks = deque([self._look()])

    def was_idle(self) -> bool:
        """Measure, and return whether others used less than a tenth of a core since the last measurement."""
        now = self._look()
        while len(self._looks) > 1 and now.at - self._looks[1].at >= ENOUGH:
            self._looks.popleft()
        if now.at - self._looks[0].at > LATELY:
            self._looks = deque([now])
            sleep(ENOUGH)
            now = self._look()
        then = self._looks[0]
        self._looks.append(now)
        ours = sum(now.ours[pid] - then.ours[pid] for pid in now.ours.keys() & then.ours.keys())
        return was_idle(now.busy - then.busy - ours, now.at - then.at)

    def _look(self) -> _Look:
        ours = {os.getpid(): sum(os.times()[:4])}  # includes processes that it started, such as git
        for process in self._ours[1:]:
            with suppress(psutil.Error):  # it has ended
                times = process.cpu_times()
                ours[process.pid] = times.user + times.system
        return _Look(perf_counter(), busy_seconds(), ours)


_watch = Watch()  # one for the process: it keeps measurements from before a trial
