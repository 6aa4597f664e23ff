"""The bridges to LIBLINEAR and LIBSVM beside those of their own packages.

Real data where KFEAT_MIRROR (or the cache) has them. Packages' converters run on a share of the rows, scaled
up in proportion (their loops are over rows). The other parts on solvers are newton and exact.
"""

import tracemalloc
from collections.abc import Iterable
from typing import Any

import numpy as np
from liblinear import liblinear
from libsvm import svm, svmutil
from scipy.sparse import csr_matrix

from kfeat.data import Protocol, load
from kfeat.kernels import Polynomial
from kfeat.solvers import Libsvm
from kfeat.solvers.native import node_rows
from scripts.bench.harness import Timings, side_by_side

Row = dict[str, Any]
THREADS = (1,)  # neither side knows more
BYTES = {"scale": {"divide": 255}}


def run(_: int) -> list[Row]:
    """Return all rows of the table; both sides have one thread."""
    return [*problems(), *predictions()]


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
    data = load("mnist", Protocol.model_validate(BYTES), offline=True)
    sparse = csr_matrix(data.X_train)
    nodes = 16 * (sparse.nnz + 60_000)
    seconds = side_by_side(
        {
            "kfeat": lambda: node_rows(sparse),
            "floor": lambda: np.empty(nodes // 8).fill(0.0),
            "other": lambda: svm.svm_problem(np.zeros(6000), sparse[:6000]),
        },
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
        data = load(name, Protocol.model_validate(protocol), offline=True)
        X, y, T = data.X_train[:n], data.y_train[:n].astype(float), data.X_test[:m]
        ours = Libsvm(kernel).fit(X, y)
        model = svmutil.svm_train(y, csr_matrix(X), options)
        queries = csr_matrix(T)
        seconds = side_by_side(
            {
                "kfeat": lambda o=ours, T=T: o.predict(T),
                "other": lambda q=queries, model=model: svmutil.svm_predict([], q, model, "-q"),
            },
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
