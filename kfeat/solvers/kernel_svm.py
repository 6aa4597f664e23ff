"""What kernel SVMs predict and report, whichever library trains them; kernel cache and range of values."""

import warnings
from itertools import combinations
from math import ceil, frexp, isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import _ovr_decision_function

from kfeat.errors import ParameterError, SolverError
from kfeat.kernels.distances import TILE
from kfeat.memory import available_memory
from kfeat.solvers import native
from kfeat.solvers.base import (
    Solver,
    Subproblem,
    available_when,
    classifies,
    resolved_kernel,
)
from kfeat.solvers.class_weights import ClassWeight
from kfeat.solvers.libsvm_model import (
    LibsvmKernel,
    SupportVectors,
    scikit_learn_kernel,
)
from kfeat.solvers.native import check_sizes, labels_in_c, one_at_a_time, weights_in_c

FLOAT32 = np.finfo(np.float32)
FIRST_VIOLATION = 2.0  # violation of the optimality conditions at the start of C-SVC
MEMORY_SHARE = 0.5  # share of the free memory for the kernel cache, if its size is not given


class KernelSVM(Solver):
    """A kernel SVM, one against one: subclasses train, this class predicts and reports.

    `fit` of a subclass calls `_begin`, trains, and ends with `_keep`.

    Attributes
    ----------
    kernel_, cache_mb_ : Kernel, float
        The kernel with its bandwidth as a number, and the size of the kernel cache.
    support_, n_support_ : ndarray
        The row numbers of the support vectors in X (without its rows of weight 0), and their number per class
        (regression: in total).
    dual_coef_, intercept_ : ndarray
        The coefficients and intercepts, in LIBSVM's order of classes and with its signs.
    """

    needs_kernel: ClassVar[bool] = True
    resource_parameters: ClassVar[frozenset[str]] = frozenset({"cache_mb"})

    kernel: Any
    C: float
    eps: float
    p: float
    cache_mb: float | None
    shrinking: bool
    class_weight: ClassWeight
    max_iter: int | None

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of half of LIBSVM's cache for n rows, the largest subproblem: few fill it."""
        return 2.0 * n**2

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
        """Return the label or value of LIBSVM's svm_predict for each row."""
        X = self._check_again(X)
        if self.task == "regression":
            return self._model.decision_values(X, self._kernel)[:, 0]
        return self.classes_[self._model.labels(X, self._kernel)]

    def _begin(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, NDArray[Any], Any]:
        """Return checked X, y and weights; set the kernel, the class weights, the scale and the cache."""
        X, y, sample_weight = self._check_weighted(X, y, sample_weight)
        name = type(self).__name__
        if self.task == "classification" and self.eps > FIRST_VIOLATION:
            raise ParameterError(
                f"{name}: eps: expected at most {FIRST_VIOLATION:g} for classification, since a larger one "
                f"is met before the first step (got {self.eps})"
            )
        check_sizes("LIBSVM", rows_times_two=2 * X.shape[0], features=X.shape[1] + 1)
        self.kernel_ = resolved_kernel(self.kernel, X, sample_weight)
        self._weights = weights_in_c(self, y, sample_weight)
        cost = self.C * max(self._weights.values(), default=1.0)
        cost *= 1.0 if sample_weight is None else float(sample_weight.max())
        self._scale = kernel_scale(self.kernel_, X, cost, self.eps)
        self.cache_mb_ = float(self.cache_mb or fair_cache_mb(max(self._sizes(y))))
        return X, y, sample_weight

    def _sizes(self, y: NDArray[Any]) -> list[int]:
        """Return the rows of each of LIBSVM's problems: of the pairs of classes in any order, or all."""
        if self.task == "regression":
            return [len(y)]
        return [a + b for a, b in combinations(np.bincount(y).tolist(), 2)]

    def _train_in_scikit_learn(
        self, kernel: LibsvmKernel, rows: Any, y: NDArray[Any], sample_weight: Any = None
    ) -> tuple[SupportVectors, list[int]]:
        """Train with scikit-learn's copy of LIBSVM, which takes dense rows and any limit on iterations.

        `rows` is X (n, d) or a Gram matrix (n, n). Returns the model, with its classes sorted, and the
        iterations of each subproblem. Raises SolverError if the model is not finite.
        """
        options = {
            "C": self.C * self._scale,
            "tol": self.eps,
            "cache_size": self.cache_mb_,
            "shrinking": self.shrinking,
            "max_iter": self.max_iter or -1,
        } | scikit_learn_kernel(kernel)
        if self.task == "regression":
            machine = svm.SVR(epsilon=self.p, **options)
        else:
            machine = svm.SVC(class_weight=self._weights or None, **options)

        def solve() -> Any:
            with one_at_a_time(), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # `stop_reason_` says so
                try:
                    return machine.fit(rows, labels_in_c(self, y), sample_weight)
                except ValueError as error:
                    raise SolverError(f"LIBSVM returned no usable model: {error}") from None

        fitted = native.interruptible(solve, len(y) ** 2)
        classes = 0 if self.task == "regression" else len(fitted.classes_)
        sign = -1 if classes == 2 else 1  # scikit-learn changes the signs of two classes
        a = fitted.dual_coef_.toarray() if issparse(fitted.dual_coef_) else fitted.dual_coef_
        model = SupportVectors(
            order=np.arange(classes),
            counts=np.array(fitted.n_support_[: max(1, classes)], dtype=np.intp),
            rows=fitted.support_.astype(np.intp),
            coefficients=np.array(sign * a, dtype=np.float64),
            rho=np.array(-sign * fitted.intercept_, dtype=np.float64),
        )
        return model, np.ravel(fitted.n_iter_).tolist()

    def _keep(self, kernel: LibsvmKernel, model: SupportVectors, X: Any) -> None:
        """Set the fitted attributes of the model."""
        self._kernel, self._model = kernel, model
        model.vectors = kernel.hold(X[model.rows])
        model.coefficients /= self._scale
        self.support_, self.dual_coef_, self.intercept_ = model.rows, model.coefficients, -model.rho
        self.n_support_ = model.counts[np.argsort(model.order)] if len(model.order) else model.counts

    def _report_iterations(self, name: str, iterations: list[int], limit: float) -> None:
        """Report subproblems with these numbers of iterations, at most `limit`."""
        reasons = ["tolerance" if done < limit else "iteration limit" for done in iterations]
        self._report([Subproblem(name, *how) for how in zip(iterations, reasons, strict=True)])


def fair_cache_mb(n: int) -> int:
    """Return the MB of kernel cache for n rows: a whole Gram matrix (float32), or half of the free memory."""
    gram = n * n * 4 + n * 32  # 32: the cache's header per row
    return max(100, ceil(min(gram, MEMORY_SHARE * available_memory()) / 2**20))


def kernel_scale(kernel: Any, X: Any, cost: float, eps: float) -> float:
    """Return s, the power of two by which K is divided and C multiplied for LIBSVM; 1 if K fits in float32.

    K is the Gram matrix of the n rows of X (n, d), `cost` the largest C of a class, `eps` the tolerance.
    K / s and C s (for every class) turn each a_i of the dual into s a_i and the dual's value D into s D. They
    do not change the gradient, nor b and the stopping rule: the constraints 0 <= a_i <= C and the linear
    terms (1, and for regression y and p) grow with a, and K a does not change. Only values below s times
    float32's smallest number are lost, which changes a decision value by less than n C s times that number.
    Raises SolverError if this may exceed the tolerance, or if a value is beyond double precision.
    """
    parts = (X[rows].astype(np.float64) for rows in gen_batches(X.shape[0], TILE))
    largest = max(float(np.abs(kernel.diagonal(part)).max()) for part in parts)
    if largest <= float(FLOAT32.max):
        return 1.0
    scale = 2.0 ** (frexp(largest)[1] - FLOAT32.maxexp + 1)
    lost = X.shape[0] * cost * scale * float(FLOAT32.smallest_subnormal)
    if not isfinite(largest) or lost > eps:
        raise SolverError(
            f"values of {kernel!r} reach {largest:.3g}, beyond the single precision in which LIBSVM keeps "
            "them: scale the features down, or take a lower degree or gamma"
        )
    return scale
