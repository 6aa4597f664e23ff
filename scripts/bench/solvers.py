"""The solvers beside the packages' own bridges, LIBLINEAR's own solvers and scikit-learn.

Real data where KFEAT_MIRROR (or the cache) has them; features are Tensor Sketch's. LIBLINEAR knows one
thread only: its seconds are measured once and stand beside one and two threads of kfeat. Packages'
converters and predictions run on a share of the rows, scaled up in proportion (their loops are over rows).
Set KFEAT_BENCH_LONG=1 for LIBLINEAR -s 1 on MNIST and Covertype too (seven minutes more).
"""

import os
import tracemalloc
from collections.abc import Iterable
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from liblinear import liblinear
from libsvm import svm, svmutil
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from kfeat.data import Protocol, load
from kfeat.kernels import Polynomial
from kfeat.maps import TensorSketch
from kfeat.solvers import Liblinear, Libsvm, Newton
from kfeat.solvers.native.nodes import node_rows
from scripts.bench.harness import Timings, side_by_side

Row = dict[str, Any]
BYTES = {"scale": {"divide": 255}}
FIRST_HUNDRED_THOUSAND = {"split": {"kind": "sample", "n_train": 100_000, "n_test": 20_000, "seed": 0}}
SKETCHED = [  # data, protocol, degree, coef0, features
    ("mnist", BYTES, 4, 1.0, 1000),
    ("adult", {}, 4, 1.0, 200),
    ("covertype", FIRST_HUNDRED_THOUSAND, 2, 1.0, 500),
]


def run(threads: int) -> list[Row]:
    """Return all rows of the table, measured with this many threads (LIBLINEAR: one)."""
    return [*problems(), *predictions(), *newton(threads)]


def judged(ratio: float, target: float) -> Row:
    """Return a ratio, the target for it, and whether it is met."""
    return {"ratio": ratio, "target": f">= {target:g}x", "met": bool(ratio >= target)}


def problems() -> Iterable[Row]:
    """Yield the building of LIBLINEAR's and LIBSVM's problems, beside the packages' and the bare writing."""
    dense = np.random.default_rng(0).standard_normal((60_000, 1000), dtype=np.float32)
    some = 600
    seconds = side_by_side(
        {
            "kfeat": lambda: node_rows(dense),
            "floor": lambda: np.empty(16 * 60_000 * 1001 // 8).fill(0.0),
            "other": lambda: liblinear.problem(np.zeros(some), dense[:some]),
        },
        rounds=3,
    )
    yield built("LIBLINEAR problem : package's", "60,000 x 1,000 float32", seconds, 60_000 / some, 20)
    tracemalloc.start()
    node_rows(dense, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    allowed = 16 * 60_000 * 1002 + 8 * 60_000
    yield {
        "what": "LIBLINEAR problem, peak memory over its bytes",
        "shape": "60,000 x 1,000, with bias",
        "target": "<= 1.01",
        "met": peak <= 1.01 * allowed,
        "note": f"{peak / allowed:.4f}",
    }
    data = load("mnist", Protocol.model_validate(BYTES))
    sparse = csr_matrix(data.X_train)
    nodes = 16 * (sparse.nnz + 60_000)
    seconds = side_by_side(
        {
            "kfeat": lambda: node_rows(sparse),
            "floor": lambda: np.empty(nodes // 8).fill(0.0),
            "other": lambda: svm.svm_problem(np.zeros(6000), sparse[:6000]),
        },
        rounds=3,
    )
    yield built("LIBSVM problem from CSR : package's", "mnist, 60,000 x 784", seconds, 10, None)


def built(what: str, shape: str, seconds: Timings, share: float, target: float | None) -> Row:
    """Return the row of a problem that was built, the package's seconds scaled up by `share`.

    From CSR, the package is less than 20 times slower than writing the bytes: the floor alone is the target.
    """
    other, over = seconds["other"] * share, seconds["kfeat"] / seconds["floor"]
    ratio = other / seconds["kfeat"]
    return {
        "what": what,
        "shape": shape,
        "kfeat_s": seconds["kfeat"],
        "other_s": other,
        "ratio": ratio,
        "spread": seconds.spread("other", "kfeat", share),
        "floor_s": seconds["floor"],
        "target": "<= 2 floors" + (f", >= {target:g}x" if target else ""),
        "met": bool(over <= 2 and (target is None or ratio >= target)),
        "note": f"{over:.2f} times the writing of its bytes",
    }


def predictions() -> Iterable[Row]:
    """Yield exact predictions in batches beside svm_predict, and LIBLINEAR's beside predict's loop."""
    kernel, options = Polynomial(4, 1.0, 1.0), "-t 1 -d 4 -g 1 -r 1 -q -m 2000"
    for name, protocol, n, m in (("adult", {}, 6000, 4000), ("mnist", BYTES, 4000, 500)):
        data = load(name, Protocol.model_validate(protocol))
        X, y, T = data.X_train[:n], data.y_train[:n].astype(float), data.X_test[:m]
        ours = Libsvm(kernel).fit(X, y)
        model = svmutil.svm_train(y, csr_matrix(X), options)
        queries = csr_matrix(T)
        seconds = side_by_side(
            {
                "kfeat": lambda o=ours, T=T: o.predict(T),
                "other": lambda q=queries, model=model: svmutil.svm_predict([], q, model, "-q"),
            },
            rounds=3,
        )
        same = np.array_equal(ours.predict(T), svmutil.svm_predict([], queries, model, "-q")[0])
        yield {
            "what": "exact predictions : svm_predict",
            "shape": f"{name}, {m:,} rows, {len(ours.support_):,} support vectors",
            "kfeat_s": seconds["kfeat"],
            "other_s": seconds["other"],
            "spread": seconds.spread("other", "kfeat"),
            **judged(seconds["other"] / seconds["kfeat"], 5),
            "note": "same labels" if same else "OTHER LABELS",
        }


def newton(threads: int) -> Iterable[Row]:
    """Yield Newton beside LIBLINEAR -s 2 and -s 1 at their default stops, with the objectives reached."""
    for name, _, degree, coef0, D in SKETCHED:
        Z, y = sketched(name, degree, coef0, D)
        start = perf_counter()
        ours = Newton().fit(Z, y)
        seconds = perf_counter() - start
        shape = f"{name} p = {degree}, {len(Z):,} x {D}"
        types = (2, 1) if name == "adult" or os.environ.get("KFEAT_BENCH_LONG") else (2,)
        for solver_type in types:
            other_s, objective, finished_by = liblinear_run(name, degree, coef0, D, solver_type)
            ratio = other_s / seconds
            yield {
                "what": f"Newton : LIBLINEAR -s {solver_type}",
                "shape": shape,
                "kfeat_s": seconds,
                "other_s": other_s,
                **judged(ratio, 5 if name == "mnist" else 1),
                "note": f"objective {ours.objective_ / objective:.5f} of {finished_by}'s",
            }


@cache
def sketched(name: str, degree: int, coef0: float, D: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Return Tensor Sketch features of the training rows, and the labels."""
    protocol = next(p for n, p, *_ in SKETCHED if n == name)
    data = load(name, Protocol.model_validate(protocol))
    sketch = TensorSketch(Polynomial(degree, coef0=coef0), D, random_state=0)
    return sketch.fit(data.X_train).transform(data.X_train), data.y_train


@cache
def liblinear_run(name: str, degree: int, coef0: float, D: int, solver_type: int) -> tuple[float, float, str]:
    """Return LIBLINEAR's seconds, objective, and the solver that finished."""
    Z, y = sketched(name, degree, coef0, D)
    start = perf_counter()
    fitted = Liblinear(solver_type).fit(Z, y)
    return perf_counter() - start - fitted.times_["evaluate"], fitted.objective_, fitted.finished_by_
