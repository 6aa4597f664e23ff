"""The newer maps of polynomial kernels beside Tensor Sketch, Random Maclaurin and dp-rfs."""

from collections.abc import Callable, Iterator
from typing import Any

from kfeat.kernels import Polynomial
from kfeat.maps import MAPS
from scripts.bench import dp_rfs
from scripts.bench.harness import side_by_side
from scripts.bench.maps import Row, adult, judged, shaped

SKETCHES = ("tensor_sketch", "complex_tensor_sketch", "tensor_srht", "recursive_sketch")
MACLAURIN = ("random_maclaurin", "complex_maclaurin", "optimised_maclaurin")


def run(threads: int) -> list[Row]:
    """Return all rows of the table, measured with this many threads on both sides."""
    cases: list[tuple[str, Any, int, int]] = [
        ("20,000 x 784 (mnist)", shaped(20_000, 784, 0.19), 1_000, 4),
        ("32,561 x 123 sparse (a9a)", adult(), 200, 4),
        ("32,561 x 123 sparse (a9a)", adult(), 1_000, 4),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500, 2),
        ("100,000 x 54 (covertype)", shaped(100_000, 54), 500, 4),
        ("6,000 x 5,000 (gisette)", shaped(6_000, 5_000), 5_000, 2),
    ]
    return [row for case in cases for row in one_shape(*case, threads)]


def one_shape(shape: str, X: Any, D: int, degree: int, threads: int) -> Iterator[Row]:
    """Yield every map at one shape, all in one run: beside the oldest of its kind, and beside dp-rfs."""
    candidates = {name: mapper(name, X, D, degree, threads) for name in (*SKETCHES, *MACLAURIN)}
    if dp_rfs.at_hand():
        for name, complex_real in (("tensor_sketch", False), ("complex_tensor_sketch", True)):
            candidates[f"dp-rfs {name}"] = dp_rfs.sketch(X, D, degree, complex_real, threads)
        candidates["dp-rfs complex_maclaurin"] = dp_rfs.candidate(X, D, degree, "rademacher", True, threads)
    seconds = side_by_side(candidates, rounds=3)
    for family in (SKETCHES, MACLAURIN):
        for name in family:
            if name != family[0]:
                yield row(name, family[0], f"{shape}, D = {D:,}, p = {degree}", seconds)
            if f"dp-rfs {name}" in seconds:
                yield row(name, f"dp-rfs {name}", f"{shape}, D = {D:,}, p = {degree}", seconds)


def mapper(name: str, X: Any, D: int, degree: int, threads: int) -> Callable[[], object]:
    """Return the candidate that maps X by a map of kfeat."""
    cls: Any = MAPS[name]
    law = {"degree_law": "proportional"} if name in MACLAURIN[:2] else {}
    fitted = cls(Polynomial(degree, coef0=1.0), D, random_state=0, n_jobs=threads, **law).fit(X)
    return lambda: fitted.transform(X)


def row(name: str, other: str, shape: str, seconds: dict[str, float]) -> Row:
    """Return the row of one map beside another."""
    ratio = seconds[other] / seconds[name]
    whole = f"{MAPS[name].__name__} : {MAPS[other].__name__ if other in MAPS else 'dp-rfs'}"
    target = judged(ratio, 1) if name == "complex_tensor_sketch" and other in MAPS else {}
    return {
        "what": whole,
        "shape": shape,
        "kfeat_s": seconds[name],
        "other_s": seconds[other],
        "ratio": ratio,
        "target": target.get("target"),
        "met": target.get("met"),
    }
