"""LIBLINEAR: all its solvers, without a Python loop over rows; its -s 1 also as before version 2.42."""

import ctypes
import re
import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
from liblinear import liblinear as library
from numpy.typing import NDArray
from pydantic import FiniteFloat
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from kfeat.errors import ParameterError, SolverError
from kfeat.parameters import Iterations, Seed
from kfeat.solvers import native
from kfeat.solvers.base import AboveZero, NotNegative, Subproblem, Task, finite, unweighted
from kfeat.solvers.class_weights import ClassWeight, class_factors
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.native import one_at_a_time

SolverType = Literal[0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13]
DEFAULT_EPS = {0: 0.01, 1: 0.1, 2: 0.01, 3: 0.1, 4: 0.1, 5: 0.01, 6: 0.01, 7: 0.1, 11: 1e-4, 12: 0.1, 13: 0.1}
LOGISTIC = frozenset({0, 6, 7})
CRAMMER_SINGER = 4
REGRESSION = frozenset({11, 12, 13})
PRIMAL = frozenset({0, 2, 11})  # the -s that use a trust-region or line-search Newton method


@dataclass(eq=False, repr=False)
class Liblinear(LinearSolver):
    """LIBLINEAR's linear models, equal to the last bit: min over w of R(w) + C sum_i loss(y_i, <w, x_i>).

    X is copied: each value (each non-zero, if many are 0) takes 16 bytes in memory, even if X is mapped from
    a file. Newton and Ridge copy nothing. If -s 1, 7 or 12 has not converged after 300 iterations, it
    continues as -s 2, 0 or 11; `finished_by_` and `subproblems_` say so. Raises DataError for fewer than two
    classes or sizes beyond C's int, ParameterError for bad parameters, SolverError if memory is too small.
    Fan et al., "LIBLINEAR: a library for large linear classification", JMLR 9 (2008).

    Parameters
    ----------
    solver_type : int, default 1
        Its -s: 0 and 7 l2-regularised logistic regression (primal, dual), 1 and 2 l2-loss SVM (dual, primal),
        3 l1-loss SVM (dual), 4 Crammer and Singer, 5 l1-regularised l2-loss SVM, 6 l1-regularised logistic
        regression; for regression 11 and 12 l2-loss (primal, dual), 13 l1-loss (dual).
    C, eps : float, default 1.0 and None
        The cost of the losses and the tolerance, above 0; None is LIBLINEAR's default for that solver.
    bias : float, default -1.0
        If it is 0 or more, every row gets one more feature of this value, penalised unless
        `regularize_bias=False`; below 0 there is none.
    p : float, default 0.1
        Half the width of the regression's tube, in which errors cost nothing.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    regularize_bias : bool, default True
        False is LIBLINEAR's -R, which needs bias 1.
    random_state : int, optional
        The seed of C's rand(); None is the state of a new process, so that a fit does not depend on earlier
        ones.

    Attributes
    ----------
    order_, log_ : ndarray, str
        The positions in `classes_` of LIBLINEAR's own order of the classes; what LIBLINEAR printed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import Liblinear
    >>> solver = Liblinear(solver_type=2, C=1.0, bias=1.0).fit(X, y)
    >>> solver.score(X, y) > 0.9, solver.converged_, solver.finished_by_
    (True, True, '-s 2')
    """

    out_of_core = "mapped file"

    solver_type: SolverType = 1
    C: AboveZero = 1.0
    eps: AboveZero | None = None
    bias: FiniteFloat = -1.0
    p: NotNegative = 0.1
    class_weight: ClassWeight = None
    regularize_bias: bool = True
    random_state: int | None = None

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of a node for each number, or of vectors over the rows of a mapped file."""
        return 64.0 * (2 + k) * n if on_disk else 16.0 * n * D

    @property
    def task(self) -> Task:
        """Regression for -s 11, 12 and 13, otherwise classification."""
        return "regression" if self.solver_type in REGRESSION else "classification"

    @property
    def logistic(self) -> bool:
        """Whether scores are log odds."""
        return self.solver_type in LOGISTIC

    def learnt_parameters(self) -> dict[str, float]:
        """Return LIBLINEAR's own tolerance for this solver, if none is given."""
        return {} if self.eps is not None else {"eps": DEFAULT_EPS[self.solver_type]}

    @unweighted
    @finite
    def fit(self, X: Any, y: Any) -> "Liblinear":
        """Train on X (n, d) and y (n,)."""
        X, y = self._check(X, y)
        n_subproblems = 1 if self.task == "regression" else len(self.classes_)
        native.check_sizes(
            "LIBLINEAR",
            rows_times_two=2 * X.shape[0],
            features_times_classes=(X.shape[1] + (self.bias >= 0)) * n_subproblems,
            rows_times_classes=X.shape[0] * n_subproblems if self.solver_type == CRAMMER_SINGER else 0,
        )
        start = perf_counter()
        targets = native.labels_in_c(self, y)
        rows = native.node_rows(X, self.bias if self.bias >= 0 else None)
        built = perf_counter()
        W, labels = self._train(rows, X.shape[1], targets, native.weights_in_c(self, y))
        solved = perf_counter()
        self.order_ = np.searchsorted(np.unique(targets), labels)
        self._keep(W.T, X.shape[1])
        penalised = self.intercept_ / self.bias if self.bias > 0 and self.regularize_bias else 0.0
        classifies = self.task == "classification"
        factors = class_factors(self.class_weight, self.classes_, y) if classifies else None
        self.objective_ = self._objective(self.solver_type, self._scores(X), y, penalised, factors)
        self.times_ = {"build": built - start, "solve": solved - built, "evaluate": perf_counter() - solved}
        return self

    def _places(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the positions of LIBLINEAR's labels; its first class wins ties (of two, the second)."""
        if values.ndim == 1:
            return (values > 0 if self.order_[0] == 1 else values >= 0).astype(int)
        return self.order_[values[:, self.order_].argmax(axis=1)]

    def _train(
        self, rows: native.NodeRows, d: int, targets: NDArray[np.float64], weights: dict[int, float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Run LIBLINEAR's train; return W (columns, subproblems) and the labels in LIBLINEAR's order."""
        problem = native.structure(
            library.problem,
            l=len(targets),
            n=d + (self.bias >= 0),
            y=native.c_array(targets, ctypes.c_double),
            x=native.c_array(rows.pointers, ctypes.POINTER(library.feature_node)),
            bias=self.bias,
        )
        parameter = native.structure(
            library.parameter,
            solver_type=int(self.solver_type),  # may be given as 1.0
            C=self.C,
            eps=DEFAULT_EPS[self.solver_type] if self.eps is None else self.eps,
            p=self.p,
            regularize_bias=int(self.regularize_bias),
            **native.weight_fields(weights),
        )

        def solve() -> tuple[NDArray[np.float64], list[int], str]:
            with native.solving(library.liblinear.set_print_string_function, self.random_state) as messages:
                refusal = library.liblinear.check_parameter(problem, parameter)
                if refusal:
                    raise ParameterError(f"Liblinear: {refusal.decode()}")
                model = library.liblinear.train(problem, parameter)
            try:
                classes = 1 if self.task == "regression" else model.contents.nr_class
                n_subproblems = 1 if classes == 2 and self.solver_type != CRAMMER_SINGER else classes
                W = np.ctypeslib.as_array(model.contents.w, (problem.n, n_subproblems)).copy()
                labels = [] if self.task == "regression" else model.contents.label[:classes]
            finally:
                library.liblinear.free_and_destroy_model(ctypes.byref(model))
            return W, labels, "".join(messages)

        subproblems = 1 if self.task == "regression" else len(self.classes_)
        W, labels, self.log_ = native.interruptible(solve, len(rows.nodes) * subproblems)
        return W, np.array(labels, dtype=np.float64)

    def _keep(self, W: NDArray[np.float64], d: int) -> None:
        """Set the fitted attributes, with scikit-learn's signs: positive for the last of two classes."""
        regression = self.task == "regression"
        if not regression:
            if len(self.classes_) == 2:
                W = W[:1] if self.order_[0] == 1 else -W[:1]
            else:
                W = W[np.argsort(self.order_)]
        b = self.bias * W[:, d] if self.bias >= 0 else np.zeros(len(W))
        self.coef_ = np.ascontiguousarray(W[0, :d] if regression else W[:, :d])
        self.intercept_ = float(b[0]) if regression else b
        subproblems = read_log(self.log_, self.solver_type)
        if not subproblems or not np.isfinite(W).all():
            raise SolverError(f"LIBLINEAR returned no usable model; its messages were: {self.log_!r}")
        self._report(subproblems)


_EVENT = re.compile(
    r"(?P<newton>init f )|iter +(?P<step>\d+) f |optimization finished, #iter = (?P<finished>\d+)"
    r"|WARNING: (?P<warning>[^\n]*)|Switching to use (?P<switch>-s \d+)"
)
# Warnings after which the solver continues.
_PASSING = ("reaching max number of inner iterations", "reaching maximal number of CG steps", "quadratic")


def read_log(text: str, solver_type: int) -> list[Subproblem]:
    """Return the solver, the iterations and the stop reason of each subproblem from LIBLINEAR's messages."""
    subproblems: list[Subproblem] = []
    going_on = False
    for event in _EVENT.finditer(text):
        if event["newton"] and not going_on and solver_type in PRIMAL:
            subproblems.append(Subproblem(f"-s {solver_type}", 0))
        elif event["finished"]:
            subproblems.append(Subproblem(f"-s {solver_type}", int(event["finished"])))
        elif event["step"]:
            subproblems[-1] = replace(subproblems[-1], iterations=int(event["step"]))
        elif event["warning"] and not event["warning"].startswith(_PASSING):
            subproblems[-1] = replace(subproblems[-1], stop_reason=event["warning"].strip())
        elif event["switch"]:
            subproblems[-1] = Subproblem(event["switch"], 0)
        going_on = bool(event["switch"])
    return subproblems


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

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of a copy in double precision, and scikit-learn's node for each number."""
        return 24.0 * n * D

    @unweighted
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
