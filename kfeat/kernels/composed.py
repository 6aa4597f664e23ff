"""Kernels made of kernels: weighted sums, and compositions with dot-product kernels (Kar & Karnick 2012)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kfeat.errors import DataError, ParameterError
from kfeat.kernels.base import Kernel
from kfeat.kernels.dot_product import DotProductKernel, Exponential, Polynomial
from kfeat.kernels.shift_invariant import Gaussian


@dataclass(eq=False, repr=False)
class Sum(Kernel):
    """The weighted sum of kernels sum_i w_i k_i(x, y); each keeps its own parameters.

    Parameters
    ----------
    kernels : list of Kernel, optional
        The terms k_i, at least one; None is <x, y>^2 and exp(-||x - y||^2).
    weights : list of float, optional
        The weights w_i > 0, one per kernel; 1 by default.

    Examples
    --------
    >>> from kfeat.kernels import Linear, Polynomial, Sum
    >>> kernel = Sum([Linear(), Polynomial(degree=2)], weights=[1.0, 0.5])
    >>> kernel.formula
    '[<x, y>] + 0.5 [<x, y>^2]'
    >>> kernel([[1.0, 1.0]], [[1.0, 1.0]])
    array([[4.]])
    """

    kernels: list[Kernel] | None = None
    weights: list[float] | None = None

    @property
    def formula(self) -> str:
        """The kernel as tables and figures print it."""
        return " + ".join(("" if w == 1 else f"{w:g} ") + f"[{kernel.formula}]" for w, kernel in self.terms())

    def terms(self) -> list[tuple[float, Kernel]]:
        """Return the pairs (w_i, k_i); raises ParameterError if weights and kernels do not match."""
        kernels = [Polynomial(), Gaussian()] if self.kernels is None else self.kernels
        if not isinstance(kernels, list | tuple) or not isinstance(self.weights, list | tuple | None):
            raise ParameterError(f"Sum: expected a list of kernels and one of weights, got {self!r:.200}")
        weights = [1.0] * len(kernels) if self.weights is None else self.weights
        if not kernels or len(weights) != len(kernels) or not all(0 < w < inf for w in weights):
            raise ParameterError(
                f"Sum: expected at least one kernel and a weight above 0 for each, "
                f"got {len(kernels)} kernels and weights {self.weights}"
            )
        return list(zip(weights, kernels, strict=True))

    def parts(self) -> list[Kernel]:
        """Return the terms."""
        return [kernel for _, kernel in self.terms()]

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return the sum with every kernel's bandwidth as a number."""
        self.check()
        return type(self)([kernel.resolve(X, random_state) for kernel in self.parts()], self.weights)

    def _diagonal(self, X: Any) -> NDArray[Any]:
        return self._added(lambda kernel: kernel._diagonal(X))

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        return self._added(lambda kernel: kernel._tile(X, Y))

    def _added(self, values: Callable[[Kernel], NDArray[Any]]) -> NDArray[Any]:
        (weight, kernel), *others = self.terms()
        total = values(kernel)
        total *= weight
        for weight, kernel in others:
            total += weight * values(kernel)
        return total


@dataclass(eq=False, repr=False)
class Compositional(Kernel):
    """The kernel f(K(x, y)), with f the series of a dot-product kernel and K any kernel.

    It is positive definite, since powers and non-negative sums of positive definite kernels are.

    Parameters
    ----------
    outer : DotProductKernel, optional
        The kernel f(<x, y>); if it has a bandwidth, this must be a number. None is exp(<x, y>).
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

    outer: DotProductKernel | None = None
    inner: Kernel | None = None

    @property
    def formula(self) -> str:
        """The outer kernel's formula, with the inner product replaced by the inner kernel's formula."""
        outer, inner = self.parts()
        return outer.formula.replace("<x, y>", f"[{inner.formula}]")

    def parts(self) -> tuple[DotProductKernel, Kernel]:
        """Return the outer and the inner kernel."""
        outer = Exponential() if self.outer is None else self.outer
        return outer, Gaussian() if self.inner is None else self.inner

    def check(self) -> None:
        """Raise ParameterError if a parameter is not valid or the outer bandwidth is not a number."""
        super().check()
        outer, _ = self.parts()
        if any(isinstance(value, str) for value in outer.get_params().values()):
            raise ParameterError(
                f"Compositional: outer: expected a kernel whose bandwidth is a number, got {outer!r}: the "
                "heuristics need rows, but the outer kernel gets values of the inner one"
            )

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return the kernel with the inner kernel's bandwidth as a number."""
        self.check()
        outer, inner = self.parts()
        return type(self)(outer, inner.resolve(X, random_state))

    def _diagonal(self, X: Any) -> NDArray[Any]:
        return self._of(self.parts()[1]._diagonal(X))

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        return self._of(self.parts()[1]._tile(X, Y))

    def _of(self, t: NDArray[Any]) -> NDArray[Any]:
        """Return f(t), which may overwrite t."""
        outer, inner = self.parts()
        if t.size and not (largest := np.abs(t).max()) < outer.radius:
            raise DataError(
                f"Compositional: the series of {outer!r} needs values below {outer.radius:g}, got "
                f"{largest:.6g} of {inner!r}: use another inner kernel, or data on which it is smaller"
            )
        return outer._f(t)
