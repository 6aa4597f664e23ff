"""liblinear-multicore beside LIBLINEAR itself and kfeat's Newton, on the objective of -s 2.

Where LIBLINEAR_MULTICORE names a folder that has it (`pip install --target FOLDER liblinear-multicore`): it
installs a module under the name of liblinear-official's, so that one environment cannot hold both. Each
trains through its own package in a process of its own, with its own default tolerance; seconds are those of
training alone, and the least of three calls. Real data, features of Tensor Sketch as in newton.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kfeat.errors import KfeatError
from kfeat.solvers import Newton
from scripts.bench.newton import PROBLEMS, timed

Row = dict[str, Any]
CALLS = 3


def run(threads: int) -> Iterator[Row]:
    """Yield the rows of the table, with this many threads for liblinear-multicore and for Newton."""
    multicore = os.environ.get("LIBLINEAR_MULTICORE")
    if multicore is None:
        raise KfeatError("LIBLINEAR_MULTICORE does not name a folder with liblinear-multicore")
    official = find_spec("liblinear")
    assert official
    assert official.origin
    for problem in (PROBLEMS[1], PROBLEMS[4], PROBLEMS[6]):
        Z, y = problem.features()
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "features.npz"
            np.savez(data, X=Z, y=y)
            options = f"-s 2 -c {problem.C:g} -q"
            one = trained(str(Path(official.origin).parents[1]), data, options)
            many = trained(multicore, data, f"{options} -m {threads}")
        calls = [timed(Newton(C=problem.C), Z, y) for _ in range(CALLS)]
        newton_s = min(seconds for _, seconds in calls)
        shape = f"{problem.data}, {len(Z):,} x {Z.shape[1]:,}, C = {problem.C:g}"
        yield {
            "what": f"liblinear-multicore -s 2 -m {threads} : LIBLINEAR -s 2",
            "shape": shape,
            "kfeat_s": many["seconds"],
            "other_s": one["seconds"],
            "ratio": one["seconds"] / many["seconds"],
            "note": f"{many['objective'] / one['objective']:.4f} of the other's objective",
        }
        yield {
            "what": f"Newton : liblinear-multicore -s 2 -m {threads}",
            "shape": shape,
            "kfeat_s": newton_s,
            "other_s": many["seconds"],
            "ratio": many["seconds"] / newton_s,
            "note": f"{calls[0][0].objective_ / many['objective']:.4f} of the other's objective",
        }


def trained(folder: str, data: Path, options: str) -> dict[str, float]:
    """Return the least seconds of several calls, each in a process of its own, and the objective."""
    program = Path(__file__).with_name("one_liblinear.py")
    command = [sys.executable, str(program), folder, str(data), options]
    calls = [subprocess.run(command, check=True, capture_output=True) for _ in range(CALLS)]
    found = [json.loads(call.stdout) for call in calls]
    return min(found, key=lambda one: float(one["seconds"]))
