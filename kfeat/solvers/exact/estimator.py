"""The exact kernel SVM by working sets: blocks of kernel rows by matrix products, LIBSVM within a set."""

from itertools import combinations
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray
from pydantic import FiniteFloat

from kfeat.parameters import Iterations
from kfeat.solvers.base import Subproblem, finite
from kfeat.solvers.exact.rows import KernelRows
from kfeat.solvers.exact.working_sets import LARGEST, Solution, solve_dual
from kfeat.solvers.libsvm.kernel import libsvm_kernel
from kfeat.solvers.libsvm.machine import KernelMachine
from kfeat.solvers.libsvm.model import SupportVectors

ROUNDS = 10_000  # of working sets, where no limit is given
Pairs = dict[tuple[int, int], tuple[NDArray[np.intp], Solution]]  # rows and solution of two classes


class ExactSvm(KernelMachine):
    """The exact kernel SVM, by working sets of thousands of rows.

    min over w, b of ||w||^2 / 2 + C sum_i max(0, 1 - y_i (<w, x_i> + b)) in the feature space of `kernel`,
    one class against another: LIBSVM's C-SVC, to LIBSVM's tolerance and with its objective. LIBSVM computes a
    kernel row at a time, when it needs it; here those of a working set are one matrix product, in the
    precision of X, and are kept in float32. Within a working set LIBSVM solves. It gains where kernel rows
    cost most of the time, and loses where thousands of coefficients are free and K is nearly singular, so
    that LIBSVM's iterations do (Adult with (1 + <x, y>)^4). Any kernel, without a Gram matrix. Raises
    DataError for fewer than two classes, SolverError for values that no scale brings within float32.
    Joachims, "Making large-scale SVM learning practical" (1999); Wen et al., "ThunderSVM", JMLR 19 (2018).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    C : float, default 1.0
        The cost of the losses, above 0.
    eps : float, default 1e-3
        LIBSVM's tolerance, above 0 and at most 2.
    cache_mb : float, optional
        The MB of kernel rows that are kept, those of a working set at least; None: half of the free memory,
        at most what the Gram matrix of the largest pair of classes takes.
    class_weight : dict, "balanced" or None, default None
        The factor of C for each class; "balanced" weights classes by the inverse of their size.
    max_iter : int, optional
        The most working sets of each pair of classes; None is 10,000.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its bandwidth a number.
    support_ : ndarray
        The rows in X of the support vectors.
    n_support_ : ndarray
        The number of support vectors per class.
    dual_coef_, intercept_ : ndarray
        The coefficients, both in the order of `classes_`.
    n_iter_ : int
        The number of working sets, the most over the pairs of classes.
    cache_mb_ : float
        The cache that was taken.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import ExactSvm
    >>> solver = ExactSvm(Gaussian(gamma="median"), C=10.0).fit(X, y)
    >>> solver.score(X, y) > 0.95, solver.finished_by_
    (True, 'working sets')
    """

    def __init__(
        self,
        kernel: Any = None,
        C: Annotated[FiniteFloat, Gt(0)] = 1.0,
        eps: Annotated[FiniteFloat, Gt(0)] = 1e-3,
        cache_mb: Annotated[FiniteFloat, Gt(0)] | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        max_iter: Iterations | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.eps = eps
        self.cache_mb = cache_mb
        self.class_weight = class_weight
        self.max_iter = max_iter

    @finite
    def fit(self, X: Any, y: Any) -> "ExactSvm":
        """Train on X (n, d) and y (n,)."""
        X, y = self._begin(X, y)
        start = perf_counter()
        factors = np.array(list(self._weights.values()) or [1.0] * len(self.classes_))
        costs = self.C * self._scale * factors[y]
        pairs: Pairs = {}
        for i, j in combinations(range(len(self.classes_)), 2):
            at = np.flatnonzero((y == i) | (y == j))
            pairs[i, j] = at, self._solved(X[at], np.where(y[at] == i, 1.0, -1.0), costs[at])
        solutions = [solution for _, solution in pairs.values()]
        self._keep(
            libsvm_kernel(self.kernel_, self._scale),
            joined(pairs, y, len(self.classes_)),
            X,
            [Subproblem("working sets", one.rounds, one.stop_reason) for one in solutions],
        )
        self.objective_ = sum(one.objective for one in solutions) / self._scale
        self.times_ = {"solve": perf_counter() - start}
        return self

    def _solved(self, X: Any, signs: NDArray[np.float64], costs: NDArray[np.float64]) -> Solution:
        """Return the solution for the rows of two classes."""
        X = X if self._scale == 1 else X.astype(np.float64)
        against = self.kernel_.against(X)
        n = len(signs)
        capacity = max(LARGEST, int(self.cache_mb_ * 2**20 / (4 * n)))
        rows = KernelRows(lambda block: against(X[block]) / X.dtype.type(self._scale), n, capacity)
        diagonal = self.kernel_.diagonal(X).astype(np.float64) / self._scale
        return solve_dual(rows, diagonal, signs, costs, self.eps, self.max_iter or ROUNDS)


def joined(pairs: Pairs, y: NDArray[np.intp], classes: int) -> SupportVectors:
    """Return the solutions of all pairs of classes as one model in LIBSVM's layout, its classes sorted."""
    used = np.zeros(len(y), dtype=bool)
    for at, solution in pairs.values():
        used[at[solution.coefficients != 0]] = True
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(y[rows], kind="stable")]
    place = np.full(len(y), -1)
    place[rows] = np.arange(len(rows))
    coefficients = np.zeros((classes - 1, len(rows)))
    for (i, j), (at, solution) in pairs.items():
        for own, other in ((i, j - 1), (j, i)):
            mine = (y[at] == own) & (solution.coefficients != 0)
            coefficients[other, place[at[mine]]] = solution.coefficients[mine]
    return SupportVectors(
        order=np.arange(classes),
        counts=np.bincount(y[rows], minlength=classes),
        rows=rows,
        coefficients=coefficients,
        rho=np.array([solution.rho for _, solution in pairs.values()]),
    )
