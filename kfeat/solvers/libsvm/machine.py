"""What all kernel SVMs have in common: classes in pairs, decisions by matrix products, a kernel cache."""

from collections.abc import Sequence
from itertools import combinations
from math import ceil
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from kfeat.errors import ParameterError
from kfeat.memory import available_memory
from kfeat.solvers.base import (
    Solver,
    Subproblem,
    Task,
    available_when,
    classifies,
    resolved_kernel,
)
from kfeat.solvers.class_weights import class_factors
from kfeat.solvers.libsvm.kernel import LibsvmKernel
from kfeat.solvers.libsvm.model import SupportVectors
from kfeat.solvers.libsvm.scale import kernel_scale
from kfeat.solvers.native.library import check_sizes

FIRST_VIOLATION = 2.0  # of the conditions of optimality, where C-SVC starts
MEMORY_SHARE = 0.5  # of the free memory goes to the kernel cache when none is given


class KernelMachine(Solver):
    """A kernel SVM, one against one: subclasses train, this class decides and reports.

    `fit` of a subclass calls `_begin`, trains, and ends with `_keep`.
    """

    needs_kernel: ClassVar[bool] = True
    resource_parameters: ClassVar[frozenset[str]] = frozenset({"cache_mb"})

    kernel: Any
    C: float
    eps: float
    cache_mb: float | None
    class_weight: dict[Any, float] | Literal["balanced"] | None

    @property
    def task(self) -> Task:
        """Classification."""
        return "classification"

    @available_when(classifies)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values: (n,) for two classes (positive: the last), or votes (n, classes).

        Votes are refined by the summed decision values, as in scikit-learn's SVC with shape "ovr".
        """
        X = self._check_again(X)
        values = self._model.decision_values(X, self._kernel)
        order = self._model.order
        if len(order) == 2:
            return values[:, 0] if order[0] == 1 else -values[:, 0]
        votes = _ovr_decision_function(values < 0, -values, len(order))
        return votes[:, np.argsort(order)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return svm_predict's label, or value, for each row."""
        X = self._check_again(X)
        if self.task == "regression":
            return self._model.decision_values(X, self._kernel)[:, 0]
        return self.classes_[self._model.labels(X, self._kernel)]

    def _begin(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return X and y checked; set the kernel, the weights of classes, the scale and the cache."""
        X, y = self._check(X, y)
        name = type(self).__name__
        if self.task == "classification" and self.eps > FIRST_VIOLATION:
            raise ParameterError(
                f"{name}: eps: expected at most {FIRST_VIOLATION:g} for classification, which otherwise ends "
                f"before it begins (got {self.eps})"
            )
        check_sizes("LIBSVM", rows_times_two=2 * X.shape[0], features=X.shape[1] + 1)
        self.kernel_ = resolved_kernel(self.kernel, X)
        self._weights = self._class_weights(y)
        cost = self.C * max(self._weights.values(), default=1.0)
        self._scale = kernel_scale(self.kernel_, X, cost, self.eps)
        self.cache_mb_ = float(self.cache_mb or fair_cache_mb(max(self._sizes(y))))
        return X, y

    def _targets(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return y as LIBSVM shall see it: it treats the labels -1 and +1, and only these, specially."""
        if self.task == "classification" and np.array_equal(self.classes_, [-1, 1]):
            return 2.0 * y - 1
        return y.astype(np.float64)

    def _class_weights(self, y: NDArray[Any]) -> dict[int, float]:
        """Return the factors of C by LIBSVM's labels: none in regression, or without `class_weight`."""
        if self.task == "regression" or self.class_weight is None:
            return {}
        labels = np.unique(self._targets(y)).astype(int).tolist()
        factors = class_factors(self.class_weight, self.classes_, y).tolist()
        return dict(zip(labels, factors, strict=True))

    def _sizes(self, y: NDArray[Any]) -> list[int]:
        """Return how many rows each of LIBSVM's problems has, in no order: pairs of classes, or all rows."""
        if self.task == "regression":
            return [len(y)]
        return [a + b for a, b in combinations(np.bincount(y).tolist(), 2)]

    def _keep(
        self, kernel: LibsvmKernel, model: SupportVectors, X: Any, subproblems: Sequence[Subproblem]
    ) -> None:
        """Set the fitted attributes that tell about the model and the solve."""
        self._kernel = kernel
        self._model = model
        model.take_rows(X, kernel)
        model.coefficients /= self._scale
        self.support_ = model.rows
        self.n_support_ = model.counts[np.argsort(model.order)] if len(model.order) else model.counts
        self.dual_coef_ = model.coefficients
        self.intercept_ = -model.rho
        self._report(subproblems)


def fair_cache_mb(n: int) -> int:
    """Return the MB of kernel cache for n rows: a whole Gram (float32), or half of the free memory."""
    gram = n * n * 4 + n * 32  # 32: the cache's header per row
    return max(100, ceil(min(gram, MEMORY_SHARE * available_memory()) / 2**20))
