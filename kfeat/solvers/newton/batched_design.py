"""The design matrix over rows in batches: every product of Newton's method as one pass over them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfeat.batches import Batches
from kfeat.solvers.newton.design import Design, DesignMatrix, Vector, gram_cost

# Steps of conjugate gradients that having the batches once costs: reading 100,000 x 500 float32 took 0.03 s
# (page cache) or 0.2 s (disk), mapping them 0.2 s (Fourier) or 0.5 s (Tensor Sketch), such a step 0.04 s.
A_PASS = 5.0


@dataclass(frozen=True)
class BatchedDesign:
    """Rows [x_i, bias] that come in batches; products with a batch are those of its `DesignMatrix`."""

    batches: Batches
    bias: float = -1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and features with the bias."""
        return self.batches.shape[0], self.batches.shape[1] + (self.bias >= 0)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of products with rows."""
        return self.batches.dtype

    def take(self, rows: NDArray[np.intp]) -> "BatchedDesign":
        """Return some rising rows, without a copy."""
        return BatchedDesign(self.batches.take(rows), self.bias)

    def matvec(self, W: Vector) -> Vector:
        """Return the scores <[x_i, bias], w> for w (columns,) or W (columns, k)."""
        bias, values, start = self.bias, np.empty((self.shape[0], *W.shape[1:])), 0
        for block in self.batches.each(lambda X: DesignMatrix(X, bias).matvec(W)):
            values[start : start + len(block)] = block
            start += len(block)
        return values

    def rmatvec(self, R: Vector) -> Vector:
        """Return sum_i [x_i, bias] r_i for r (n,) or R (n, k)."""
        bias = self.bias
        return self._sum(lambda X, r: DesignMatrix(X, bias).rmatvec(r), R.shape[1:], R)

    def hessian_product(self, h: Vector, p: Vector) -> Vector:
        """Return sum_i h_i [x_i, bias] <[x_i, bias], p>, in one pass."""
        bias = self.bias
        return self._sum(lambda X, g: DesignMatrix(X, bias).hessian_product(g, p), (), h)

    @cached_property
    def squares(self) -> Vector:
        """Return the sum of each column's squares."""
        bias = self.bias
        return self._sum(lambda X: DesignMatrix(X, bias).squares, ())

    def gram(self, weights: Vector | None = None) -> Vector:
        """Return sum_i h_i [x_i, bias] [x_i, bias]' over the rows whose weight h_i is not 0."""
        bias, columns = self.bias, (self.shape[1],)
        if weights is None:
            return self._sum(lambda X: DesignMatrix(X, bias).gram(), columns)
        active = np.flatnonzero(weights)
        return self.take(active)._sum(lambda X, h: DesignMatrix(X, bias).gram(h), columns, weights[active])

    def gram_cost(self, n: int) -> float:
        """Return what `gram` over n rows costs, in steps of conjugate gradients: each is a pass too."""
        return (A_PASS + gram_cost(n, self.shape[1])) / (A_PASS + 1)

    def _sum(self, function: Any, rest: tuple[int, ...], *aligned: Vector) -> Vector:
        """Return the sum of a function over the batches, of shape (columns, *rest)."""
        if not self.shape[0]:
            return np.zeros((self.shape[1], *rest))
        return np.asarray(self.batches.total(function, *aligned))


def design(X: Any, bias: float) -> Design:
    """Return the design of an array, a CSR matrix or batches."""
    return BatchedDesign(X, bias) if isinstance(X, Batches) else DesignMatrix(X, bias)
