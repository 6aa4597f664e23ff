"""The LIBSVM inside scikit-learn, which can stop at a given number of iterations, and its models."""

import warnings
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from kfeat.errors import SolverError
from kfeat.solvers.libsvm.model import SupportVectors
from kfeat.solvers.native.library import one_at_a_time


def train_limited(
    gram: NDArray[np.float64], targets: NDArray[np.float64], machine: "svm.SVC | svm.SVR"
) -> tuple[SupportVectors, list[int], list[float]]:
    """Return the model, and the iterations and the dual objective of each of its subproblems.

    gram (n, n) are kernel values, targets (n,) labels or values, and `machine` an unfitted SVC or SVR with
    the precomputed kernel. Its classes are sorted. Raises SolverError where the model is not finite.
    """
    model = trained(machine, gram, targets)
    return model, np.ravel(machine.n_iter_).tolist(), _dual_objectives(gram, targets, model, machine)


def trained(machine: "svm.SVC | svm.SVR", X: Any, targets: NDArray[np.float64]) -> SupportVectors:
    """Fit the machine to X (n, d), or to a Gram matrix (n, n), and return its model, its classes sorted.

    Raises SolverError where the model is not finite.
    """
    with one_at_a_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is told by `stop_reason_`
        try:
            machine.fit(X, targets)
        except ValueError as error:
            raise SolverError(f"LIBSVM returned no usable model: {error}") from None
    classes = len(machine.classes_) if isinstance(machine, svm.SVC) else 0
    sign = -1 if classes == 2 else 1  # scikit-learn turns the signs of two classes round
    coefficients = machine.dual_coef_
    dense = coefficients.toarray() if issparse(coefficients) else coefficients
    return SupportVectors(
        order=np.arange(classes),
        counts=np.array(machine.n_support_[: max(1, classes)], dtype=np.intp),
        rows=machine.support_.astype(np.intp),
        coefficients=np.array(sign * dense, dtype=np.float64),
        rho=np.array(-sign * machine.intercept_, dtype=np.float64),
    )


def _dual_objectives(
    gram: NDArray[np.float64], targets: NDArray[np.float64], model: SupportVectors, machine: Any
) -> list[float]:
    """Return for each subproblem sum |a| - a' K a / 2, or a' y - p sum |a| - a' K a / 2 for regression."""
    ends = np.cumsum([0, *model.counts])
    found = []
    for i, j in list(combinations(range(len(model.order)), 2)) or [(0, 0)]:
        a = np.zeros(len(gram))
        if len(model.order):
            first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            a[model.rows[first]] = model.coefficients[j - 1, first]
            a[model.rows[second]] = model.coefficients[i, second]
            linear = np.abs(a).sum()
        else:
            a[model.rows] = model.coefficients[0]
            linear = a @ targets - machine.epsilon * np.abs(a).sum()
        found.append(float(linear - a @ (gram @ a) / 2))
    return found
