"""The exact kernel SVM: by LIBSVM (C-SVC and epsilon-SVR), and by scikit-learn's SVC, a copy of LIBSVM."""

import ctypes
import re
import warnings
from dataclasses import dataclass
from itertools import combinations
from math import ceil, frexp, inf, isfinite
from time import perf_counter
from typing import Any, ClassVar, Literal

import numpy as np
from libsvm import svm as library
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import _ovr_decision_function
from threadpoolctl import threadpool_limits

from kfeat.errors import ParameterError, SolverError
from kfeat.kernels.base import TILE
from kfeat.memory import available_memory
from kfeat.parameters import Iterations
from kfeat.solvers import native
from kfeat.solvers.base import (
    AboveZero,
    NotNegative,
    Solver,
    Subproblem,
    Task,
    available_when,
    classifies,
    finite,
    resolved_kernel,
    unweighted,
)
from kfeat.solvers.class_weights import ClassWeight
from kfeat.solvers.libsvm_model import (
    GivenKernel,
    LibsvmKernel,
    SupportVectors,
    kernel_numbers,
    libsvm_kernel,
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


@dataclass(eq=False, repr=False)
class Libsvm(KernelSVM):
    """The exact kernel SVM by LIBSVM.

    min over w, b of ||w||^2 / 2 + C sum_i loss_i in the feature space of `kernel`. Linear, Polynomial and
    Gaussian use LIBSVM's own kernels. Any other kernel, and any kernel with values beyond float32, in which
    LIBSVM keeps them, is passed as a Gram matrix, which takes 8 n^2 bytes. Values beyond float32 are passed
    as K / s with cost C s, s a power of two, which is the same SVM. Labels are those of `svm_predict`: LIBSVM
    itself predicts rows on which rounding could change a vote. Raises DataError for fewer than two classes or
    sizes beyond C's int, SolverError for a Gram matrix that does not fit in memory and for values that no s
    brings within float32. Chang and Lin, "LIBSVM: a library for support vector machines", ACM TIST 2 (2011).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    solver_type : {0, 3}, default 0
        LIBSVM's -s: 0 is C-SVC (one against one), 3 epsilon-SVR.
    C, eps : float, default 1.0 and 1e-3
        The cost of the losses and the tolerance, above 0.
    p : float, default 0.1
        Half the width of the regression's tube, in which errors cost nothing.
    cache_mb, shrinking : float, optional, and bool, default True
        The kernel cache in MB (None: half of the free memory, but at most the size of the Gram matrix of the
        largest subproblem), and whether LIBSVM uses its shrinking heuristic.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    max_iter : int, optional
        The largest number of iterations of each subproblem; None is LIBSVM's own limit of
        max(10,000,000, 100 n). LIBSVM has no other limit: with a number, scikit-learn's copy of it trains,
        with every kernel as a Gram matrix. A row with a kernel value far above all others may prevent
        convergence: LIBSVM chooses pairs of rows by their gain over k(x, x), so all other pairs come first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import Libsvm
    >>> solver = Libsvm(Gaussian(gamma="median"), C=10.0).fit(X, y)
    >>> solver.score(X, y) > 0.95, solver.finished_by_
    (True, 'C-SVC')
    """

    kernel: Any = None
    solver_type: Literal[0, 3] = 0
    C: AboveZero = 1.0
    eps: AboveZero = 1e-3
    p: NotNegative = 0.1
    cache_mb: AboveZero | None = None
    shrinking: bool = True
    class_weight: ClassWeight = None
    max_iter: Iterations | None = None

    @property
    def task(self) -> Task:
        """Regression for -s 3, otherwise classification."""
        return "regression" if self.solver_type == 3 else "classification"

    @unweighted
    @finite
    def fit(self, X: Any, y: Any) -> "Libsvm":
        """Train on X (n, d) and y (n,)."""
        X, y, _ = self._begin(X, y)
        start = perf_counter()
        if self.max_iter is None:
            kernel = libsvm_kernel(self.kernel_, self._scale)
            rows, built = kernel.training_rows(X), perf_counter()
            model, iterations, objectives = self._train(rows, y, kernel)
        else:
            kernel = GivenKernel(self.kernel_, self._scale)
            gram, built = kernel.gram(X), perf_counter()
            model, iterations = self._train_in_scikit_learn(kernel, gram, y)
            objectives = self._dual_objectives(model, gram, y)
        regression = self.task == "regression"
        variables = 2 * len(y) if regression else max(self._sizes(y))  # epsilon-SVR has two for each row
        # LIBSVM reports that it reached its limit only on stderr, not in its messages.
        limit = self.max_iter or max(10_000_000, 100 * variables)
        self._keep(kernel, model, X)
        self._report_iterations("epsilon-SVR" if regression else "C-SVC", iterations, limit)
        self.objective_ = sum(objectives) / self._scale
        self.times_ = {"build": built - start, "solve": perf_counter() - built}
        return self

    def _train(
        self, rows: native.NodeRows, y: NDArray[Any], kernel: LibsvmKernel
    ) -> tuple[SupportVectors, list[int], list[float]]:
        """Run svm_train; return its model, and the iterations and the dual objective of each subproblem."""
        targets = native.labels_in_c(self, y)
        problem = native.structure(
            library.svm_problem,
            l=len(targets),
            y=native.c_array(targets, ctypes.c_double),
            x=native.c_array(rows.pointers, ctypes.POINTER(library.svm_node)),
        )
        parameter = native.structure(
            library.svm_parameter,
            svm_type=int(self.solver_type),  # may be given as 0.0
            C=self.C * self._scale,
            eps=self.eps,
            p=self.p,
            shrinking=int(self.shrinking),
            cache_size=self.cache_mb_,
            kernel_type=kernel.type,
            **kernel_numbers(kernel),
            **native.weight_fields(self._weights),
        )
        threads = native.openmp_threads()

        def solve() -> tuple[dict[str, NDArray[Any]], str]:
            with (
                threadpool_limits(threads, user_api="openmp"),
                native.solving(library.libsvm.svm_set_print_string_function, None) as messages,
            ):
                refusal = library.libsvm.svm_check_parameter(problem, parameter)
                if refusal:
                    raise ParameterError(f"Libsvm: {refusal.decode()}")
                model = library.libsvm.svm_train(problem, parameter)
            try:
                return copied_arrays(model.contents, np.unique(targets)), "".join(messages)
            finally:
                library.libsvm.svm_free_and_destroy_model(ctypes.byref(model))

        arrays, log = native.interruptible(solve, len(targets) ** 2)
        copied = SupportVectors(**arrays)
        iterations = [int(count) for count in re.findall(r"optimization finished, #iter = (\d+)", log)]
        objectives = [-float(value) for value in re.findall(r"obj = (\S+),", log)]
        if not iterations or not np.isfinite([*objectives, *copied.rho, *copied.coefficients.flat]).all():
            raise SolverError(f"LIBSVM returned no usable model; its messages were: {log[-500:]!r}")
        return copied, iterations, objectives

    def _dual_objectives(self, model: SupportVectors, gram: NDArray[Any], y: NDArray[Any]) -> list[float]:
        """Return for each pair sum |a| - a'Ka / 2, or for regression a'y - p sum |a| - a'Ka / 2."""
        found = []
        for positions, coefficients in model.subproblems():
            a = np.zeros(len(gram))
            a[model.rows[positions]] = coefficients
            size = np.abs(a).sum()
            linear = size if self.task == "classification" else a @ y - self.p * size
            found.append(float(linear - a @ (gram @ a) / 2))
        return found


@dataclass(eq=False, repr=False)
class Svc(KernelSVM):
    """The exact kernel SVM by scikit-learn's SVC, which is a copy of LIBSVM that also takes dense rows.

    The objective, the kernels that are passed as a Gram matrix, and the errors are those of `Libsvm` with
    C-SVC. Dense rows stay dense, and CSR rows stay CSR. Predictions are matrix products.
    Pedregosa et al., "Scikit-learn: machine learning in Python", JMLR 12 (2011).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    C, eps : float, default 1.0 and 1e-3
        The cost of the losses, and the tolerance (SVC's `tol`), above 0 and at most 2.
    cache_mb, shrinking, class_weight : as in Libsvm
        The kernel cache in MB (SVC's `cache_size`), whether the shrinking heuristic is used, and the factors
        of C by class.
    max_iter : int, optional
        The largest number of iterations of each pair of classes; None is no limit.

    Attributes
    ----------
    objective_ : float
        The dual objective, which is computed at the first access, since SVC does not report it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import Svc
    >>> solver = Svc(Gaussian(gamma="median"), C=10.0).fit(X, y)
    >>> solver.score(X, y) > 0.95, solver.finished_by_
    (True, 'SVC')
    """

    kernel: Any = None
    C: AboveZero = 1.0
    eps: AboveZero = 1e-3
    cache_mb: AboveZero | None = None
    shrinking: bool = True
    class_weight: ClassWeight = None
    max_iter: Iterations | None = None

    @finite
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Svc":
        """Train on X (n, d), y (n,) and weights (n,), the factors of C by row."""
        X, y, sample_weight = self._begin(X, y, sample_weight)
        start = perf_counter()
        kernel = libsvm_kernel(self.kernel_, self._scale)
        rows = kernel.gram(X) if isinstance(kernel, GivenKernel) else X
        built = perf_counter()
        model, iterations = self._train_in_scikit_learn(kernel, rows, y, sample_weight)
        self._keep(kernel, model, X)
        self._report_iterations("SVC", iterations, self.max_iter or inf)
        self.__dict__.pop("_objective", None)
        self.times_ = {"build": built - start, "solve": perf_counter() - built}
        return self

    @property
    def objective_(self) -> float:
        """The dual objective, summed over the pairs of classes."""
        if "_objective" not in self.__dict__:
            self._objective = self._model.dual_objective(self._kernel)
        return self._objective


def copied_arrays(model: Any, targets: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Copy a C model; `targets` are the sorted distinct labels that LIBSVM was given (classification)."""
    m, regression = model.l, not model.label
    classes = 2 if regression else model.nr_class
    labels, counts = ([], [m]) if regression else (model.label[:classes], model.nSV[:classes])
    return {
        "order": np.searchsorted(targets, labels).astype(np.intp),
        "counts": np.array(counts, dtype=np.intp),
        "rows": np.array(model.sv_indices[:m], dtype=np.intp) - 1,
        "coefficients": np.array([model.sv_coef[k][:m] for k in range(classes - 1)], dtype=np.float64),
        "rho": np.array(model.rho[: classes * (classes - 1) // 2], dtype=np.float64),
    }
