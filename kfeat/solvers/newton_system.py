"""Newton's linear algebra: products with the rows [x_i, bias], and Cholesky factors of any size.

OpenBLAS can crash in a threaded Cholesky factorisation of a large matrix in double precision. With two
threads and AVX-512 it writes beyond its buffer at 16,384 rows but not at 14,500 (0.3.30 and 0.3.31; OpenBLAS
issue 2562). Large matrices are therefore factored in blocks here.

Conjugate gradients solve it, preconditioned with a Cholesky factor or a diagonal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, get_blas_funcs, solve_triangular
from scipy.sparse import issparse

from kfeat.batches import Batches
from kfeat.errors import SolverError

LARGE = 8192  # rows
# Columns of a CSR matrix, above which no Hessian is formed. With 64 values a row that is as quick at about
# 1,000 columns, and four times as quick at 2,200.
WIDE = 1024


def cholesky(A: NDArray[Any], block: int = LARGE) -> tuple[NDArray[Any], bool]:
    """Return the factor of a positive definite A (n, n) in C order, which it overwrites, for `cho_solve`.

    A = L L' with blocks L_kk = chol(A_kk) and L_jk = A_jk L_kk'^-1; the remaining blocks become
    A_ij - L_ik L_jk' (Golub & Van Loan, Matrix Computations, section 4.2.9). Raises LinAlgError where A is
    not positive definite.
    """
    n = len(A)
    if n <= block:  # A.T: LAPACK's order, so that nothing is copied
        return cho_factor(A.T, overwrite_a=True, check_finite=False)
    for start in range(0, n, block):
        stop = start + block
        L = A[start:stop, start:stop]
        L[:] = cho_factor(L, lower=True, check_finite=False)[0]
        below = A[stop:, start:stop]
        if len(below):
            below[:] = solve_triangular(L, below.T, lower=True, check_finite=False).T
        for i in range(stop, n, block):
            rows = slice(i, i + block)
            A[rows, stop : i + block] -= A[rows, start:stop] @ A[stop : i + block, start:stop].T
    return A.T, False


BLOCK = 4096  # rows of a product; the results of blocks are added in double precision
STORED = 1 << 20  # stored values of a sparse matrix that are squared at a time
SPEED = 55  # how many times more work per second a matrix product does than a matvec (measured)
# The cost of one pass over the batches, in steps of conjugate gradients: reading 100,000 x 500 float32 took
# 0.03 s (page cache) or 0.2 s (disk), mapping them 0.2 s (Fourier) or 0.5 s (Tensor Sketch), a step 0.04 s.
A_PASS = 5.0
FORCING = 0.2  # conjugate gradients reduce the residual to this share of the gradient
MOST_CG = 100

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class DesignMatrix:
    """Rows [x_i, bias] in X's own precision (n, d); sums over rows are added in double precision.

    It provides what Newton's method needs: products, sums over rows, and their costs.
    """

    X: Any
    bias: float = -1.0

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns, including the bias."""
        return self.X.shape[0], self.X.shape[1] + (self.bias >= 0)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of products with rows."""
        return np.dtype(self.X.dtype)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some rows in rising order; array rows are copied, batches are not."""
        return type(self)(self.X[rows], self.bias)

    def matvec(self, W: Vector) -> Vector:
        """Return the scores <[x_i, bias], w> for w (columns,) or W (columns, k)."""
        d = self.X.shape[1]
        values = (self.X @ W[:d].astype(self.X.dtype)).astype(np.float64)
        return values + self.bias * W[d] if self.bias >= 0 else values

    def rmatvec(self, R: Vector) -> Vector:
        """Return sum_i [x_i, bias] r_i for r (n,) or R (n, k)."""
        n, d = self.X.shape
        total = np.zeros((self.shape[1], *R.shape[1:]))
        for start in range(0, n, BLOCK):
            rows = slice(start, start + BLOCK)
            total[:d] += self.X[rows].T @ R[rows].astype(self.X.dtype)
        if self.bias >= 0:
            total[d] = self.bias * R.sum(axis=0)
        return total

    def hessian_product(self, h: Vector, p: Vector) -> Vector:
        """Return sum_i h_i [x_i, bias] <[x_i, bias], p> for p (columns,)."""
        return self.rmatvec(h * self.matvec(p))

    @cached_property
    def squares(self) -> Vector:
        """The diagonal of `gram()`: the sum of each column's squares."""
        n, d = self.X.shape
        total = np.zeros(self.shape[1])
        total[d:] = n * float(self.bias) ** 2
        if issparse(self.X):
            for start in range(0, self.X.nnz, STORED):
                some = slice(start, start + STORED)
                squares = self.X.data[some].astype(np.float64) ** 2
                total[:d] += np.bincount(self.X.indices[some], squares, minlength=d)
        else:  # needs no copy in double precision
            total[:d] += np.einsum("ij,ij->j", self.X, self.X, dtype=np.float64)
        return total

    def gram(self, weights: Vector | None = None) -> Vector:
        """Return sum_i h_i [x_i, bias] [x_i, bias]' over the rows whose weight h_i is not 0."""
        n, d = self.X.shape
        chosen = np.arange(n) if weights is None else np.flatnonzero(weights)
        total = np.zeros((self.shape[1], self.shape[1]))
        for start in range(0, len(chosen), BLOCK):
            rows = chosen[start : start + BLOCK]
            block = self.X[rows[0] : rows[-1] + 1] if len(rows) == rows[-1] - rows[0] + 1 else self.X[rows]
            root = np.ones(len(rows)) if weights is None else np.sqrt(weights[rows])
            if weights is not None:
                block = _scaled(block, root)
            product = block.T @ block
            total[:d, :d] += product.toarray() if issparse(product) else product
            if self.bias >= 0:
                edge = self.bias * np.asarray(block.T @ root.astype(self.X.dtype))
                total[d, :d] += edge
                total[:d, d] += edge
                total[d, d] += self.bias**2 * (root**2).sum()
        return total

    def gram_cost(self, n: int) -> float:
        """Return the cost of `gram` over n rows and its factor, in steps of conjugate gradients."""
        d = self.shape[1]
        return (n * d**2 + d**3 / 2) / (SPEED * (n * d + d**2))


@dataclass(frozen=True)
class _BatchedDesign(DesignMatrix):
    """Rows in batches X: every product of `DesignMatrix` is one pass, and `take` does not copy."""

    def take(self, rows: NDArray[np.intp]) -> Self:
        return type(self)(self.X.take(rows), self.bias)

    def matvec(self, W: Vector) -> Vector:
        bias = self.bias  # `self` in the lambda would send all batches to Dask's workers
        values, start = np.empty((self.shape[0], *W.shape[1:])), 0
        for block in self.X.each(lambda X: DesignMatrix(X, bias).matvec(W)):
            values[start : start + len(block)] = block
            start += len(block)
        return values

    def rmatvec(self, R: Vector) -> Vector:
        return self._sum(lambda rows, r: rows.rmatvec(r), R.shape[1:], R)

    def hessian_product(self, h: Vector, p: Vector) -> Vector:
        return self._sum(lambda rows, g: rows.hessian_product(g, p), (), h)

    @cached_property
    def squares(self) -> Vector:
        return self._sum(lambda rows: rows.squares, ())

    def gram(self, weights: Vector | None = None) -> Vector:
        columns = self.shape[1:]
        if weights is None:
            return self._sum(lambda rows: rows.gram(), columns)
        active = np.flatnonzero(weights)
        return self.take(active)._sum(lambda rows, h: rows.gram(h), columns, weights[active])

    def gram_cost(self, n: int) -> float:
        # Each step of conjugate gradients is also a pass.
        return (A_PASS + super().gram_cost(n)) / (A_PASS + 1)

    def _sum(self, function: Any, rest: tuple[int, ...], *aligned: Vector) -> Vector:
        """Return the sum of a function of each batch's `DesignMatrix`, of shape (columns, *rest)."""
        if not self.shape[0]:
            return np.zeros((self.shape[1], *rest))
        bias = self.bias  # as above
        return np.asarray(self.X.total(lambda X, *parts: function(DesignMatrix(X, bias), *parts), *aligned))


@dataclass(frozen=True)
class SparseDesign(DesignMatrix):
    """Rows of a CSR matrix of so many columns that no matrix of columns x columns is formed."""

    def rmatvec(self, R: Vector) -> Vector:
        """Return sum_i [x_i, bias] r_i for r (n,) or R (n, k), by one product in double precision."""
        total = np.zeros((self.shape[1], *R.shape[1:]))
        total[: self.X.shape[1]] = self.X.T @ R
        if self.bias >= 0:
            total[-1] = self.bias * R.sum(axis=0)
        return total

    def gram_cost(self, n: int) -> float:
        """Return infinity, so that every system is solved by conjugate gradients."""
        return np.inf


def is_wide(X: Any) -> bool:
    """Return whether X is a CSR matrix of more than WIDE columns."""
    return bool(issparse(X) and X.shape[1] > WIDE)


def design(X: Any, bias: float) -> DesignMatrix:
    """Return the design of an array, a CSR matrix or batches."""
    if is_wide(X):
        return SparseDesign(X.astype(np.float64, copy=False), bias)
    return (_BatchedDesign if isinstance(X, Batches) else DesignMatrix)(X, bias)


def conjugate_gradients(design: DesignMatrix, h: Vector, b: Vector, factor: Vector) -> tuple[Vector, int]:
    """Return d with (I + X'hX) d = b and the number of steps; `factor` is the preconditioner.

    The residual itself decides when to stop. Measured by an older factor, which overestimates the Hessian, it
    looks small too early: directions are then too short, and a nearly hard margin takes twice the steps.
    """
    d, r = np.zeros_like(b), b.copy()
    z = solve(factor, r)
    p, rz = z.copy(), float(r @ z)
    goal = FORCING**2 * (b @ b)
    steps = 0
    while r @ r > goal and steps < MOST_CG:
        steps += 1
        Hp = p + design.hessian_product(h, p)
        pHp = p @ Hp
        if not 0 < pHp < np.inf:
            break  # rounding errors exceed I: a step along p would be wrong, so d stays as it is
        length = rz / pHp
        d += length * p
        r -= length * Hp
        z = solve(factor, r)
        rz, before = float(r @ z), rz
        p = z + (rz / before) * p
    return d, steps


def hessian_factor(gram: Vector, scale: float, dtype: Any) -> Vector:
    """Return U with U'U = I + scale * gram in `dtype`; the diagonal is raised against rounding."""
    if not np.isfinite(gram).all() or scale * gram.max(initial=0.0) > np.finfo(dtype).max:
        raise SolverError(f"sums of squares of the features overflow {dtype}: scale the features down")
    jitter = 16 * float(np.finfo(dtype).eps)
    while True:
        H = (scale * gram).astype(dtype)
        diagonal = np.diag_indices(len(H))
        H[diagonal] += H[diagonal] * dtype.type(jitter) + 1
        try:
            # NumPy's and not SciPy's, because each brings its own OpenBLAS, and the idle threads of one slow
            # the other down (2 threads, 20,000 x 1,000: 11.4 s became 4.1 s, with `solve` and the new stop).
            return np.linalg.cholesky(H).T if len(H) <= LARGE else cholesky(H)[0]
        except LinAlgError:
            jitter *= 16


def solve(factor: Vector, b: Vector) -> Vector:
    """Solve U'U x = b with a Cholesky factor U in its own precision, or with a diagonal."""
    if factor.ndim == 1:
        return b / factor
    b = b.astype(factor.dtype)
    if b.ndim == 1:  # BLAS alone, on one thread, takes half of LAPACK's time
        trsv = get_blas_funcs("trsv", (factor,))
        return trsv(factor, trsv(factor, b, trans=1)).astype(np.float64)
    return cho_solve((factor, False), b, check_finite=False).astype(np.float64)


def _scaled(X: Any, factors: Vector) -> Any:
    """Return diag(factors) X in X's precision."""
    factors = factors.astype(X.dtype)
    if not issparse(X):
        return X * factors[:, None]
    return type(X)((X.data * np.repeat(factors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
