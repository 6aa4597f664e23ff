"""Compositional kernels: a dot-product kernel of another kernel (Kar & Karnick 2012, section 5)."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import DataError, ParameterError
from kfeat.kernels.base import Kernel
from kfeat.kernels.dot_product import DotProductKernel, Exponential
from kfeat.kernels.operands import as_operand, check_finite
from kfeat.kernels.shift_invariant import Gaussian


class Compositional(Kernel):
    """The kernel f(K(x, y)), with f the series of a dot-product kernel and K any kernel.

    It is positive definite, since powers and sums with non-negative weights of positive definite kernels are.

    Parameters
    ----------
    outer : DotProductKernel, optional
        The kernel f(<x, y>), whose bandwidth, where it has one, is a number; None is exp(<x, y>).
    inner : Kernel, optional
        The kernel K; None is exp(-||x - y||^2).

    Examples
    --------
    >>> from kfeat.kernels import Compositional, Laplacian, Polynomial
    >>> kernel = Compositional(Polynomial(degree=2, coef0=1.0), Laplacian(gamma=0.5))
    >>> kernel.formula
    '(1 + [exp(-gamma ||x - y||_1), gamma = 0.5])^2'
    >>> kernel([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[4.   , 1.871]])
    """

    def __init__(self, outer: DotProductKernel | None = None, inner: Kernel | None = None) -> None:
        self.outer = outer
        self.inner = inner

    @property
    def formula(self) -> str:
        """The outer kernel's formula, with the inner one's in the place of the inner product."""
        outer, inner = self.parts()
        return outer.formula.replace("<x, y>", f"[{inner.formula}]")

    def parts(self) -> tuple[DotProductKernel, Kernel]:
        """Return the outer and the inner kernel."""
        outer = Exponential() if self.outer is None else self.outer
        return outer, Gaussian() if self.inner is None else self.inner

    def check(self) -> None:
        """Raise ParameterError where a parameter is not valid, of this kernel or of one of its parts."""
        super().check()
        outer, inner = self.parts()
        if any(isinstance(value, str) for value in outer.get_params().values()):
            raise ParameterError(
                f"Compositional: outer: expected a kernel whose bandwidth is a number, got {outer!r}: the "
                "heuristics look at rows, and the outer kernel sees values of the inner one"
            )
        outer.check()
        inner.check()

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return the kernel with the inner kernel's bandwidth as a number."""
        self.check()
        outer, inner = self.parts()
        return type(self)(outer, inner.resolve(X, random_state))

    def diagonal(self, X: Any) -> NDArray[Any]:
        """Return f(K(X[i], X[i])), shape (n,)."""
        self.check()
        A = as_operand(X)
        with np.errstate(all="ignore"):
            values = self._of(self.parts()[1].diagonal(A)).astype(A.dtype, copy=False)
        check_finite(values, f"values of {self!r}")
        return values

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        return self._of(self.parts()[1]._tile(X, Y))

    def _of(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return f(t), which may overwrite t."""
        outer, inner = self.parts()
        if t.size and not (largest := np.abs(t).max()) < outer.radius:
            raise DataError(
                f"Compositional: the series of {outer!r} needs values below {outer.radius:g}, got "
                f"{largest:.6g} of {inner!r}: take another inner kernel, or data on which it is smaller"
            )
        return outer._f(t)
