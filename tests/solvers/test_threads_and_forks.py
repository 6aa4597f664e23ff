"""Fits in several threads, and in forked children, give what a fit alone gives."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.base import clone

from kfeat.kernels import Gaussian, Laplacian
from kfeat.solvers import DualDescent, Liblinear, Libsvm, Svc
from tests.solvers.problems import problem

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
