"""Running experiments: what a trial, a plan and a second call cost, and what a second process gains.

Every row is of the `kfeat` command, in processes of their own with one thread each, on configs in a folder
that vanishes. Trivial trials measure a map of two columns of ten rows, so that what they take is planning,
dispatch and storage. Beside a second call stands a bare import of the libraries on which all maps and solvers
rest, of which kfeat puts off what it does not need. The main job's trials (configs/adult_poly4.yaml, Tensor
Sketch alone) show how much of a second core arrives: a trial beside another takes more CPU time, since both
share caches and memory, which bounds the ratio. A class by its place is a map of scikit-learn beside direct
calls of it, and a config that names it beside one that does not, in alternation. Dask's workers are processes
of a cluster here, which the command starts and ends.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from kfeat.data import load_raw
from kfeat.experiments.component import read_component
from kfeat.kernels import Gaussian

Row = dict[str, Any]
ROOT = Path(__file__).parents[2]
THREADS = (1,)  # per process
MAIN_JOB = ("configs/adult_poly4.yaml", "--no-exact", "--maps", "tensor_sketch", "--repeats", "4", "--force")
LIBRARIES = "click, pydantic, scipy.sparse, sklearn.base"  # on which all maps and solvers rest
BARE = f"import {LIBRARIES}"
LEAN = f"from kfeat.cli.postponed import postpone; postpone(); {BARE}"
TRIVIAL = """\
title: Trials in which nothing is to do
dataset: {{name: dense, n: 10, d: 2}}
protocol: {{split: all}}
kernel: {{name: polynomial, degree: 2}}
maps: [{{name: tensor_sketch, n_components: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}}]
measure: {{name: map_size}}
repeats: {repeats}
"""


RBF = "sklearn.kernel_approximation:RBFSampler"
NAMED = """\
title: One trial of a map
dataset: {{name: dense, n: 10, d: 2}}
protocol: {{split: all}}
kernel: {{name: gaussian, gamma: 1.0}}
maps: [{{name: {name}}}]
measure: {{name: map_size}}
repeats: 1
"""


class Taken(NamedTuple):
    """What a process took: wall seconds, CPU seconds with its children, and its peak memory in MB."""

    wall: float
    cpu: float
    memory_mb: float


def run(_: int) -> list[Row]:
    """Return all rows of the table, which are of one thread per process."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [*plans(Path(folder)), *trivial_trials(Path(folder)), *second_calls(Path(folder))]
        return [*rows, *by_place(Path(folder)), *two_processes(Path(folder))]


def plans(folder: Path) -> Iterator[Row]:
    """Yield the time and the memory of a plan of 100,000 trials."""
    config = write(folder / "plan.yaml", 10_000)
    taken = kfeat("plan", str(config), "--out", str(folder / "none"))
    yield {
        "what": "plan of 100,000 trials",
        "shape": "10 maps, 10,000 repeats",
        "kfeat_s": taken.wall,
        "target": "<= 5 s, <= 1,000 MB",
        "met": taken.wall <= 5 and taken.memory_mb <= 1000,
        "note": f"{taken.memory_mb:.0f} MB; {taken.cpu:.1f} s of CPU time",
    }


def trivial_trials(folder: Path) -> Iterator[Row]:
    """Yield the time per trial of 10,000 trials in which nothing is to do."""
    config, n = write(folder / "trivial.yaml", 1_000), 10_000
    taken = kfeat("run", str(config), "--jobs", "2", "--quiet", "--out", str(folder / "trivial"))
    each = 1000 * taken.wall / n
    yield {
        "what": "overhead of a trial, of 10,000 trivial ones",
        "shape": "kfeat run --jobs 2",
        "kfeat_s": taken.wall,
        "target": "< 20 ms a trial",
        "met": each < 20,
        "note": f"{each:.1f} ms a trial, with the plan, the table and the figure; {taken.memory_mb:.0f} MB",
    }


def second_calls(folder: Path) -> Iterator[Row]:
    """Yield the time of `kfeat run` where all is done, and of `kfeat check` of one config."""
    out = ("--out", str(folder / "quickstart"))
    again = ("run", "configs/quickstart.yaml", "--no-exact", "--quiet", *out)
    kfeat(*again)
    check = ("check", "configs/quickstart.yaml", "--no-exact", *out)
    bare, lean = (sorted(process("-c", each) for _ in range(5))[2].wall for each in (BARE, LEAN))
    note = f"a bare import of {LIBRARIES} takes {bare:.2f} s; floor: that without what kfeat postpones"
    for what, arguments in (("kfeat run of a finished config", again), ("kfeat check of one config", check)):
        taken = sorted(kfeat(*arguments) for _ in range(5))
        yield {
            "what": what,
            "shape": "configs/quickstart.yaml",
            "kfeat_s": taken[2].wall,
            "floor_s": lean,
            "target": "< 1 s",
            "met": taken[2].wall < 1,
            "note": f"{taken[0].wall:.2f} to {taken[-1].wall:.2f} s in five calls; {note}",
        }


def by_place(folder: Path) -> Iterator[Row]:
    """Yield a class by its place beside direct calls of it, and beside a run that names none."""
    X = np.random.default_rng(0).random((30_000, 784), dtype=np.float32)
    component = read_component({"name": RBF, "gamma": 0.01, "n_components": 2000}, "map")
    named = component.build(kernel=Gaussian(0.01), random_state=0)
    direct = component.cls.place.load()(gamma=0.01, n_components=2000, random_state=0)
    times: list[list[float]] = [[], []]
    for _ in range(7):
        for map_, seconds in zip((named, direct), times, strict=True):
            start = perf_counter()
            map_.fit(X).transform(X)
            seconds.append(perf_counter() - start)
    ours, theirs = map(median, times)
    ratio = median(a / b for a, b in zip(*times, strict=True))
    yield {
        "what": "a class by its place, beside calling it",
        "shape": "RBFSampler, 30,000 x 784 to 2,000",
        "kfeat_s": ours,
        "other_s": theirs,
        "ratio": ratio,
        "target": "<= 1.02x",
        "met": ratio <= 1.02,
        "note": "median of seven pairs in alternation",
    }
    starts: list[list[float]] = [[], []]
    for name, walls in [*zip((RBF, "orf"), starts, strict=True)] * 16:
        config = folder / f"{name.rpartition(':')[2]}.yaml"
        config.write_text(NAMED.format(name=json.dumps(name)))
        walls.append(kfeat("run", str(config), "--quiet", "--out", str(folder / "named")).wall)
    named_walls, plain_walls = (walls[1:] for walls in starts)  # the first call runs the trial
    more = median(a - b for a, b in zip(named_walls, plain_walls, strict=True))
    yield {
        "what": "kfeat run of a finished config that names a class by its place",
        "shape": "RBFSampler in place of ORF",
        "kfeat_s": median(named_walls),
        "other_s": median(plain_walls),
        "target": "< 0.1 s more",
        "met": more < 0.1,
        "note": f"{more:+.2f} s, the median of fifteen pairs in alternation",
    }


def two_processes(folder: Path) -> Iterator[Row]:
    """Yield two processes beside one on trials of the main job, and two workers of Dask's beside it."""
    load_raw("adult", offline=True)  # so that no call has to read it
    seconds: dict[tuple[str, int], float] = {}
    cpu: dict[tuple[str, int], float] = {}
    one, two, two_of_dask = ("local", 1), ("local", 2), ("dask", 2)
    for engine, count in (one, two, two_of_dask):
        out = folder / f"main {engine} {count}"
        how = ("--engine", engine, "--jobs", str(count), "--quiet", "--out", str(out))
        seconds[engine, count] = kfeat("run", *MAIN_JOB, *how).wall
        cpu[engine, count] = cpu_seconds(out)
    for ours, title in ((two, "processes"), (two_of_dask, "Dask workers")):
        ratio, slower = seconds[one] / seconds[ours], cpu[ours] / cpu[one]
        yield {
            "what": f"two {title}, beside one process",
            "shape": "4 trials of configs/adult_poly4.yaml",
            "kfeat_s": seconds[ours],
            "other_s": seconds[one],
            "ratio": ratio,
            "target": ">= 1.8x",
            "met": ratio >= 1.8,
            "note": f"beside another a trial takes {slower:.2f} times the CPU time: {2 / slower:.2f} is the "
            "most",
        }


def cpu_seconds(out: Path) -> float:
    """Return the CPU seconds of all phases of the trials whose rows are below a folder."""
    rows = (json.loads(line) for path in out.rglob("trials.jsonl") for line in path.open())
    return sum(phase["cpu"] for row in rows for phase in row["seconds"].values())


def write(path: Path, repeats: int) -> Path:
    """Write the config of ten times `repeats` trivial trials."""
    path.write_text(TRIVIAL.format(repeats=repeats))
    return path


def kfeat(*arguments: str) -> Taken:
    """Return what a call of `kfeat` took; raises CalledProcessError where it failed."""
    return process("-m", "kfeat", *arguments)


def process(*arguments: str) -> Taken:
    """Return what a process of this Python took; raises CalledProcessError where it failed."""
    command = [sys.executable, *arguments]
    # With compiled modules, as pip installs them: without, a start takes 0.3 s more.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["OMP_NUM_THREADS"] = "1"
    start = perf_counter()
    child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return Taken(perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
