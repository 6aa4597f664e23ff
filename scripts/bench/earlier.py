"""Every map, kernel and solver beside the same one of an earlier kfeat, both versions in turns.

KFEAT_EARLIER names a folder with the earlier sources (`git worktree add FOLDER COMMIT`); without it the part
is left out. Each version has a process of its own. In each round both take the least of several calls, one
version after the other; the columns of seconds are medians over the rounds. The target, to be at most 3 %
slower, was set before the measurement; two runs of one version differ by that much in some cases.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from scipy.stats import gmean

from kfeat.errors import KfeatError

Row = dict[str, Any]
Measured = tuple[str, str, float]  # what, on which data, seconds
LEAST = 0.97  # of the earlier speed
HERE = Path(__file__).parents[2]


def run(threads: int) -> list[Row]:
    """Return a row for each case, and one for the geometric mean; only one thread is measured."""
    if threads > 1:
        return []
    earlier = os.environ.get("KFEAT_EARLIER")
    if not earlier:
        raise KfeatError("KFEAT_EARLIER names no folder with an earlier kfeat")
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (what, shape, ours), (_, _, theirs) in in_turns(HERE, Path(earlier)):
        found.setdefault((what, shape), []).append((ours, theirs))
    rows = []
    for (what, shape), rounds in found.items():
        kfeat_s, other_s = (median(side) for side in zip(*rounds, strict=True))
        ratios = [theirs / ours for ours, theirs in rounds]
        spread = f"{min(ratios):.3g} to {max(ratios):.3g}"
        seconds = {"kfeat_s": kfeat_s, "other_s": other_s, "spread": spread}
        rows.append({"what": what, "shape": shape, **seconds, **judged(other_s / kfeat_s)})
    mean = float(gmean([row["ratio"] for row in rows]))
    return [{"what": "geometric mean", "shape": "all", **judged(mean)}, *rows]


def judged(ratio: float) -> Row:
    """Return the speed over the earlier one, the target for it, and whether it is met."""
    return {"ratio": ratio, "target": f">= {LEAST:g}x", "met": ratio >= LEAST}


def in_turns(*folders: Path) -> Iterator[list[Measured]]:
    """Yield what the kfeat of each folder measures, a round of a case at a time, one after the other."""
    command = [sys.executable, Path(__file__).with_name("cases.py")]
    with ExitStack() as stack:
        sides = [
            stack.enter_context(
                subprocess.Popen(
                    command,
                    env=os.environ | {"PYTHONPATH": str(folder)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for folder in folders
        ]
        while all(lines := [_next(side) for side in sides]):
            yield [json.loads(line) for line in lines]


def _next(side: "subprocess.Popen[str]") -> str:
    """Return the next line of a process, empty at its end."""
    assert side.stdin
    assert side.stdout
    side.stdin.write("\n")
    side.stdin.flush()
    return side.stdout.readline()
