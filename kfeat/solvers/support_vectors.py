"""A trained LIBSVM model in NumPy arrays: matrix products decide, LIBSVM where rounding could."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from libsvm import svm as library
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from kfeat.solvers.libsvm_kernels import LibsvmKernel, kernel_fields
from kfeat.solvers.native import c_array, structure, thread_cap

BLOCK_VALUES = 2**22  # kernel values in a block: 32 MB


@dataclass
class SupportVectors:
    """A model in LIBSVM's own layout; classes stand in its order, `order` gives their sorted positions.

    `rows` (m,) are the support vectors' rows in the training set, grouped by class, `counts` (classes,) how
    many each class has, `coefficients` (classes - 1, m) and `rho` (pairs,) as in LIBSVM's sv_coef and rho.
    """

    order: NDArray[np.intp]
    counts: NDArray[np.intp]
    rows: NDArray[np.intp]
    coefficients: NDArray[np.float64]
    rho: NDArray[np.float64]
    vectors: Any = field(default=None, repr=False)

    def take_rows(self, X: Any, kernel: LibsvmKernel) -> None:
        """Copy the support vectors out of the training set."""
        self.vectors = kernel.hold(X[self.rows])

    def labels(self, X: Any, kernel: LibsvmKernel) -> NDArray[np.intp]:
        """Return the sorted position of svm_predict's class for each row."""
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
        return [
            (
                np.concatenate([own[i], own[j]]),
                np.concatenate([self.coefficients[j - 1, own[i]], self.coefficients[i, own[j]]]),
            )
            for i, j in combinations(range(len(own)), 2)
        ]

    def _votes(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return each class's votes, the first of a pair getting it for a positive value: (n, classes)."""
        votes = np.zeros((len(values), len(self.order)), dtype=np.intp)
        for pair, (i, j) in enumerate(combinations(range(len(self.order)), 2)):
            first = values[:, pair] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return votes

    def _blocks(
        self, X: Any, kernel: LibsvmKernel
    ) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield rows, their decision values and bounds on the rounding error of these."""
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
        cuts = np.cumsum(self.counts)[:-1]
        parts = [
            k @ a.T
            for k, a in zip(np.split(K, cuts, axis=1), np.split(self.coefficients, cuts, axis=1), strict=True)
        ]
        pairs = combinations(range(len(parts)), 2)
        return np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)

    def _ask_libsvm(self, X: Any, kernel: LibsvmKernel) -> NDArray[np.intp]:
        """Return svm_predict's own labels, as sorted positions, for the few rows of X."""
        rows, vectors = kernel.asking_rows(X, self.vectors)
        coefficients = np.ascontiguousarray(self.coefficients)
        starts = (coefficients.ctypes.data + coefficients.strides[0] * np.arange(len(coefficients))).astype(
            np.uintp
        )
        labels, counts = self.order.astype(np.intc), self.counts.astype(np.intc)
        model = structure(
            library.svm_model,
            param=structure(library.svm_parameter, svm_type=0, **kernel_fields(kernel)),
            nr_class=len(labels),
            l=len(self.rows),
            SV=c_array(vectors.pointers, ctypes.POINTER(library.svm_node)),
            sv_coef=c_array(starts, ctypes.POINTER(ctypes.c_double)),
            rho=c_array(self.rho, ctypes.c_double),
            label=c_array(labels, ctypes.c_int),
            nSV=c_array(counts, ctypes.c_int),
        )
        node = ctypes.POINTER(library.svm_node)
        with thread_cap():
            found = [library.libsvm.svm_predict(model, ctypes.cast(int(row), node)) for row in rows.pointers]
        return np.array(found).astype(np.intp)


def copy_model(model: Any, targets: NDArray[np.float64]) -> SupportVectors:
    """Copy a C model; `targets` are the sorted distinct labels that LIBSVM was given (classification)."""
    m, classes = model.l, model.nr_class
    regression = not model.label
    pairs = 1 if regression else classes * (classes - 1) // 2
    labels = [] if regression else model.label[:classes]
    return SupportVectors(
        order=np.searchsorted(targets, labels).astype(np.intp),
        counts=np.array([m] if regression else model.nSV[:classes], dtype=np.intp),
        rows=np.array(model.sv_indices[:m], dtype=np.intp) - 1,
        coefficients=np.array(
            [model.sv_coef[k][:m] for k in range(1 if regression else classes - 1)], dtype=np.float64
        ),
        rho=np.array(model.rho[:pairs], dtype=np.float64),
    )
