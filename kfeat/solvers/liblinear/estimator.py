"""LIBLINEAR, every solver for classification and regression, on arrays handed over without a loop."""

from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray
from pydantic import FiniteFloat

from kfeat.errors import SolverError
from kfeat.solvers.base import LinearSolver, OutOfCore, Task, finite
from kfeat.solvers.class_weights import class_factors
from kfeat.solvers.liblinear.call import CRAMMER_SINGER, REGRESSION, Call, Settings, Trained
from kfeat.solvers.liblinear.log import read_log
from kfeat.solvers.liblinear.objective import linear_objective
from kfeat.solvers.liblinear.rounding import round_significant
from kfeat.solvers.native.library import check_sizes

SolverType = Literal[0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13]
DEFAULT_EPS = {0: 0.01, 1: 0.1, 2: 0.01, 3: 0.1, 4: 0.1, 5: 0.01, 6: 0.01, 7: 0.1, 11: 1e-4, 12: 0.1, 13: 0.1}
LOGISTIC = frozenset({0, 6, 7})


class Liblinear(LinearSolver):
    """LIBLINEAR's linear models, to the bit: min over w of R(w) + C sum_i loss(y_i, <w, x_i>).

    X is copied: each value (each non-zero, where many are 0) becomes a node of 16 bytes in memory, also
    where X is mapped from a file; SolverError tells where they do not fit. Newton and Ridge copy nothing.
    -s 1, 7 and 12 go on as -s 2, 0 and 11 after 300 iterations; `finished_by_` and `subproblems_` tell.
    Raises DataError for fewer than two classes or sizes beyond C's int, ParameterError for bad parameters.
    Fan et al., "LIBLINEAR: a library for large linear classification", JMLR 9 (2008).

    Parameters
    ----------
    solver_type : int, default 1
        Its -s: 0 and 7 l2-regularised logistic regression (primal, dual), 1 and 2 l2-loss SVM (dual, primal),
        3 l1-loss SVM (dual), 4 Crammer and Singer, 5 l1-regularised l2-loss SVM, 6 l1-regularised logistic
        regression; for regression 11 and 12 l2-loss (primal, dual), 13 l1-loss (dual).
    C : float, default 1.0
        The cost of the losses, above 0.
    eps : float, optional
        The tolerance, above 0; None is LIBLINEAR's default for that solver.
    bias : float, default -1.0
        With 0 or more every row gets one more feature of this value, penalised unless
        `regularize_bias=False`; below 0 there is none.
    p : float, default 0.1
        Half the width of the regression's tube, in which errors cost nothing.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    regularize_bias : bool, default True
        False is its -R, which needs bias 1.
    significant_digits : int, optional
        Rounds the features as a text file of so many digits would have.
    random_state : int, optional
        The seed of C's rand(); None is the state of a fresh process, so that a fit never depends on what ran
        before.

    Attributes
    ----------
    coef_ : ndarray of shape (subproblems, d), or (d,) in regression
        The weights.
    intercept_ : ndarray of shape (subproblems,), or float in regression
        The intercepts.
    order_ : ndarray
        The positions in `classes_` of LIBLINEAR's own order of the classes.
    log_ : str
        What LIBLINEAR printed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import Liblinear
    >>> solver = Liblinear(solver_type=2, C=1.0, bias=1.0).fit(X, y)
    >>> solver.score(X, y) > 0.9, solver.converged_, solver.finished_by_
    (True, True, '-s 2')
    """

    algorithm_version: ClassVar[int] = 1
    out_of_core: ClassVar[OutOfCore] = "mapped file"

    def __init__(
        self,
        solver_type: SolverType = 1,
        C: Annotated[FiniteFloat, Gt(0)] = 1.0,
        eps: Annotated[FiniteFloat, Gt(0)] | None = None,
        bias: FiniteFloat = -1.0,
        p: Annotated[FiniteFloat, Ge(0)] = 0.1,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        regularize_bias: bool = True,
        significant_digits: Annotated[int, Ge(1), Le(15)] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.solver_type = solver_type
        self.C = C
        self.eps = eps
        self.bias = bias
        self.p = p
        self.class_weight = class_weight
        self.regularize_bias = regularize_bias
        self.significant_digits = significant_digits
        self.random_state = random_state

    @property
    def task(self) -> Task:
        """Regression for -s 11, 12 and 13, otherwise classification."""
        return "regression" if self.solver_type in REGRESSION else "classification"

    @property
    def logistic(self) -> bool:
        """Whether scores are log odds."""
        return self.solver_type in LOGISTIC

    def learnt_parameters(self) -> dict[str, float]:
        """Return LIBLINEAR's own tolerance for this solver, where none is given."""
        return {} if self.eps is not None else {"eps": DEFAULT_EPS[self.solver_type]}

    @finite
    def fit(self, X: Any, y: Any) -> "Liblinear":
        """Train on X (n, d) and y (n,)."""
        X, y = self._check(X, y)
        start = perf_counter()
        call = self._call(X, y)
        built = perf_counter()
        trained = call.train()
        solved = perf_counter()
        self.order_ = np.searchsorted(np.unique(self._targets(y)), trained.labels)
        self._keep(trained, X.shape[1])
        self.objective_ = self._objective(X, y)
        self.times_ = {
            "build": built - start,
            "solve": solved - built,
            "evaluate": perf_counter() - solved,
        }
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return LIBLINEAR's labels or values: of equal scores its first class wins (of two: the second)."""
        values = self._values(X)
        if self.task == "regression":
            return values
        if values.ndim == 1:
            positive = values > 0 if self.order_[0] == 1 else values >= 0
            return self.classes_[positive.astype(int)]
        return self.classes_[self.order_[values[:, self.order_].argmax(axis=1)]]

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return super()._scores(self._rounded(X))

    def _rounded(self, X: Any) -> Any:
        return X if self.significant_digits is None else round_significant(X, self.significant_digits)

    def _call(self, X: Any, y: NDArray[Any]) -> Call:
        """Return the problem in C's layout, or raise DataError if C's int cannot count it."""
        (n, d), n_subproblems = X.shape, len(self.classes_) if self.task == "classification" else 1
        check_sizes(
            "LIBLINEAR",
            rows_times_two=2 * n,
            features_times_classes=(d + (self.bias >= 0)) * n_subproblems,
            **({"rows_times_classes": n * n_subproblems} if self.solver_type == CRAMMER_SINGER else {}),
        )
        targets = self._targets(y)
        weights = {}
        if self.class_weight is not None and (factors := self._factors(y)) is not None:
            weights = dict(zip(np.unique(targets).astype(int).tolist(), factors.tolist(), strict=True))
        settings = Settings(
            solver_type=int(self.solver_type),  # which may be given as 1.0
            C=self.C,
            eps=DEFAULT_EPS[self.solver_type] if self.eps is None else self.eps,
            p=self.p,
            bias=self.bias,
            regularize_bias=self.regularize_bias,
            weights=weights,
            seed=self.random_state,
        )
        return Call(self._rounded(X), targets, settings)

    def _targets(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return y as LIBLINEAR shall see it: it treats the labels -1 and +1, and only these, specially."""
        if self.task == "classification" and np.array_equal(self.classes_, [-1, 1]):
            return 2.0 * y - 1
        return y.astype(np.float64)

    def _keep(self, trained: Trained, d: int) -> None:
        """Set the fitted attributes, with scikit-learn's signs: positive for the last of two classes."""
        W = trained.W.T
        if self.task == "classification":
            if len(self.classes_) == 2:
                W = W[:1] if self.order_[0] == 1 else -W[:1]
            else:
                W = W[np.argsort(self.order_)]
        b = self.bias * W[:, d] if self.bias >= 0 else np.zeros(len(W))
        regression = self.task == "regression"
        self.coef_ = np.ascontiguousarray(W[0, :d] if regression else W[:, :d])
        self.intercept_ = float(b[0]) if regression else b
        self.log_ = trained.log
        subproblems = read_log(trained.log, self.solver_type)
        if not subproblems or not np.isfinite(W).all():
            raise SolverError(f"LIBLINEAR returned no usable model; its messages were: {trained.log!r}")
        self._report(subproblems)

    def _objective(self, X: Any, y: NDArray[Any]) -> float:
        """Return the primal objective of all subproblems at the solution."""
        values = self._scores(X)
        penalised_b = self.intercept_ / self.bias if self.bias > 0 and self.regularize_bias else 0.0
        W = np.atleast_2d(self.coef_)
        return linear_objective(self.solver_type, values, y, W, penalised_b, self.C, self.p, self._factors(y))

    def _factors(self, y: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the factor of C for each class, None for regression."""
        return None if self.task == "regression" else class_factors(self.class_weight, self.classes_, y)
