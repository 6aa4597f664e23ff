"""Ctrl-C ends a fit, also while C code solves; and a fit in a forked child is the fit in this process."""

import os
import signal
import subprocess
import sys

import pytest
from sklearn.base import clone

from kfeat.child import in_fork
from kfeat.errors import SolverError
from kfeat.kernels import Gaussian, Laplacian
from kfeat.solvers import Liblinear, Libsvm, Svc, native
from tests.solvers.problems import problem

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
    assert outcome("Liblinear(solver_type=3, C=1e5, eps=1e-12)", long_from=1e12) == ("interrupted", "")


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
