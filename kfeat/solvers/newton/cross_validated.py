"""Newton with the C that cross-validation chooses."""

from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Gt
from pydantic import FiniteFloat

from kfeat.errors import DataError
from kfeat.parameters import Folds, Iterations, Seed
from kfeat.solvers.base import LinearSolver, Task, finite
from kfeat.solvers.grid import geometric_grid, grid_scores
from kfeat.solvers.newton.estimator import Newton


class NewtonCV(LinearSolver):
    """Newton with the best C by stratified cross-validation along warm starts, then trained on all rows.

    Parameters
    ----------
    C_min, C_max, C_factor : float, default 2^-6, 2^6 and 4
        C runs over C_min, C_min C_factor, C_min C_factor^2 ... up to C_max; of equally good values the
        smallest is taken.
    folds : int, default 5
        The number of folds, at least 2.
    loss : {"squared_hinge", "logistic"}, default "squared_hinge"
        The loss: the objective is that of LIBLINEAR's -s 2 or -s 0.
    eps : float, default 1e-2
        The tolerance, above 0; the default is that of LIBLINEAR's -s 2 and -s 0.
    bias : float, default -1.0
        With 0 or more every row gets one more feature of this value, which is penalised; below 0 there is
        none.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    max_iter : int, default 300
        The most Newton steps per class and value of C; see `Newton`.
    random_state : int, optional
        The seed of the folds; None is 0.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    Cs_ : ndarray
        The values that were tried.
    cv_scores_ : ndarray of shape (folds, values)
        The accuracies.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.solvers import NewtonCV
    >>> solver = NewtonCV(C_min=0.01, C_max=1.0, C_factor=10.0, bias=1.0).fit(X, y)
    >>> solver.cv_scores_.shape, bool(solver.C_ in solver.Cs_)
    ((5, 3), True)
    """

    identity_defaults: ClassVar[dict[str, float]] = {"eps": 1e-3}

    def __init__(
        self,
        C_min: Annotated[FiniteFloat, Gt(0)] = 2.0**-6,
        C_max: Annotated[FiniteFloat, Gt(0)] = 2.0**6,
        C_factor: Annotated[FiniteFloat, Gt(1)] = 4.0,
        folds: Folds = 5,
        loss: Literal["squared_hinge", "logistic"] = "squared_hinge",
        eps: Annotated[FiniteFloat, Gt(0)] = 1e-2,
        bias: FiniteFloat = -1.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        max_iter: Iterations = 300,
        random_state: Seed | None = None,
    ) -> None:
        self.C_min = C_min
        self.C_max = C_max
        self.C_factor = C_factor
        self.folds = folds
        self.loss = loss
        self.eps = eps
        self.bias = bias
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def task(self) -> Task:
        """Classification."""
        return "classification"

    @property
    def logistic(self) -> bool:
        """Whether scores are log odds."""
        return self.loss == "logistic"

    def learnt_parameters(self) -> dict[str, float]:
        """Return the C that was chosen."""
        return {"C": self.C_}

    @finite
    def fit(self, X: Any, y: Any) -> "NewtonCV":
        """Choose C on X (n, d) and y (n,), and train with it on all rows."""
        X, y = self._check(X, y)
        y = self.classes_[y]
        rarest = np.unique(y, return_counts=True)[1].min()
        if rarest < self.folds:
            raise DataError(
                f"NewtonCV: {self.folds} folds need as many rows of every class, "
                f"got n_samples = {rarest} of one"
            )
        start = perf_counter()
        options = {name: getattr(self, name) for name in ("loss", "eps", "bias", "class_weight", "max_iter")}
        self.Cs_ = geometric_grid(self.C_min, self.C_max, self.C_factor)
        path = Newton(warm_start=True, **options)
        self.cv_scores_ = grid_scores(path, X, y, "C", self.Cs_, self.folds, int(self.random_state or 0))
        self.C_ = float(self.Cs_[np.argmax(self.cv_scores_.mean(axis=0))])
        searched = perf_counter()
        estimator = Newton(C=self.C_, **options).fit(X, y)
        self.coef_, self.intercept_, self.objective_ = (
            estimator.coef_,
            estimator.intercept_,
            estimator.objective_,
        )
        self._report(estimator.subproblems_)
        self.times_ = {"search": searched - start, **estimator.times_}
        return self
