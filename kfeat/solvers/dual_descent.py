"""LIBLINEAR's -s 1 as before version 2.42: it stops at its limit of passes even if it has not converged."""

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from pydantic import FiniteFloat
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from kfeat.parameters import Iterations, Seed
from kfeat.solvers.base import AboveZero, ClassWeight, Subproblem, class_factors, finite
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.native import one_at_a_time


@dataclass(eq=False, repr=False)
class DualDescent(LinearSolver):
    """The l2-loss SVM by coordinate descent in the dual, with at most `max_iter` passes over the rows.

    min over w of ||w||^2 / 2 + C sum_i max(0, 1 - y_i <w, x_i>)^2, one class against the rest. LIBLINEAR did
    this before 2020 (1,000 passes in 1.92); `Liblinear` continues as -s 2 if -s 1 has not converged. This is
    scikit-learn's LinearSVC, which still contains that code. Raises DataError for fewer than two classes.
    Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale linear
    SVM", ICML 2008, Algorithm 3.

    Parameters
    ----------
    C, eps : float, default 1.0 and 0.1
        The cost of the losses and the tolerance, above 0.
    bias : float, default -1.0
        Above 0 every row gets one more feature of this value, which is penalised; otherwise there is none.
    max_iter : int, default 1000
        The largest number of passes over the rows.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    random_state : int, RandomState or None, default None
        The order in which rows are visited.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import DualDescent
    >>> solver = DualDescent(bias=1.0, max_iter=2, random_state=0).fit(X, y)
    >>> solver.converged_, solver.stop_reason_
    (False, 'iteration limit')
    """

    C: AboveZero = 1.0
    eps: AboveZero = 0.1
    bias: FiniteFloat = -1.0
    max_iter: Iterations = 1000
    class_weight: ClassWeight = None
    random_state: Seed | np.random.RandomState | None = None

    @finite
    def fit(self, X: Any, y: Any) -> "DualDescent":
        """Train on X (n, d) and y (n,)."""
        X, y = self._check(X, y)
        weights = class_factors(self.class_weight, self.classes_, y)
        linear_svc = svm.LinearSVC(
            C=self.C,
            tol=self.eps,
            max_iter=self.max_iter,
            dual=True,
            fit_intercept=self.bias > 0,
            intercept_scaling=self.bias if self.bias > 0 else 1.0,
            class_weight=dict(enumerate(weights)),
            random_state=self.random_state,
        )
        start = perf_counter()
        # The lock protects the random numbers and the warning filters, which all threads share.
        with one_at_a_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # `stop_reason_` says so
            linear_svc.fit(X, y)
        solved = perf_counter()
        self.coef_ = linear_svc.coef_
        self.intercept_ = linear_svc.intercept_ if self.bias > 0 else np.zeros(len(linear_svc.coef_))
        passes = int(linear_svc.n_iter_)
        self._report(
            [Subproblem("-s 1", passes, "tolerance" if passes < self.max_iter else "iteration limit")]
        )
        penalised = self.intercept_ / self.bias if self.bias > 0 else 0.0
        self.objective_ = self._objective(2, self._scores(X), y, penalised, weights)
        self.times_ = {"solve": solved - start, "evaluate": perf_counter() - solved}
        return self
