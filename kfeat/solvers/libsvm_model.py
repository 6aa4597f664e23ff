"""Kernels in the form that LIBSVM takes, and its models in NumPy arrays.

A kernel is one of LIBSVM's own, or given by its values. Both classes have LIBSVM's -t, -d, -g and -r, and the
same methods: `training_rows` for svm_train, `hold` and `values` for predictions by matrix products, and
`asking_rows` for svm_predict, which decides if rounding could change a label.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from libsvm import svm as library
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from threadpoolctl import threadpool_limits

from kfeat.errors import DataError, SolverError
from kfeat.kernels import Gaussian, Kernel, Linear, Polynomial
from kfeat.kernels.distances import centre_of
from kfeat.kernels.dot_product import power
from kfeat.memory import check_memory
from kfeat.solvers.native import (
    MERGED_BELOW,
    NODE,
    NodeRows,
    c_array,
    node_rows,
    openmp_threads,
    row_pointers,
    structure,
)

LINEAR, POLYNOMIAL, RBF, PRECOMPUTED = 0, 1, 2, 4
DENSE_BYTES = 2**30  # support vectors up to this size are kept dense, for BLAS
BLOCK_VALUES = 2**22  # kernel values computed at a time: 32 MB
ADVICE = "take a kernel that LIBSVM computes itself (Linear, Polynomial, Gaussian) or fewer rows"
EPS = 4 * np.finfo(float).eps  # two sums of m terms differ by at most EPS m times the sum of their sizes


@dataclass(frozen=True)
class NativeKernel:
    """A kernel that LIBSVM computes: <x, y>, (gamma <x, y> + coef0)^degree or exp(-gamma ||x - y||^2)."""

    type: int
    degree: int = 1
    gamma: float = 1.0
    coef0: float = 0.0

    def training_rows(self, X: Any) -> NodeRows:
        """Return the rows of X as they are."""
        return node_rows(X, sparse_below=MERGED_BELOW)

    def hold(self, vectors: Any) -> Any:
        """Return support vectors in the fastest form for `values`: float64, dense if not too large."""
        vectors = vectors.astype(np.float64)
        dense = issparse(vectors) and vectors.shape[0] * vectors.shape[1] * 8 <= DENSE_BYTES
        return vectors.toarray() if dense else vectors

    def values(self, X: Any, vectors: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return K (n, m), and a bound e (n,): |sum_j a_j K_ij - LIBSVM's sum| <= e_i sum_j |a_j|."""
        X = X.astype(np.float64)
        if issparse(X) and not issparse(vectors):
            X = X.toarray()
        if self.type == RBF and not issparse(vectors):
            centre = centre_of(vectors)  # far from 0 the norms would cancel
            X, vectors = X - centre, vectors - centre
        x2, y2 = row_norms(X, squared=True), row_norms(vectors, squared=True)
        m, d = vectors.shape
        K = safe_sparse_dot(X, vectors.T, dense_output=True)
        y2_max = y2.max(initial=0.0)
        if self.type == RBF:
            K *= -2
            K += x2[:, None]
            K += y2
            np.maximum(K, 0, out=K)
            K *= -self.gamma
            return np.exp(K, out=K), EPS * (m + self.gamma * (d + 4) * 2 * (x2 + y2_max))
        if self.type == LINEAR:
            return K, EPS * (m + d) * np.sqrt(x2 * y2_max)
        K *= self.gamma
        K += self.coef0
        size = self.gamma * np.sqrt(x2 * y2_max) + abs(self.coef0)
        return power(K, self.degree), EPS * (m + self.degree * (d + 4)) * size**self.degree

    def asking_rows(self, X: Any, vectors: Any) -> tuple[NodeRows, NodeRows]:
        """Return the nodes of both."""
        return node_rows(X), node_rows(vectors)


@dataclass(frozen=True)
class GivenKernel:
    """Any kernel of kfeat, passed to LIBSVM as a matrix of its values.

    In training they are divided by `scale`, which is above 1 if they are beyond LIBSVM's float32.
    """

    kernel: Kernel
    scale: float = 1.0
    type: int = PRECOMPUTED
    degree: int = 1
    gamma: float = 1.0
    coef0: float = 0.0

    def training_rows(self, X: Any) -> NodeRows:
        """Return rows i, K(x_i, x_1), ..., K(x_i, x_n) in 8 bytes per value; raises SolverError if too large.

        LIBSVM reads only the values of precomputed nodes {index, value}, 8 of every 16 bytes: the values of a
        row are stored in the gaps of another row. The row's number comes before its kernel values.
        """
        n = X.shape[0]
        pairs = (n + 1) // 2
        check_memory(f"the Gram matrix of {n:,} rows", pairs * (n + 1) * 16, ADVICE)
        gram = np.empty((pairs, n + 1, 2))
        for rows, K in self._blocks(X):
            first = rows.start // 2
            gram[first : first + len(K[::2]), 1:, 0] = K[::2]
            gram[first : first + len(K[1::2]), 1:, 1] = K[1::2]
        numbers = np.arange(n)
        gram[numbers // 2, 0, numbers % 2] = numbers + 1
        pointers = gram.ctypes.data + (numbers // 2) * gram.strides[0] + 8 * (numbers % 2) - 8
        return NodeRows(gram, pointers.astype(np.uintp))

    def gram(self, X: Any) -> NDArray[np.float64]:
        """Return the Gram matrix (n, n) in double precision; raises SolverError if memory is too small."""
        n = X.shape[0]
        check_memory(f"the Gram matrix of {n:,} rows", 8 * n * n, ADVICE)
        gram = np.empty((n, n))
        for rows, K in self._blocks(X):
            gram[rows] = K
        return gram

    def hold(self, vectors: Any) -> Any:
        """Return the vectors unchanged."""
        return vectors

    def values(self, X: Any, vectors: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the same for the kernel's values; only LIBSVM's sum of them can round differently."""
        K = self._values(X, vectors).astype(np.float64)
        return K, EPS * len(K.T) * np.abs(K).max(axis=1, initial=0.0)

    def asking_rows(self, X: Any, vectors: Any) -> tuple[NodeRows, NodeRows]:
        """Return kernel values against the vectors, and the vectors' numbers."""
        K = self._values(X, vectors)
        rows, numbers = np.zeros((len(K), len(K.T) + 1), NODE), np.zeros((len(K.T), 1), NODE)
        rows["value"][:, 1:] = K
        numbers["value"][:, 0] = np.arange(1, len(K.T) + 1)
        return NodeRows(rows, row_pointers(rows)), NodeRows(numbers, row_pointers(numbers))

    def _blocks(self, X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield blocks of rows, each from an even row on, and their scaled kernel values with all rows."""
        for rows in gen_batches(X.shape[0], max(2, BLOCK_VALUES // X.shape[0] // 2 * 2)):
            K = self._values(X[rows], X)
            if self.scale != 1:
                K /= self.scale
            yield rows, K

    def _values(self, X: Any, vectors: Any) -> NDArray[Any]:
        """Return the kernel's values in the precision of the rows, or in float64 if that overflows."""
        if self.scale == 1:
            try:
                return self.kernel(X, vectors)
            except DataError:  # raised again below if double precision does not help
                pass
        return self.kernel(X.astype(np.float64), vectors.astype(np.float64))


LibsvmKernel = NativeKernel | GivenKernel


def libsvm_kernel(kernel: Kernel, scale: float) -> LibsvmKernel:
    """Return LIBSVM's own kernel if it has this one and no scaling is needed, else a GivenKernel."""
    if scale != 1:
        return GivenKernel(kernel, scale)
    if isinstance(kernel, Linear):
        return NativeKernel(LINEAR)
    if isinstance(kernel, Polynomial):
        return NativeKernel(POLYNOMIAL, kernel.degree, kernel.gamma, kernel.coef0)
    if isinstance(kernel, Gaussian):
        return NativeKernel(RBF, gamma=float(kernel.gamma))
    return GivenKernel(kernel)


def kernel_numbers(kernel: LibsvmKernel) -> dict[str, Any]:
    """Return the parameters of a kernel by the names that both LIBSVM and scikit-learn use."""
    return {name: getattr(kernel, name) for name in ("degree", "gamma", "coef0")}


def scikit_learn_kernel(kernel: LibsvmKernel) -> dict[str, Any]:
    """Return a kernel as the parameters of scikit-learn's SVC and SVR."""
    names = {LINEAR: "linear", POLYNOMIAL: "poly", RBF: "rbf", PRECOMPUTED: "precomputed"}
    return {"kernel": names[kernel.type], **kernel_numbers(kernel)}


@dataclass
class SupportVectors:
    """A model in LIBSVM's layout, with classes in LIBSVM's order; `order` has their sorted positions.

    `rows` (m,) are the support vectors' row numbers in the training set, grouped by class, and `counts`
    (classes,) their numbers. `coefficients` (classes - 1, m) and `rho` (pairs,) are LIBSVM's sv_coef and rho.
    """

    order: NDArray[np.intp]
    counts: NDArray[np.intp]
    rows: NDArray[np.intp]
    coefficients: NDArray[np.float64]
    rho: NDArray[np.float64]
    vectors: Any = field(default=None, repr=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the arrays of a file; raises SolverError where LIBSVM would read outside of them."""
        vars(self).update(state)
        m, k = len(self.rows), len(self.order)
        matches = (
            k != 1
            and sorted(self.order.tolist()) == list(range(k))
            and self.counts.shape == (max(k, 1),)
            and (self.counts >= 0).all()
            and self.counts.sum() == m == self.vectors.shape[0]
            and self.coefficients.shape == (max(k - 1, 1), m)
            and self.rho.shape == (max(k * (k - 1) // 2, 1),)
            and self.coefficients.dtype == self.rho.dtype == np.float64
        )
        if not matches:
            raise SolverError("its SupportVectors are damaged: the arrays do not match each other")

    def labels(self, X: Any, kernel: LibsvmKernel) -> NDArray[np.intp]:
        """Return the position of svm_predict's class among the sorted classes, for each row."""
        labels = np.empty(X.shape[0], dtype=np.intp)
        unsure = np.empty(X.shape[0], dtype=bool)
        for rows, values, doubt in self._blocks(X, kernel):
            labels[rows] = self.order[self._votes(values).argmax(axis=1)]
            unsure[rows] = (np.abs(values) <= doubt).any(axis=1)
        if unsure.any():
            labels[unsure] = self._ask_libsvm(X[np.flatnonzero(unsure)], kernel)
        return labels

    def decision_values(self, X: Any, kernel: LibsvmKernel) -> NDArray[np.float64]:
        """Return sum_i a_i K(x_i, x) - rho for each row and pair of classes, shape (n, pairs)."""
        return np.concatenate([values for _, values, _ in self._blocks(X, kernel)])

    def dual_objective(self, kernel: LibsvmKernel) -> float:
        """Return sum_i |a_i| - a' K a / 2, summed over the pairs of classes, in double precision."""
        total = 0.0
        for rows, a in self.subproblems():
            a, rows = a[a != 0], rows[a != 0]
            for some in gen_batches(len(rows), max(1, BLOCK_VALUES // max(1, len(rows)))):
                K, _ = kernel.values(self.vectors[rows[some]], self.vectors[rows])
                total -= float(a[some] @ (K @ a)) / 2
            total += float(np.abs(a).sum())
        return total

    def subproblems(self) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Return for each pair of classes the positions of its support vectors and their coefficients."""
        if len(self.order) < 2:
            return [(np.arange(len(self.rows)), self.coefficients[0])]
        own = np.split(np.arange(len(self.rows)), np.cumsum(self.counts)[:-1])
        a, pairs = self.coefficients, combinations(range(len(own)), 2)
        return [
            (np.concatenate([own[i], own[j]]), np.concatenate([a[j - 1, own[i]], a[i, own[j]]]))
            for i, j in pairs
        ]

    def _votes(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the votes (n, classes); a positive value of a pair is a vote for its first class."""
        votes = np.zeros((len(values), len(self.order)), dtype=np.intp)
        for pair, (i, j) in enumerate(combinations(range(len(self.order)), 2)):
            first = values[:, pair] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return votes

    def _blocks(
        self, X: Any, kernel: LibsvmKernel
    ) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield blocks of rows, their decision values, and bounds on the rounding errors of these."""
        spread = np.array([np.abs(a).sum() for _, a in self.subproblems()])
        step = max(1, BLOCK_VALUES // max(1, len(self.rows)))
        for rows in gen_batches(X.shape[0], step):
            K, error = kernel.values(X[rows], self.vectors)
            doubt = error[:, None] * spread + 4 * np.finfo(float).eps * np.abs(self.rho)
            yield rows, self._combine(K) - self.rho, doubt

    def _combine(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over support vectors for each pair, from kernel values (n, m): shape (n, pairs)."""
        if len(self.order) < 2:
            return K @ self.coefficients.T
        blocks = (np.split(M, np.cumsum(self.counts)[:-1], axis=1) for M in (K, self.coefficients))
        parts = [k @ a.T for k, a in zip(*blocks, strict=True)]
        pairs = combinations(range(len(parts)), 2)
        return np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)

    def _ask_libsvm(self, X: Any, kernel: LibsvmKernel) -> NDArray[np.intp]:
        """Return svm_predict's own labels, as sorted positions, for the few rows of X."""
        rows, vectors = kernel.asking_rows(X, self.vectors)
        coefficients = np.ascontiguousarray(self.coefficients)
        starts = row_pointers(coefficients)
        labels, counts = self.order.astype(np.intc), self.counts.astype(np.intc)
        model = structure(
            library.svm_model,
            param=structure(library.svm_parameter, kernel_type=kernel.type, **kernel_numbers(kernel)),
            nr_class=len(labels),
            l=len(self.rows),
            SV=c_array(vectors.pointers, ctypes.POINTER(library.svm_node)),
            sv_coef=c_array(starts, ctypes.POINTER(ctypes.c_double)),
            rho=c_array(self.rho, ctypes.c_double),
            label=c_array(labels, ctypes.c_int),
            nSV=c_array(counts, ctypes.c_int),
        )
        node = ctypes.POINTER(library.svm_node)
        with threadpool_limits(openmp_threads(), user_api="openmp"):
            predicted = [
                library.libsvm.svm_predict(model, ctypes.cast(int(row), node)) for row in rows.pointers
            ]
        return np.array(predicted).astype(np.intp)
