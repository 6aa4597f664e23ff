"""What both C libraries share: arrays of nodes, Ctrl-C in a solve, fits in children and threads."""

import ctypes
import os
import signal
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from liblinear import liblinear
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

from kfeat.child import in_fork
from kfeat.errors import SolverError
from kfeat.kernels import Gaussian, Laplacian
from kfeat.solvers import DualDescent, Liblinear, Libsvm, Svc, native
from kfeat.solvers import native as module
from kfeat.solvers.native import node_rows
from tests.solvers.problems import features, problem


def read(rows, i):
    """Row i as the C code walks it: up to the node with index -1."""
    node = ctypes.cast(int(rows.pointers[i]), ctypes.POINTER(liblinear.feature_node))
    found = []
    while node[len(found)].index != -1:
        found.append((node[len(found)].index, node[len(found)].value))
    return found


def expected(X, i, bias, zeros):
    dense = X.toarray() if hasattr(X, "toarray") else X
    row = [(j + 1, float(v)) for j, v in enumerate(dense[i]) if zeros or v != 0]
    return row + ([] if bias is None else [(X.shape[1] + 1, bias)])


@pytest.mark.parametrize(("bias", "dtype"), [(None, np.float64), (0.0, np.float32), (1.5, np.float64)])
@pytest.mark.parametrize("density", [1.0, 0.95, 0.3, 0.0])
@pytest.mark.parametrize("make", [np.asarray, csr_array, csr_matrix])
def test_rows_are_what_was_put_in(make, density, dtype, bias, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 40)  # several blocks, and rows longer than some of them
    X = make(features(23, 17, density=density, dtype=dtype))
    rows = node_rows(X, bias)
    zeros = isinstance(X, np.ndarray) and density > module.LINEAR_BELOW
    assert [read(rows, i) for i in range(23)] == [expected(X, i, bias, zeros) for i in range(23)]


def test_stored_zeros_of_csr_stay_as_the_package_keeps_them():
    X = csr_array((np.array([0.0, 2.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    assert read(node_rows(X), 0) == [(1, 0.0), (3, 2.0)]


@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_memory_is_the_nodes_the_pointers_and_a_few_megabytes(make, density):
    X = make(features(10_000, 300, density=density, dtype=np.float32))
    stored = X.size if isinstance(X, np.ndarray) and density == 1 else np.count_nonzero(X.data)
    if isinstance(X, np.ndarray) and density < 1:
        stored = np.count_nonzero(X)
    tracemalloc.start()
    node_rows(X, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 16 * (stored + 2 * 10_000) + 8 * 10_000 + 8e6


INTERRUPTED = """
import os, signal, sys, threading, warnings
from sklearn.datasets import make_classification
from kfeat.kernels import Gaussian
from kfeat.solvers import Liblinear, Libsvm, Svc, native

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
native.LONG_FROM = float(sys.argv[2])
warnings.simplefilter("ignore")
X, y = make_classification(40000, 30, n_informative=20, n_clusters_per_class=8, flip_y=0.2, random_state=1)
solver = eval(sys.argv[1])
entered = native.solving

def solving(*arguments):  # Ctrl-C comes once the C code runs
    process = os.getppid() if native.is_forked() else os.getpid()
    threading.Timer(0.02, os.kill, (process, signal.SIGINT)).start()
    return entered(*arguments)

native.solving = solving
if isinstance(solver, Svc):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    solver.fit(X, y)
    print("returned")
except KeyboardInterrupt:
    print("interrupted")
"""
HOURS = "Gaussian(0.05), C=1e6, eps=1e-9"


def outcome(solver, long_from=native.LONG_FROM):
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, solver, str(long_from)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return run.stdout.strip(), run.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver",
    [
        *(f"Liblinear(solver_type={s}, C=1e5, eps=1e-12)" for s in (0, 1, 2, 3, 5)),
        f"Libsvm({HOURS})",
        f"Svc({HOURS})",
    ],
)
def test_ctrl_c_ends_a_long_solve(solver):
    assert outcome(solver) == ("interrupted", "")


def test_ctrl_c_in_a_solve_of_this_process_is_raised_after_it():
    assert outcome("Liblinear(solver_type=2, eps=1e-9)", long_from=1e12) == ("interrupted", "")


@pytest.mark.parametrize(
    "solver",
    [
        Liblinear(),
        Liblinear(solver_type=2, class_weight={0: 2.0}),
        Liblinear(solver_type=13),
        Libsvm(Gaussian(0.3)),
        Libsvm(Laplacian(0.3), solver_type=3),
        Libsvm(Gaussian(0.3), max_iter=1000),
        Svc(Gaussian(0.3)),
    ],
    ids=repr,
)
def test_a_solve_in_a_child_is_the_solve_in_this_process(solver, monkeypatch, interruptible):
    X, y = problem(300, 10, classes=3)

    def fitted():
        one = clone(solver).fit(X, y)
        weights = one.dual_coef_ if hasattr(one, "dual_coef_") else one.coef_
        return weights.tobytes(), one.objective_, one.n_iter_, one.finished_by_, one.predict(X).tobytes()

    here = fitted()
    forks = []
    monkeypatch.setattr(native, "in_fork", lambda solve: forks.append(1) or in_fork(solve))
    monkeypatch.setattr(native, "LONG_FROM", 0)
    assert fitted() == here
    assert forks == [1]


def test_what_a_call_in_a_child_raises_is_raised_here_and_a_death_is_told():
    with pytest.raises(ZeroDivisionError):
        in_fork(lambda: 1 / 0)
    with pytest.raises(SolverError, match=r"killed \(signal 9\), most likely because memory ran out"):
        in_fork(lambda: os.kill(os.getpid(), signal.SIGKILL))


SOLVERS = [
    Liblinear(),
    Liblinear(solver_type=2, class_weight={0: 2.0}),
    DualDescent(random_state=0),
    Libsvm(Gaussian(0.3)),
    Libsvm(Laplacian(0.3), class_weight="balanced"),
    Svc(Gaussian(0.3)),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_a_fit_beside_others_is_the_fit_alone(solver):
    X, y = problem(300, 10, classes=3)

    def fit(start):
        fitted = clone(solver).fit(X[start:], y[start:])
        weights = fitted.dual_coef_ if hasattr(fitted, "dual_coef_") else fitted.coef_
        return weights.tobytes(), fitted.objective_, fitted.n_iter_, fitted.predict(X).tobytes()

    alone = [fit(start) for start in range(4)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fit, [*range(4)] * 6)) == alone * 6


IN_CHILDREN = """
import multiprocessing, sys, threading
import numpy as np
from scipy.sparse import csr_array
from kfeat.kernels import Gaussian, Laplacian
from kfeat.solvers import KernelRidge, Liblinear, Libsvm
from kfeat.solvers.native import one_at_a_time
from tests.solvers.problems import features, labels, problem

X = features(300, 10, density=0.5)
y = labels(X, 3)
solvers = [Libsvm(Gaussian(0.3)), Libsvm(Laplacian(0.3)), KernelRidge(Laplacian("median")), Liblinear()]

def predictions():
    return np.concatenate([solver.fit(csr_array(X), y).predict(csr_array(X)) for solver in solvers])

alone = predictions()

def child():
    sys.exit(0 if np.array_equal(predictions(), alone) else 3)

def join(process):
    process.start()
    process.join(25)
    code = process.exitcode
    process.kill()
    return code

context = multiprocessing.get_context("fork")
after = join(context.Process(target=child))
busy, done = threading.Event(), threading.Event()

def hold():  # as a fit in another thread does
    with one_at_a_time():
        busy.set()
        done.wait()

threading.Thread(target=hold).start()
busy.wait()
during = join(context.Process(target=child))
done.set()
print(after, during)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_children_forked_after_and_during_a_fit_end_with_the_same_predictions():
    run = subprocess.run(
        [sys.executable, "-c", IN_CHILDREN],
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.stdout.split() == ["0", "0"], run.stderr
