"""The l2-loss SVM, logistic and Huber regression in the primal by Newton's method, as a solver."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from kfeat.errors import ParameterError
from kfeat.parameters import Iterations, check_parameters
from kfeat.solvers.base import AboveZero, Subproblem, Task, finite
from kfeat.solvers.class_weights import ClassWeight, class_factors
from kfeat.solvers.linear import LinearSolver
from kfeat.solvers.newton_descent import LOSSES, Descent, Problem, descend, minimise, reopen
from kfeat.solvers.newton_system import design

LIBLINEAR_TYPE = {"squared_hinge": 2, "logistic": 0}  # whose objective is minimised
NewtonLoss = Literal["squared_hinge", "logistic", "huber"]


@dataclass(eq=False, repr=False)
class Newton(LinearSolver):
    """LIBLINEAR's -s 2 (`loss="squared_hinge"`) or -s 0 ("logistic") objective, minimised with BLAS.

    min over w of ||w||^2 / 2 + C sum_i c_i loss(y_i <w, x_i>), one class against the rest, as in LIBLINEAR;
    c_i is the weight of row i times that of its class. "huber" is a regression near that of least absolute
    errors: loss(<w, x_i> - (y_i - m) / s), with the median m of the targets and their mean absolute deviation
    s from it, and loss(u) = u^2 / 0.2 up to |u| = 0.1, |u| - 0.05 beyond. It predicts m + s <w, x>.

    Products are in X's precision (float32 is faster); sums over rows and everything else are in double
    precision.

    A class has converged when |grad f(w)| <= eps * min(pos, neg) / n * |grad f(0)|, LIBLINEAR's own rule, and
    f fell by at most 10 eps f in the last step. It also stops when X's precision does not let f fall further
    (`stop_reason_` "rounding"). If a class can nearly be separated without loss, |grad f(0)| is so large that
    the default eps stops above the minimum of f. Rounding, and so precision and threads, decides how far:
    about 3 % above it on 20,000 rows of MNIST with 1,000 features of Tensor Sketch. With eps = 1e-4 all runs
    end there at the same f to 2e-5, in about 150 steps.

    The method is for many more rows than features: if classes can be separated without loss, LIBLINEAR's dual
    (-s 1) is faster. Raises DataError for fewer than two classes, SolverError for sums that overflow.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic", "huber"}, default "squared_hinge"
        The loss: the objective is that of LIBLINEAR's -s 2 or -s 0, or that of Huber.
    C, eps : float, default 1.0 and 1e-2
        The cost of the losses and the tolerance, above 0; LIBLINEAR's -s 2 and -s 0 have the same default.
    bias : float, default -1.0
        If it is 0 or more, every row gets one more feature of this value, which is penalised; below 0 there
        is none.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size. A regression
        has no classes.
    max_iter : int, default 300
        The largest number of Newton steps per class; if classes can be separated without loss, they are
        solved along a path of growing costs, and the limit is per cost.
    warm_start : bool, default False
        Whether a fit starts from the last `coef_` (on a path over C, for example).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import Liblinear, Newton
    >>> newton, liblinear = Newton(C=0.1, eps=1e-6).fit(X, y), Liblinear(2, C=0.1, eps=1e-6).fit(X, y)
    >>> newton.score(X, y) > 0.9, newton.finished_by_
    (True, 'newton')
    >>> abs(newton.objective_ / liblinear.objective_ - 1) < 1e-3  # they minimise the same objective
    True
    """

    identity_defaults: ClassVar[dict[str, float]] = {"eps": 1e-3}
    out_of_core = "passes"

    loss: NewtonLoss = "squared_hinge"
    C: AboveZero = 1.0
    eps: AboveZero = 1e-2
    bias: FiniteFloat = -1.0
    class_weight: ClassWeight = None
    max_iter: Iterations = 300
    warm_start: bool = False

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of the Hessian matrices, and of vectors over the rows."""
        return 64.0 * (2 + k) * n + 8 * (1 + k) * D**2

    @property
    def task(self) -> Task:
        """Regression with Huber's loss, otherwise classification."""
        return "regression" if self.loss == "huber" else "classification"

    @property
    def logistic(self) -> bool:
        """Whether scores are log odds."""
        return self.loss == "logistic"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Newton":
        """Train on X (n, d), y (n,) and weights (n,); X may be batches of rows or a Dask array."""
        return self._train(X, y, sample_weight, [])

    def path(self, X: Any, y: Any, Cs: Iterable[float], sample_weight: Any = None) -> Iterator["Newton"]:
        """Train with each C in turn from the previous solution; yield this same solver after each.

        This is `fit` with `warm_start`, but X is checked only once, and factors of Hessians are kept. No
        other parameter may change during the iteration.
        """
        begun: list[_Begun] = []
        for C in Cs:
            yield self.set_params(C=C)._train(X, y, sample_weight, begun)

    @finite
    def _train(self, X: Any, y: Any, sample_weight: Any, begun: list["_Begun"]) -> "Newton":
        """Train with C: continue from `begun`, or append the checked rows to it if it is empty."""
        if begun:
            check_parameters(self)
        else:
            begun.append(self._begun(X, y, sample_weight))
        return self._solve(begun[0])

    def _begun(self, X: Any, y: Any, sample_weight: Any) -> "_Begun":
        """Return the problem on checked rows with C = 1, without a solution."""
        X, y, of_rows = self._check_weighted(X, y, sample_weight)
        start = perf_counter()
        weights, targets = None, np.zeros((len(y), 1))
        if self.task == "regression":
            if self.class_weight is not None:
                raise ParameterError("Newton: class_weight: expected None, since a regression has no classes")
            self._centre = float(np.quantile(y, 0.5, method="inverted_cdf", weights=of_rows))
            self._scale = float(np.average(np.abs(y - self._centre), weights=of_rows)) or 1.0
            targets[:, 0] = (y - self._centre) / self._scale
            signs = costs = np.ones_like(targets)
        else:
            weights = class_factors(self.class_weight, self.classes_, y, of_rows)
            positive = y[:, None] == (np.arange(len(self.classes_)) if len(self.classes_) > 2 else [1])
            against = weights[0] if len(self.classes_) == 2 else 1.0
            own = weights[1:] if len(self.classes_) == 2 else weights
            signs, costs = np.where(positive, 1.0, -1.0), np.where(positive, own, against)
        costs = costs * (1.0 if of_rows is None else of_rows[:, None])
        problem = Problem(design(X, self.bias), signs, costs, LOSSES[self.loss], targets)
        return _Begun(X, y, weights, of_rows, problem, perf_counter() - start)

    def _solve(self, begun: "_Begun") -> "Newton":
        """Train with C from the current solution."""
        start, growth = perf_counter(), self.C / begun.C
        begun.C, problem = self.C, begun.problem
        problem.costs *= growth
        with np.errstate(over="ignore", invalid="ignore"):  # minimise raises where a sum overflows
            if begun.classes:
                for state in begun.classes:
                    state.iterations = 0
                reopen(problem, begun.classes, growth, self.max_iter)
                descend(problem, begun.classes, self.eps)
            else:
                W = self._start(problem.design.shape[1])
                begun.classes = minimise(problem, W, self.eps, self.max_iter)
        prepared, begun.seconds = begun.seconds, 0.0
        solved = perf_counter()
        W = np.stack([state.w for state in begun.classes])
        self.coef_ = np.ascontiguousarray(W[:, : begun.X.shape[1]])
        self.intercept_ = self.bias * W[:, -1] if self.bias >= 0 else np.zeros(len(W))
        self._report([Subproblem("newton", state.iterations, state.stop_reason) for state in begun.classes])
        if self.task == "regression":
            self.coef_ = self._scale * self.coef_[0]
            self.intercept_ = self._centre + self._scale * float(self.intercept_[0])
            self.objective_ = begun.classes[0].objective
        else:
            penalised, kind = W[:, -1] if self.bias >= 0 else 0.0, LIBLINEAR_TYPE[self.loss]
            values, weights = self._all_scores(begun.X), (begun.weights, begun.of_rows)
            self.objective_ = self._objective(kind, values, begun.y, penalised, *weights)
        self.times_ = {"solve": prepared + solved - start, "evaluate": perf_counter() - solved}
        return self

    def _start(self, n_columns: int) -> NDArray[np.float64] | None:
        """Return the last solution as (columns, classes), if `warm_start` is set and its shape fits."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        W, b, n_subproblems = self.coef_, self.intercept_, 1
        if self.task == "regression":
            W, b = W[None] / self._scale, (b - self._centre) / self._scale
        elif len(self.classes_) > 2:
            n_subproblems = len(self.classes_)
        if self.bias >= 0:
            W = np.column_stack([W, b / (self.bias or 1.0)])
        return W.T if W.shape == (n_subproblems, n_columns) else None


@dataclass
class _Begun:
    """Checked rows, weights of classes and of rows, the problem with C, and the last solution."""

    X: Any
    y: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    of_rows: NDArray[np.float64] | None
    problem: Problem
    seconds: float  # for making the problem; counted in the time of the first solution
    classes: list[Descent] = field(default_factory=list)
    C: float = 1.0
