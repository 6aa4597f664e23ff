"""The exact kernel SVMs beside each other: scikit-learn's SVC and LIBSVM's package.

Each trains to LIBSVM's default tolerance (1e-3) on the same rows; a row says by how much the dual objectives
differ. Real data where KFEAT_MIRROR (or the cache) has them. Ratios are SVC's seconds over LIBSVM's: the
median of the rounds, and the least to the largest; both know one thread only. Set
KFEAT_BENCH_LONG=1 for all rows of Adult and MNIST too, once each (an hour).

Tried and left out, in CPU seconds of single runs on a busy machine: working sets of kfeat's own, up to 3,072
rows whose kernel values come from matrix products, each set solved by LIBSVM. To the same dual objective
they took 3.2 for SVC's 21.6 on 10,000 rows of MNIST (odd or even, Gaussian), 23.6 for 144.5 on Adult
(Gaussian), 2.8 for 4.2 on 5,000 rows of MNIST's ten classes, 2.0 for 2.1 on 6,000 rows of Covertype, and
13.6 for 9.5 on 8,000 rows of Adult with (1 + <x, y>)^4, where thousands of coefficients are free: not three
times faster on Adult and MNIST alike. A Gram matrix from one matrix product made SVC 2.4 times faster on
5,000 rows of Adult, at 8 n^2 bytes. liblinear-multicore installs its module under the name of
liblinear-official's, so that one environment cannot hold both.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kfeat.data import Protocol, load
from kfeat.kernels import Gaussian, Kernel, Polynomial
from kfeat.solvers import Libsvm, Svc
from kfeat.solvers.kernel_svm import KernelSVM
from scripts.bench.harness import side_by_side

Row = dict[str, Any]
THREADS = (1,)  # neither side knows more
POLY4 = Polynomial(4, 1.0, 1.0)
BYTES = {"scale": {"divide": 255}}
FRACTION = {"scale": "minmax", "split": {"kind": "fraction", "train": 0.6}}
SAMPLE = {"split": {"kind": "sample", "n_train": 100_000, "n_test": 20_000, "seed": 0}}


@dataclass(frozen=True)
class Problem:
    """The first n rows of a data set (None: all) under a kernel; a parity problem asks for y mod 2."""

    data: str
    protocol: dict[str, Any] = field(repr=False)
    n: int | None
    kernel: Kernel
    parity: bool = False


PROBLEMS = [
    Problem("adult", {}, 4000, Gaussian(0.1)),
    Problem("adult", {}, 4000, POLY4),
    Problem("mnist", BYTES, 5000, Gaussian(0.02), parity=True),
    Problem("mnist", BYTES, 5000, POLY4, parity=True),
    Problem("mnist", BYTES, 4000, Gaussian(0.02)),
    Problem("covertype", SAMPLE, 4000, Gaussian(1.0)),
    Problem("spambase", FRACTION, None, Gaussian(1.0)),
]
LONG = [
    Problem("adult", {}, None, Gaussian(0.1)),
    Problem("adult", {}, None, POLY4),
    Problem("mnist", BYTES, None, Gaussian(0.02)),
    Problem("mnist", BYTES, None, POLY4),
]


def run(_: int) -> Iterable[Row]:
    """Yield all rows of the table; both sides have one thread."""
    for problem in PROBLEMS:
        yield from compared(problem)
    if os.environ.get("KFEAT_BENCH_LONG"):
        for problem in LONG:
            yield from compared(problem, 1)


def compared(problem: Problem, rounds: int = 3) -> Iterable[Row]:
    """Yield LIBSVM's package beside SVC on one problem."""
    data = load(problem.data, Protocol.model_validate(problem.protocol), offline=True)
    X, y = data.X_train[: problem.n], data.y_train[: problem.n]
    y = y % 2 if problem.parity else y
    fitted: dict[str, KernelSVM] = {}

    def fit(machine: type[KernelSVM]) -> None:
        fitted[machine.__name__] = machine(kernel=problem.kernel).fit(X, y)

    seconds = side_by_side({"kfeat": lambda: fit(Libsvm), "other": lambda: fit(Svc)}, rounds)
    share = X.nnz / (X.shape[0] * X.shape[1]) if hasattr(X, "nnz") else 1.0
    what = ", odd or even" if problem.parity else ""
    off = fitted["Libsvm"].objective_ / fitted["Svc"].objective_ - 1
    yield {
        "what": "Libsvm : SVC",
        "shape": f"{problem.data}{what}, {X.shape[0]:,} x {X.shape[1]}, {share:.0%} stored",
        "kernel": problem.kernel.formula,
        "kfeat_s": seconds["kfeat"],
        "other_s": seconds["other"],
        "ratio": seconds["other"] / seconds["kfeat"],
        "spread": seconds.spread("other", "kfeat"),
        "note": f"dual objective {off:+.1e} beside SVC's; {len(fitted['Libsvm'].support_):,} support vectors",
    }
