"""The newer maps of polynomial kernels beside Tensor Sketch, Random Maclaurin and dp-rfs."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.kernels import Polynomial
from kfeat.maps import MAPS, FeatureMap
from scripts.bench import dp_rfs
from scripts.bench.harness import Timings, side_by_side
from scripts.bench.maps import Row, adult, judged, shaped

SKETCHES = ("tensor_sketch", "complex_tensor_sketch", "tensor_srht", "recursive_sketch")
THREADS = (1,)
MACLAURIN = ("random_maclaurin", "complex_maclaurin", "optimised_maclaurin")


def run(threads: int) -> list[Row]:
    """Return all rows of the table, measured with this many threads on both sides."""
    cases: list[tuple[str, Any, int, int]] = [
        ("20,000 x 784 (mnist)", shaped(20_000, 784, 0.19), 1_000, 4),
        ("32,561 x 123 sparse (a9a)", adult(), 200, 4),
        ("32,561 x 123 sparse (a9a)", adult(), 1_000, 4),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500, 2),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500, 4),
        ("1,000 x 5,000 (gisette)", shaped(1_000, 5_000), 5_000, 2),
    ]
    return [row for case in cases for row in one_shape(*case, threads)]


def one_shape(shape: str, X: Any, D: int, degree: int, threads: int) -> Iterator[Row]:
    """Yield every map at one shape beside the oldest of its kind, and those that dp-rfs has beside its own.

    Maps of kfeat fill an array that is there, all in one run; beside dp-rfs each side makes its output.
    """
    where = f"{shape}, D = {D:,}, p = {degree}"
    maps = {name: fitted(name, X, D, degree, threads) for name in (*SKETCHES, *MACLAURIN)}
    out = np.empty((X.shape[0], D), dtype=np.float32)
    for family in (SKETCHES, MACLAURIN):
        seconds = side_by_side({name: filling(maps[name], X, out) for name in family})
        for name in family[1:]:
            yield row(name, MAPS[family[0]].__name__, where, seconds, name, family[0])
    if dp_rfs.at_hand():
        theirs = {
            "tensor_sketch": dp_rfs.sketch(X, D, degree, False, threads),
            "complex_tensor_sketch": dp_rfs.sketch(X, D, degree, True, threads),
            "complex_maclaurin": dp_rfs.candidate(X, D, degree, "rademacher", True, threads),
        }
        for name, other in theirs.items():
            seconds = side_by_side({"kfeat": partial(maps[name].transform, X), "other": other})
            yield row(name, "dp-rfs", where, seconds, "kfeat", "other")


def fitted(name: str, X: Any, D: int, degree: int, threads: int) -> FeatureMap:
    """Return a map of kfeat, with at most D columns."""
    cls: Any = MAPS[name]
    law = {"degree_law": "proportional"} if name in MACLAURIN[:2] else {}
    one: FeatureMap = cls(Polynomial(degree, coef0=1.0), D, random_state=0, n_jobs=threads, **law).fit(X)
    return one


def filling(one: FeatureMap, X: Any, out: NDArray[np.float32]) -> Callable[[], object]:
    """Return the candidate that maps X into the first columns of memory that is there."""
    width = len(one.get_feature_names_out())
    there = out.ravel()[: X.shape[0] * width].reshape(X.shape[0], width)
    return partial(one.transform, X, out=there)


def row(name: str, other: str, shape: str, seconds: Timings, ours: str, theirs: str) -> Row:
    """Return the row of one map beside another; `ours` and `theirs` name the two in `seconds`."""
    ratio = seconds[theirs] / seconds[ours]
    target = judged(ratio, 1) if name == "complex_tensor_sketch" and other != "dp-rfs" else {}
    return {
        "what": f"{MAPS[name].__name__} : {other}",
        "shape": shape,
        "kfeat_s": seconds[ours],
        "other_s": seconds[theirs],
        "ratio": ratio,
        "spread": seconds.spread(theirs, ours),
        "target": target.get("target"),
        "met": target.get("met"),
    }
