"""Loading: kfeat's cached arrays beside scikit-learn's reader of the same file, and the targets of a load."""

import os
import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter
from typing import Any

from kfeat.data import Protocol, load
from scripts.bench.harness import side_by_side

Row = dict[str, Any]
THREADS = (1,)
SPLIT = {"split": {"kind": "sample", "n_train": 100_000, "seed": 0}}


def run(_: int) -> list[Row]:
    """Return a row per measurement; what is measured has one thread."""
    if not os.environ.get("KFEAT_MIRROR"):
        return [{"what": "nothing measured: set KFEAT_MIRROR, as a benchmark downloads nothing"}]
    with tempfile.TemporaryDirectory() as cache:
        return [*covertype_rows(cache), adult_row(cache), memory_row(cache)]


def covertype_rows(cache: str) -> list[Row]:
    """Return the first and the second load of Covertype, 581,012 x 54."""
    protocol = Protocol.model_validate(SPLIT)
    start = perf_counter()
    load("covertype", protocol, cache=cache)
    first = perf_counter() - start
    seconds = side_by_side({"second": lambda: load("covertype", protocol, cache=cache)})
    return [
        row("first load of covertype", "581,012 x 54", first, 30),
        row("second load of covertype", "581,012 x 54", seconds["second"], 0.5),
    ]


def adult_row(cache: str) -> Row:
    """Return a cached load of a9a and a9a.t beside scikit-learn reading the text."""
    from sklearn.datasets import load_svmlight_files

    load("adult", cache=cache)
    files = [str(Path(cache) / "adult" / name) for name in ("a9a", "a9a.t")]
    seconds = side_by_side(
        {
            "kfeat": lambda: load("adult", cache=cache),
            "sklearn": lambda: load_svmlight_files(files, n_features=123),
        }
    )
    return {
        "what": "cached load of adult, beside load_svmlight_files",
        "shape": "48,842 x 123",
        "kfeat_s": seconds["kfeat"],
        "other_s": seconds["sklearn"],
        "ratio": seconds["sklearn"] / seconds["kfeat"],
        "spread": seconds.spread("sklearn", "kfeat"),
    }


def memory_row(cache: str) -> Row:
    """Return the most memory that a cached load of Covertype allocates beyond the arrays it returns."""
    tracemalloc.start()
    data = load("covertype", Protocol.model_validate(SPLIT), cache=cache)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    arrays = (data.X_train.nbytes + data.X_test.nbytes) / 2**20
    return {
        "what": "peak memory of that load",
        "shape": "581,012 x 54",
        "target": "less than twice its arrays",
        "met": peak < 2 * arrays,
        "note": f"{peak - arrays:.0f} MB beyond arrays of {arrays:.0f} MB",
    }


def row(what: str, shape: str, seconds: float, target_s: float) -> Row:
    """Return the row of a load that has to end in time."""
    return {
        "what": what,
        "shape": shape,
        "kfeat_s": seconds,
        "target": f"<= {target_s:g} s",
        "met": seconds <= target_s,
    }
