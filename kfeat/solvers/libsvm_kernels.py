"""Kernels as LIBSVM takes them: its own, which stand for kfeat's, or the values of any other.

Both classes have LIBSVM's -t, -d, -g and -r, and the same methods: `training_rows` for svm_train, `hold` and
`values` for predictions by matrix products, `asking_rows` for svm_predict.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from kfeat.errors import DataError
from kfeat.kernels import Gaussian, Kernel, Linear, Polynomial
from kfeat.kernels.bandwidths import centre_of
from kfeat.kernels.dot_product import power
from kfeat.memory import check_memory
from kfeat.solvers.native import MERGED_BELOW, NODE, NodeRows, node_rows

LINEAR, POLYNOMIAL, RBF, PRECOMPUTED = 0, 1, 2, 4
DENSE_BYTES = 2**30  # vectors up to this size are held densely, for BLAS
GRAM_VALUES = 2**22  # kernel values computed at once for a Gram matrix
EPS = 4 * np.finfo(float).eps  # two sums of m terms differ by at most this times m times the sum of sizes


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
        """Return support vectors as `values` is fastest: in double precision, densely if not too large."""
        vectors = vectors.astype(np.float64)
        small = vectors.shape[0] * vectors.shape[1] * 8 <= DENSE_BYTES
        return vectors.toarray() if issparse(vectors) and small else vectors

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
        """Return both as they are."""
        return node_rows(X), node_rows(vectors)


@dataclass(frozen=True)
class GivenKernel:
    """Any kernel of kfeat, handed to LIBSVM as a matrix of its values.

    In training they are divided by `scale`, which is above 1 where LIBSVM's float32 does not hold them.
    """

    kernel: Kernel
    scale: float = 1.0
    type: int = PRECOMPUTED
    degree: int = 1
    gamma: float = 1.0
    coef0: float = 0.0

    def training_rows(self, X: Any) -> NodeRows:
        """Return rows i, K(x_i, x_1) ... K(x_i, x_n), in 8 bytes per value, or raise SolverError.

        LIBSVM reads only the values of precomputed nodes {index, value}, 8 bytes in every 16: the values of
        two rows lie in each other's gaps. The row's number stands before its kernel values.
        """
        n = X.shape[0]
        pairs = (n + 1) // 2
        self._check_memory(n, pairs * (n + 1) * 16)
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
        """Return the Gram matrix (n, n) in double precision, or raise SolverError."""
        n = X.shape[0]
        self._check_memory(n, 8 * n * n)
        gram = np.empty((n, n))
        for rows, K in self._blocks(X):
            gram[rows] = K
        return gram

    def hold(self, vectors: Any) -> Any:
        """Return the vectors as they are."""
        return vectors

    def values(self, X: Any, vectors: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the kernel's values; only LIBSVM's sum of the same values can round otherwise."""
        K = self._values(X, vectors).astype(np.float64)
        return K, EPS * len(K.T) * np.abs(K).max(axis=1, initial=0.0)

    def asking_rows(self, X: Any, vectors: Any) -> tuple[NodeRows, NodeRows]:
        """Return kernel values against the vectors, and the vectors' numbers."""
        K = self._values(X, vectors)
        rows, numbers = np.zeros((len(K), len(K.T) + 1), NODE), np.zeros((len(K.T), 1), NODE)
        rows["value"][:, 1:] = K
        numbers["value"][:, 0] = np.arange(1, len(K.T) + 1)
        return _as_node_rows(rows), _as_node_rows(numbers)

    def _check_memory(self, n: int, size: int) -> None:
        advice = "take a kernel that LIBSVM computes itself (Linear, Polynomial, Gaussian) or fewer rows"
        check_memory(f"the Gram matrix of {n:,} rows", size, advice)

    def _blocks(self, X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield rows, each block starting at an even one, and their divided kernel values against all."""
        for rows in gen_batches(X.shape[0], max(2, GRAM_VALUES // X.shape[0] // 2 * 2)):
            K = self._values(X[rows], X)
            if self.scale != 1:
                K /= self.scale
            yield rows, K

    def _values(self, X: Any, vectors: Any) -> NDArray[Any]:
        """Return the kernel's values in the precision of the rows, or in double where that overflows."""
        if self.scale == 1:
            try:
                return self.kernel(X, vectors)
            except DataError:  # raised again below where double precision does not help
                pass
        return self.kernel(X.astype(np.float64), vectors.astype(np.float64))


LibsvmKernel = NativeKernel | GivenKernel


def libsvm_kernel(kernel: Kernel, scale: float) -> LibsvmKernel:
    """Return LIBSVM's own kernel where it has this one and nothing is to be scaled, otherwise the values."""
    if scale != 1:
        return GivenKernel(kernel, scale)
    if isinstance(kernel, Linear):
        return NativeKernel(LINEAR)
    if isinstance(kernel, Polynomial):
        return NativeKernel(POLYNOMIAL, kernel.degree, kernel.gamma, kernel.coef0)
    if isinstance(kernel, Gaussian):
        return NativeKernel(RBF, gamma=float(kernel.gamma))
    return GivenKernel(kernel)


def kernel_fields(kernel: LibsvmKernel) -> dict[str, Any]:
    """Return the fields of LIBSVM's parameters that describe the kernel."""
    return {"kernel_type": kernel.type} | {
        name: getattr(kernel, name) for name in ("degree", "gamma", "coef0")
    }


def _as_node_rows(nodes: NDArray[Any]) -> NodeRows:
    pointers = nodes.ctypes.data + nodes.strides[0] * np.arange(len(nodes))
    return NodeRows(nodes, pointers.astype(np.uintp))
