"""LIBSVM's exact kernel SVM: C-SVC and epsilon-SVR, trained by LIBSVM, predicted by matrix products."""

import ctypes
import re
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from libsvm import svm as library
from numpy.typing import NDArray

from kfeat.errors import ParameterError, SolverError
from kfeat.parameters import Iterations
from kfeat.solvers.base import AboveZero, ClassWeight, NotNegative, Task, finite
from kfeat.solvers.kernel_machine import KernelMachine
from kfeat.solvers.libsvm_kernels import GivenKernel, LibsvmKernel, kernel_fields, libsvm_kernel
from kfeat.solvers.native import (
    NodeRows,
    c_array,
    labels_in_c,
    solving,
    structure,
    thread_cap,
    weight_fields,
)
from kfeat.solvers.support_vectors import SupportVectors, copy_model


@dataclass(eq=False, repr=False)
class Libsvm(KernelMachine):
    """The exact kernel SVM by LIBSVM.

    min over w, b of ||w||^2 / 2 + C sum_i loss_i in the feature space of `kernel`. LIBSVM's own kernels stand
    for Linear, Polynomial and Gaussian; any other kernel, and any whose values are beyond the float32 in
    which LIBSVM keeps them, is handed over as a Gram matrix, which takes 8 n^2 bytes: as K / s with cost C s,
    s a power of two, which is the same machine. Labels are those of `svm_predict`: rows on which rounding
    could turn a vote are decided by LIBSVM itself. Raises DataError for fewer than two classes or sizes
    beyond C's int, SolverError for a Gram matrix that does not fit in memory and for values that no s brings
    within float32. Chang and Lin, "LIBSVM: a library for support vector machines", ACM TIST 2 (2011).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    solver_type : {0, 3}, default 0
        Its -s: 0 is C-SVC (one against one), 3 epsilon-SVR.
    C : float, default 1.0
        The cost of the losses, above 0.
    eps : float, default 1e-3
        The tolerance, above 0.
    p : float, default 0.1
        Half the width of the regression's tube, in which errors cost nothing.
    cache_mb : float, optional
        The kernel cache in MB; None: half of the free memory, at most what the Gram matrix of the largest of
        its subproblems takes.
    shrinking : bool, default True
        Whether LIBSVM uses its shrinking heuristic.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    max_iter : int, optional
        The most iterations of each subproblem; None is LIBSVM's own limit of max(10,000,000, 100 n). LIBSVM
        takes no other: with a number, the copy of it inside scikit-learn trains, every kernel as a Gram
        matrix. A row with a kernel value far above all others may keep it from converging: LIBSVM chooses
        pairs of rows by their gain over k(x, x), so that all other pairs come first.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its bandwidth a number.
    support_ : ndarray
        The rows in X of the support vectors.
    n_support_ : ndarray
        The number of support vectors per class, or in all.
    dual_coef_, intercept_ : ndarray
        The coefficients, both in LIBSVM's order of classes.
    cache_mb_ : float
        The cache that was taken.

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

    @finite
    def fit(self, X: Any, y: Any) -> "Libsvm":
        """Train on X (n, d) and y (n,)."""
        X, y = self._begin(X, y)
        start = perf_counter()
        kernel: LibsvmKernel
        if self.max_iter is None:
            kernel = libsvm_kernel(self.kernel_, self._scale)
            rows = kernel.training_rows(X)
            built = perf_counter()
            model, iterations, objectives = self._train(rows, y, kernel)
        else:
            kernel = GivenKernel(self.kernel_, self._scale)
            gram = kernel.gram(X)
            built = perf_counter()
            model, iterations = self._train_in_scikit_learn(kernel, gram, y)
            objectives = self._dual_objectives(model, gram, labels_in_c(self, y))
        regression = self.task == "regression"
        variables = 2 * len(y) if regression else max(self._sizes(y))  # epsilon-SVR has two for each row
        # LIBSVM says on stderr, not in its messages, that it gave up.
        limit = self.max_iter or max(10_000_000, 100 * variables)
        self._keep(kernel, model, X, iterations, "epsilon-SVR" if regression else "C-SVC", limit)
        self.objective_ = sum(objectives) / self._scale
        self.times_ = {"build": built - start, "solve": perf_counter() - built}
        return self

    def _train(
        self, rows: NodeRows, y: NDArray[Any], kernel: LibsvmKernel
    ) -> tuple[SupportVectors, list[int], list[float]]:
        """Run svm_train; return its model, and the iterations and the dual objective of each subproblem."""
        targets = labels_in_c(self, y)
        problem = structure(
            library.svm_problem,
            l=len(targets),
            y=c_array(targets, ctypes.c_double),
            x=c_array(rows.pointers, ctypes.POINTER(library.svm_node)),
        )
        parameter = structure(
            library.svm_parameter,
            svm_type=int(self.solver_type),  # which may be given as 0.0
            C=self.C * self._scale,
            eps=self.eps,
            p=self.p,
            shrinking=int(self.shrinking),
            cache_size=self.cache_mb_,
            **kernel_fields(kernel),
            **weight_fields(self._weights),
        )
        with thread_cap(), solving(library.libsvm.svm_set_print_string_function, None) as messages:
            refusal = library.libsvm.svm_check_parameter(problem, parameter)
            if refusal:
                raise ParameterError(f"Libsvm: {refusal.decode()}")
            model = library.libsvm.svm_train(problem, parameter)
        try:
            copied = copy_model(model.contents, np.unique(targets))
        finally:
            library.libsvm.svm_free_and_destroy_model(ctypes.byref(model))
        log = "".join(messages)
        iterations = [int(count) for count in re.findall(r"optimization finished, #iter = (\d+)", log)]
        objectives = [-float(value) for value in re.findall(r"obj = (\S+),", log)]
        if not iterations or not np.isfinite([*objectives, *copied.rho, *copied.coefficients.flat]).all():
            raise SolverError(f"LIBSVM returned no usable model; its messages were: {log[-500:]!r}")
        return copied, iterations, objectives

    def _dual_objectives(
        self, model: SupportVectors, gram: NDArray[np.float64], targets: NDArray[np.float64]
    ) -> list[float]:
        """Return for each pair sum |a| - a'Ka / 2, or for regression a'y - p sum |a| - a'Ka / 2."""
        found = []
        for positions, coefficients in model.subproblems():
            a = np.zeros(len(gram))
            a[model.rows[positions]] = coefficients
            size = np.abs(a).sum()
            linear = size if self.task == "classification" else a @ targets - self.p * size
            found.append(float(linear - a @ (gram @ a) / 2))
        return found
