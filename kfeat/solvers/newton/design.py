"""The design matrix: features with a constant column if there is a bias, and the products Newton needs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

BLOCK = 4096  # rows in a product whose results are then added in double precision
STORED = 1 << 20  # stored values of a sparse matrix that are squared at a time
SPEED = 55  # how much more work per second a matrix product does than a matrix-vector product (measured)

Vector = NDArray[np.float64]


class Design(Protocol):
    """What Newton's method asks of the rows [x_i, bias]: products, sums over rows, and what these cost."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and features with the bias."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of products with rows."""

    def take(self, rows: NDArray[np.intp]) -> "Design":
        """Return some rising rows."""

    def matvec(self, W: Vector) -> Vector:
        """Return the scores <[x_i, bias], w> for w (columns,) or W (columns, k)."""

    def rmatvec(self, R: Vector) -> Vector:
        """Return sum_i [x_i, bias] r_i for r (n,) or R (n, k)."""

    def hessian_product(self, h: Vector, p: Vector) -> Vector:
        """Return sum_i h_i [x_i, bias] <[x_i, bias], p> for p (columns,)."""

    @property
    def squares(self) -> Vector:
        """Return the sum of each column's squares."""

    def gram(self, weights: Vector | None = None) -> Vector:
        """Return sum_i h_i [x_i, bias] [x_i, bias]' over the rows whose weight h_i is not 0."""

    def gram_cost(self, n: int) -> float:
        """Return what `gram` over n rows and its factor cost, in steps of conjugate gradients."""


@dataclass(frozen=True)
class DesignMatrix:
    """Rows [x_i, bias] in X's own precision (n, d); sums over rows are collected in double precision."""

    X: Any
    bias: float = -1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and features with the bias."""
        return self.X.shape[0], self.X.shape[1] + (self.bias >= 0)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of products with rows."""
        return np.dtype(self.X.dtype)

    def take(self, rows: NDArray[np.intp]) -> "DesignMatrix":
        """Return a copy of some rows."""
        return DesignMatrix(self.X[rows], self.bias)

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
        """Return the diagonal of `gram()`: the sum of each column's squares."""
        n, d = self.X.shape
        total = np.zeros(self.shape[1])
        total[d:] = n * float(self.bias) ** 2
        if issparse(self.X):
            for start in range(0, self.X.nnz, STORED):
                some = slice(start, start + STORED)
                squares = self.X.data[some].astype(np.float64) ** 2
                total[:d] += np.bincount(self.X.indices[some], squares, minlength=d)
        else:  # converts few values at a time, and needs no memory for them
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
        """Return what `gram` over n rows and its factor cost, in steps of conjugate gradients."""
        return gram_cost(n, self.shape[1])


def gram_cost(n: int, d: int) -> float:
    """Return what a Hessian of d columns over n rows and its factor cost, in products with one direction."""
    return (n * d**2 + d**3 / 2) / (SPEED * (n * d + d**2))


def _scaled(X: Any, factors: Vector) -> Any:
    """Return diag(factors) X in X's precision."""
    factors = factors.astype(X.dtype)
    if not issparse(X):
        return X * factors[:, None]
    return type(X)((X.data * np.repeat(factors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
