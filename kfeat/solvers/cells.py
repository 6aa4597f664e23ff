"""Kernel ridge regression in the cells of a tree of random hyperplanes: the kernel is 0 between cells."""

from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve
from sklearn.utils import gen_batches

from kfeat.errors import SolverError
from kfeat.kernels import Kernel
from kfeat.kernels.operands import generator
from kfeat.memory import check_memory
from kfeat.parameters import Seed
from kfeat.solvers.base import AboveZero, Subproblem, Target, finite, resolved_kernel
from kfeat.solvers.least_squares import BLOCK_VALUES, KernelExpansion, targets_of
from kfeat.solvers.newton_system import cholesky

Rows = NDArray[np.intp]


class Tree(NamedTuple):
    """A random bisection of rows: hyperplanes <normal, x> = offset through the medians of their rows.

    The children of a hyperplane, below and above it, are other hyperplanes, or cells: cell k is -1 - k. Cell
    k has the rows `order[edges[k]:edges[k + 1]]`.
    """

    normals: NDArray[np.float64]
    offsets: NDArray[np.float64]
    children: NDArray[np.int64]
    order: Rows
    edges: NDArray[np.int64]

    @classmethod
    def grow(cls, X: Any, size: int, rng: np.random.Generator) -> Self:
        """Return a tree of the rows X (n, d), dense or CSR.

        Rows are divided while both parts have at least `size`; rows of equal projections stay together.
        """
        normals: list[NDArray[np.float64]] = []
        offsets: list[float] = []
        children: list[list[int]] = []
        cells: list[Rows] = []

        def divide(rows: Rows) -> int:
            if len(rows) >= 2 * size:
                normal = rng.standard_normal(X.shape[1])
                heights = X[rows] @ normal
                offset = float(np.median(heights))
                lower = heights < offset
                if size <= np.count_nonzero(lower) <= len(rows) - size:
                    place = len(children)
                    normals.append(normal)
                    offsets.append(offset)
                    children.append([0, 0])
                    children[place] = [divide(rows[lower]), divide(rows[~lower])]
                    return place
            cells.append(rows)
            return -len(cells)

        divide(np.arange(X.shape[0]))
        return cls(
            np.reshape(normals, (len(normals), X.shape[1])),
            np.array(offsets),
            np.array(children, np.int64).reshape(-1, 2),
            np.concatenate(cells),
            np.cumsum([0, *map(len, cells)]),
        )

    def cells(self) -> list[Rows]:
        """Return the rows of each cell."""
        return [self.order[i:j] for i, j in pairwise(self.edges)]

    def members(self, X: Any) -> list[Rows]:
        """Return the rows of X (m, d) that lie in each cell."""
        inside: list[Rows] = [np.empty(0, np.intp)] * (len(self.edges) - 1)
        waiting = [(0 if len(self.offsets) else -1, np.arange(X.shape[0]))]
        while waiting:
            place, rows = waiting.pop()
            if place < 0:
                inside[-1 - place] = rows
            elif len(rows):
                lower = X[rows] @ self.normals[place] < self.offsets[place]
                below, above = self.children[place].tolist()
                waiting += [(below, rows[lower]), (above, rows[~lower])]
        return inside


@dataclass(eq=False, repr=False)
class CellLeastSquares(KernelExpansion):
    """The common part of CellKernelRidge and CellKernelRidgeClassifier."""

    needs_kernel = True

    kernel: Kernel | None = None
    alpha: AboveZero = 1.0
    cell_size: Annotated[int, Ge(1)] = 256
    random_state: Seed | None = None

    @staticmethod
    def working_bytes(n: int, D: int, k: int, on_disk: bool = False) -> float:
        """Return the bytes of the rows in double precision and of the coefficients."""
        return 8.0 * n * (D + k)

    @finite
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X (n, d), y (n,) and weights (n,)."""
        X, y, weights = self._check_weighted(X, y, sample_weight)
        X, targets = X.astype(np.float64), targets_of(self, y)
        targets = targets.reshape(len(targets), -1)
        start = perf_counter()
        self.kernel_ = resolved_kernel(self.kernel, X, weights)
        tree = Tree.grow(X, self.cell_size, generator(self.random_state))
        self.normals_, self.offsets_, self.children_, self.order_, self.edges_ = tree
        grown = perf_counter()
        self.X_fit_, self.dual_coef_ = X, np.empty_like(targets)
        self.intercept_ = np.average(targets, axis=0, weights=weights)
        for rows in tree.cells():
            costs = self.alpha if weights is None else self.alpha / weights[rows]
            self.dual_coef_[rows] = self._solved(X[rows], targets[rows] - self.intercept_, costs)
        self.objective_ = self.alpha * float(np.vdot(self.dual_coef_, targets - self.intercept_))
        self._report([Subproblem("Cholesky", 1)] * targets.shape[1])
        self.times_ = {"build": grown - start, "solve": perf_counter() - grown}
        return self

    @property
    def tree(self) -> Tree:
        """The hyperplanes and the cells."""
        return Tree(self.normals_, self.offsets_, self.children_, self.order_, self.edges_)

    def _solved(self, X: Any, targets: NDArray[np.float64], costs: Any) -> NDArray[np.float64]:
        n = X.shape[0]
        check_memory(
            f"the Gram matrix of a cell of {n:,} rows", 8 * n * n, "scale the features, or drop equal rows"
        )
        K = self.kernel_(X)
        K[np.diag_indices(n)] += costs
        try:
            return np.asarray(cho_solve(cholesky(K), targets))
        except LinAlgError:
            raise SolverError(
                f"K + alpha I is singular to rounding with alpha = {self.alpha}: take a larger alpha"
            ) from None

    def _values(self, X: Any) -> NDArray[np.float64]:
        """Return f(x) + b for each row, (n,) or (n, classes), from the rows of its cell."""
        X = self._check_again(X)
        values = np.tile(self.intercept_, (X.shape[0], 1))
        for rows, members in zip(self.tree.cells(), self.tree.members(X), strict=True):
            for some in gen_batches(len(members), max(1, BLOCK_VALUES // len(rows))) if len(members) else ():
                block = self.kernel_(X[members[some]], self.X_fit_[rows])
                values[members[some]] += block @ self.dual_coef_[rows]
        return values[:, 0] if values.shape[1] == 1 else values


@dataclass(eq=False, repr=False)
class CellKernelRidge(CellLeastSquares):
    """Exact kernel ridge regression in each cell of a tree of random hyperplanes.

    The kernel between rows of different cells is taken as 0, so that a cell of m rows takes m^3 operations
    and 8 m^2 bytes: KernelRidge on the rows of the cell, with the mean of all targets as intercept. A row is
    predicted from its own cell. The method is called block-diagonal approximation, and BLOCKDIAG by Wu, Yen,
    Chen & Yan (KDD 2016).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    alpha : float, default 1.0
        The weight of the penalty, above 0.
    cell_size : int, default 256
        The least number of rows of a cell. Rows are divided at the median of a random direction while both
        halves have as many, so that cells have up to twice as many, or more where rows are equal.
    random_state : int, optional
        The seed of the directions.
    target : {"none", "log", "power"}, default "none"
        The scale on which the targets are learnt, as in Ridge.

    Attributes
    ----------
    kernel_, dual_coef_, intercept_ : Kernel, ndarrays of shapes (n, 1) and (1,)
        The kernel with its bandwidth as a number, the coefficients a, and b.
    tree : Tree
        The hyperplanes and the cells, which are kept as `normals_`, `offsets_`, `children_`, `order_` and
        `edges_`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import CellKernelRidge
    >>> solver = CellKernelRidge(Gaussian(gamma="median"), alpha=0.1, cell_size=100, random_state=0)
    >>> [len(rows) for rows in solver.fit(X, y).tree.cells()]
    [110, 111, 110, 111]
    """

    task = "regression"

    target: Target = "none"


@dataclass(eq=False, repr=False)
class CellKernelRidgeClassifier(CellLeastSquares):
    """Classes by CellKernelRidge, each against the rest with the targets 1 and -1.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel; None is linear.
    alpha : float, default 1.0
        The weight of the penalty, above 0.
    cell_size : int, default 256
        The least number of rows of a cell, as in CellKernelRidge.
    random_state : int, optional
        The seed of the directions.

    Attributes
    ----------
    kernel_, dual_coef_, intercept_ : Kernel, ndarrays of shapes (n, problems) and (problems,)
        The kernel with its bandwidth as a number, the coefficients a, and b.
    tree : Tree
        The hyperplanes and the cells, which are kept as `normals_`, `offsets_`, `children_`, `order_` and
        `edges_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.kernels import Gaussian
    >>> from kfeat.solvers import CellKernelRidgeClassifier
    >>> solver = CellKernelRidgeClassifier(Gaussian(gamma="median"), alpha=0.1, cell_size=30, random_state=0)
    >>> solver.fit(X, y).score(X, y) > 0.9
    True
    """

    task = "classification"
