"""scikit-learn's SVC: the kernel SVM that most people use, as a solver beside LIBSVM's own package."""

from time import perf_counter
from typing import Annotated, Any, Literal

from annotated_types import Gt
from pydantic import FiniteFloat
from sklearn import svm

from kfeat.parameters import Iterations
from kfeat.solvers.base import Subproblem, finite
from kfeat.solvers.libsvm.kernel import LINEAR, POLYNOMIAL, PRECOMPUTED, GivenKernel, libsvm_kernel
from kfeat.solvers.libsvm.limited import trained
from kfeat.solvers.libsvm.machine import KernelMachine


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

    def __init__(
        self,
        kernel: Any = None,
        C: Annotated[FiniteFloat, Gt(0)] = 1.0,
        eps: Annotated[FiniteFloat, Gt(0)] = 1e-3,
        cache_mb: Annotated[FiniteFloat, Gt(0)] | None = None,
        shrinking: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        max_iter: Iterations | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.eps = eps
        self.cache_mb = cache_mb
        self.shrinking = shrinking
        self.class_weight = class_weight
        self.max_iter = max_iter

    @finite
    def fit(self, X: Any, y: Any) -> "Svc":
        """Train on X (n, d) and y (n,)."""
        X, y = self._begin(X, y)
        start = perf_counter()
        kernel = libsvm_kernel(self.kernel_, self._scale)
        rows = kernel.gram(X) if isinstance(kernel, GivenKernel) else X
        built = perf_counter()
        machine = self._machine(kernel)
        model = trained(machine, rows, self._targets(y))
        limit = self.max_iter or float("inf")
        self._keep(
            kernel,
            model,
            X,
            [
                Subproblem("SVC", int(done), "tolerance" if done < limit else "iteration limit")
                for done in machine.n_iter_
            ],
        )
        self.__dict__.pop("_objective", None)
        self.times_ = {"build": built - start, "solve": perf_counter() - built}
        return self

    @property
    def objective_(self) -> float:
        """The dual objective, summed over the pairs of classes."""
        if "_objective" not in self.__dict__:
            self._objective = self._model.dual_objective(self._kernel)
        return self._objective

    def _machine(self, kernel: Any) -> "svm.SVC":
        """Return the SVC with these parameters, not yet fitted."""
        names = {LINEAR: "linear", POLYNOMIAL: "poly", PRECOMPUTED: "precomputed"}
        return svm.SVC(
            kernel=names.get(kernel.type, "rbf"),
            degree=kernel.degree,
            gamma=kernel.gamma,
            coef0=kernel.coef0,
            C=self.C * self._scale,
            tol=self.eps,
            cache_size=self.cache_mb_,
            shrinking=self.shrinking,
            class_weight=self._weights or None,
            max_iter=self.max_iter or -1,
        )
