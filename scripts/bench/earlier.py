"""Every map, kernel and solver beside the same one of an earlier kfeat, both versions in turns.

KFEAT_EARLIER names a folder with the earlier sources (`git worktree add FOLDER COMMIT`); without it the part
is left out. Each side runs in processes of its own, three times in turns. A case counts with its least
seconds in each process, and both columns of seconds have the median over the three. The target, to be at most
3 % slower, was set before the measurement; two runs of one version differ by that much in some cases.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from scipy.stats import gmean

from kfeat.errors import KfeatError

Row = dict[str, Any]
ROUNDS = 3
LEAST = 0.97  # of the earlier speed
HERE = Path(__file__).parents[2]


def run(threads: int) -> list[Row]:
    """Return a row for each case, and one for the geometric mean; only one thread is measured."""
    if threads > 1:
        return []
    earlier = os.environ.get("KFEAT_EARLIER")
    if not earlier:
        raise KfeatError("KFEAT_EARLIER names no folder with an earlier kfeat")
    ours, theirs = zip(*((seconds_of(HERE), seconds_of(Path(earlier))) for _ in range(ROUNDS)), strict=True)
    rows = []
    for what, shape in ours[0]:
        kfeat_s, other_s = (median(one[what, shape] for one in side) for side in (ours, theirs))
        rows.append(
            {
                "what": what,
                "shape": shape,
                "kfeat_s": kfeat_s,
                "other_s": other_s,
                **judged(other_s / kfeat_s),
            }
        )
    mean = float(gmean([row["ratio"] for row in rows]))
    return [{"what": "geometric mean", "shape": "all", **judged(mean)}, *rows]


def judged(ratio: float) -> Row:
    """Return the speed over the earlier one, the target for it, and whether it is met."""
    return {"ratio": ratio, "target": f">= {LEAST:g}x", "met": ratio >= LEAST}


def seconds_of(folder: Path) -> dict[tuple[str, str], float]:
    """Return the seconds of each case with the kfeat in a folder."""
    command = [sys.executable, Path(__file__).with_name("cases.py"), "1"]
    found = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True
    )
    return {(what, shape): seconds for what, shape, seconds in json.loads(found.stdout)}
