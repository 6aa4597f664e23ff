"""How much memory this process can use, and checks before large allocations."""

from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from kfeat.errors import KfeatError, SolverError

USABLE = 0.9  # of the free memory
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
# For version 2 and version 1: the folder of the hierarchy, the file of the limit, and the file of the use.
FILES = (("", "memory.max", "memory.current"), ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
# Cached files are part of the use, but the system can reclaim them. Version 1 has totals over inner groups.
RECLAIMED = (("inactive_file", "active_file"), ("total_inactive_file", "total_active_file"))

_budget: int | None = None


def limit_memory(budget: int | None) -> None:
    """Limit the memory of this process to `budget` bytes in total; None removes the limit."""
    global _budget
    _budget = budget


def available_memory() -> int:
    """Return the bytes that this process can still take.

    This is the smallest of three numbers: what the machine has available, what the limits of its control
    groups (of a container or a cluster job) leave, and what the budget of `limit_memory` leaves.
    """
    left = [psutil.virtual_memory().available, *_left_in_groups()]
    if _budget is not None:
        left.append(_budget - psutil.Process().memory_info().rss)
    return max(0, min(left))


def check_memory(what: str, needed: int, advice: str, error: type[KfeatError] = SolverError) -> None:
    """Raise `error` if `needed` bytes for `what` are not free; the message ends with the `advice`."""
    free = available_memory()
    if needed > USABLE * free:
        raise error(f"{what} takes {needed:,} bytes, {free:,} are free: {advice}")


def _left_in_groups() -> list[int]:
    """Return the bytes left in each control group of this process and in each group around it."""
    return [bytes_left for group in _groups(OWN_CGROUPS) for bytes_left in _left_in(*group)]


@cache
def _groups(own: Path) -> list[tuple[Path, str, str]]:
    """Return the groups with a limit that contain this process: the folder and the files of limit and use."""
    groups = []
    with suppress(OSError):  # not Linux, or no control groups
        for line in own.read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            for folder, limit, used in FILES:
                if folder in controllers.split(","):
                    root = CGROUPS / folder
                    inner = root / name.lstrip("/")
                    around = [place for place in (inner, *inner.parents) if place.is_relative_to(root)]
                    groups += [(place, limit, used) for place in around if _left_in(place, limit, used)]
    return groups


def _left_in(group: Path, limit: str, used: str) -> list[int]:
    """Return the bytes left in one group, if it has a limit."""
    with suppress(OSError, ValueError):  # the group is not visible in a container, or its limit is "max"
        left = int((group / limit).read_text()) - int((group / used).read_text())
        with suppress(OSError):
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            names = next((names for names in reversed(RECLAIMED) if names[0] in stat), ())
            left += sum(int(stat.get(name, 0)) for name in names)
        return [left]
    return []
