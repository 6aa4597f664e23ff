"""The exact kernel SVM: by LIBSVM (C-SVC and epsilon-SVR), and by scikit-learn's SVC, a copy of LIBSVM."""

import ctypes
import re
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any, Literal

import numpy as np
from libsvm import svm as library
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from kfeat.errors import ParameterError, SolverError
from kfeat.parameters import Iterations
from kfeat.solvers import native
from kfeat.solvers.base import (
    AboveZero,
    NotNegative,
    Task,
    finite,
    unweighted,
)
from kfeat.solvers.class_weights import ClassWeight
from kfeat.solvers.kernel_svm import KernelSVM
from kfeat.solvers.libsvm_model import (
    GivenKernel,
    LibsvmKernel,
    SupportVectors,
    kernel_numbers,
    libsvm_kernel,
)


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
        objectives = []
        for positions, coefficients in model.subproblems():
            a = np.zeros(len(gram))
            a[model.rows[positions]] = coefficients
            size = np.abs(a).sum()
            linear = size if self.task == "classification" else a @ y - self.p * size
            objectives.append(float(linear - a @ (gram @ a) / 2))
        return objectives


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
