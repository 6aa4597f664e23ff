"""LIBSVM's exact kernel SVM with the C that cross-validation chooses."""

from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt
from pydantic import FiniteFloat

from kfeat.errors import DataError
from kfeat.parameters import Folds, Iterations, Seed
from kfeat.solvers.base import finite, resolved_kernel
from kfeat.solvers.grid import geometric_grid, grid_scores
from kfeat.solvers.libsvm.estimator import Libsvm


class LibsvmCV(Libsvm):
    """Libsvm with the best C by cross-validation on the training rows, then trained on all of them.

    Folds are stratified for classification. A bandwidth that is left to the data is learnt once, on all rows.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    solver_type : {0, 3}, default 0
        LIBSVM's -s: 0 is C-SVC (one against one), 3 epsilon-SVR.
    C_min, C_max, C_factor : float, default 2^-4, 2^8 and 4
        C runs over C_min, C_min C_factor, C_min C_factor^2 ... up to C_max; of equally good values the
        smallest is taken.
    folds : int, default 5
        The number of folds, at least 2.
    eps : float, default 1e-3
        The tolerance, above 0.
    p : float, default 0.1
        Half the width of the regression's tube, in which errors cost nothing.
    cache_mb : float, optional
        The kernel cache in MB, as Libsvm has it.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    max_iter : int, optional
        The most iterations of each subproblem, as Libsvm has it.
    random_state : int, optional
        The seed of the folds; None is 0.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    Cs_ : ndarray
        The values that were tried.
    cv_scores_ : ndarray of shape (folds, values)
        The accuracies, or coefficients of determination.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import LibsvmCV
    >>> solver = LibsvmCV(Gaussian(gamma="median"), C_min=0.1, C_max=10.0, C_factor=10.0).fit(X, y)
    >>> solver.cv_scores_.shape, bool(solver.C_ in solver.Cs_)
    ((5, 3), True)
    """

    shrinking = True

    def __init__(
        self,
        kernel: Any = None,
        solver_type: Literal[0, 3] = 0,
        C_min: Annotated[FiniteFloat, Gt(0)] = 2.0**-4,
        C_max: Annotated[FiniteFloat, Gt(0)] = 2.0**8,
        C_factor: Annotated[FiniteFloat, Gt(1)] = 4.0,
        folds: Folds = 5,
        eps: Annotated[FiniteFloat, Gt(0)] = 1e-3,
        p: Annotated[FiniteFloat, Ge(0)] = 0.1,
        cache_mb: Annotated[FiniteFloat, Gt(0)] | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        max_iter: Iterations | None = None,
        random_state: Seed | None = None,
    ) -> None:
        self.kernel = kernel
        self.solver_type = solver_type
        self.C_min = C_min
        self.C_max = C_max
        self.C_factor = C_factor
        self.folds = folds
        self.eps = eps
        self.p = p
        self.cache_mb = cache_mb
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def C(self) -> float:  # type: ignore[override]  # noqa: N802 (Libsvm has it as a parameter)
        """The C that was chosen, with which all rows are trained on."""
        return self.C_

    def learnt_parameters(self) -> dict[str, float]:
        """Return the C that was chosen."""
        return {"C": self.C_}

    @finite
    def fit(self, X: Any, y: Any) -> "LibsvmCV":
        """Choose C on X (n, d) and y (n,), and train with it on all rows."""
        rows, targets = self._check(X, y)
        self._check_folds(targets)
        start = perf_counter()
        names = ("solver_type", "eps", "p", "cache_mb", "class_weight", "max_iter")
        machine = Libsvm(resolved_kernel(self.kernel, rows), **{name: getattr(self, name) for name in names})
        self.Cs_ = geometric_grid(self.C_min, self.C_max, self.C_factor)
        labels = targets if self.task == "regression" else self.classes_[targets]
        seed = int(self.random_state or 0)
        self.cv_scores_ = grid_scores(machine, rows, labels, "C", self.Cs_, self.folds, seed)
        self.C_ = float(self.Cs_[np.argmax(self.cv_scores_.mean(axis=0))])
        searched = perf_counter()
        super().fit(X, y)
        self.times_ = {"search": searched - start, **self.times_}
        return self

    def _check_folds(self, y: Any) -> None:
        """Raise DataError where a fold would lack a class, or rows."""
        if self.task == "regression":
            if len(y) < 2 * self.folds:  # R^2 of a single row has no value
                raise DataError(f"LibsvmCV: {self.folds} folds need two rows each, got n_samples = {len(y)}")
            return
        few = int(np.unique(y, return_counts=True)[1].min())
        if few < self.folds:
            raise DataError(
                f"LibsvmCV: {self.folds} folds need as many rows of every class, got n_samples = {few} of one"
            )
