"""scikit-learn's SVC: the kernel SVM that most people use, as a solver beside LIBSVM's own package."""

from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

from kfeat.parameters import Iterations
from kfeat.solvers.base import AboveZero, ClassWeight, finite
from kfeat.solvers.kernel_machine import KernelMachine
from kfeat.solvers.libsvm_kernels import GivenKernel, libsvm_kernel


@dataclass(eq=False, repr=False)
class Svc(KernelMachine):
    """The exact kernel SVM by scikit-learn's SVC, which is a copy of LIBSVM that also takes dense rows.

    min over w, b of ||w||^2 / 2 + C sum_i max(0, 1 - y_i (<w, x_i> + b)) in the feature space of `kernel`,
    one class against another. SVC's own kernels stand for Linear, Polynomial and Gaussian; any other, and any
    whose values are beyond float32, is handed over as a Gram matrix, which takes 8 n^2 bytes, as by `Libsvm`.
    Dense rows are trained on as they are, CSR rows as CSR. Predictions are matrix products. Raises DataError
    for fewer than two classes, SolverError for a Gram matrix that does not fit in memory and for values that
    no scale brings within float32. Pedregosa et al., "Scikit-learn: machine learning in Python", JMLR 12
    (2011).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    C : float, default 1.0
        The cost of the losses, above 0.
    eps : float, default 1e-3
        The tolerance (SVC's `tol`), above 0 and at most 2.
    cache_mb : float, optional
        The kernel cache in MB (SVC's `cache_size`); None: half of the free memory, at most what the Gram
        matrix of the largest pair of classes takes.
    shrinking : bool, default True
        Whether the shrinking heuristic is used.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    max_iter : int, optional
        The most iterations of each pair of classes; None is no limit.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its bandwidth a number.
    support_ : ndarray
        The rows in X of the support vectors.
    n_support_ : ndarray
        The number of support vectors per class.
    dual_coef_, intercept_ : ndarray
        The coefficients, both in LIBSVM's order of classes, and with its signs.
    objective_ : float
        The dual objective, which is computed when it is first asked for: SVC does not tell it.
    cache_mb_ : float
        The cache that was taken.

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
    def fit(self, X: Any, y: Any) -> "Svc":
        """Train on X (n, d) and y (n,)."""
        X, y = self._begin(X, y)
        start = perf_counter()
        kernel = libsvm_kernel(self.kernel_, self._scale)
        rows = kernel.gram(X) if isinstance(kernel, GivenKernel) else X
        built = perf_counter()
        model, iterations = self._train_in_scikit_learn(kernel, rows, y)
        self._keep(kernel, model, X, iterations, "SVC", self.max_iter or inf)
        self.__dict__.pop("_objective", None)
        self.times_ = {"build": built - start, "solve": perf_counter() - built}
        return self

    @property
    def objective_(self) -> float:
        """The dual objective, summed over the pairs of classes."""
        if "_objective" not in self.__dict__:
            self._objective = self._model.dual_objective(self._kernel)
        return self._objective
