"""The machine and the software that a row records."""

import ctypes
import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
        "commit": _commit(),
        "packages": {package: version(package) for package in PACKAGES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str | None:
    """Return the commit if kfeat runs from its own checkout, else None."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    try:
        options = {"cwd": root, "capture_output": True, "text": True, "check": True, "timeout": 10}
        commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], **options)  # type: ignore[call-overload]
        changed = subprocess.run(["git", "status", "--porcelain", "kfeat"], **options)  # type: ignore[call-overload]
    except (OSError, subprocess.SubprocessError):
        return None
    return str(commit.stdout.strip()) + ("+" if changed.stdout.strip() else "")


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
