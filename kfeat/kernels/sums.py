"""Weighted sums of kernels."""

from collections.abc import Callable
from math import inf
from typing import Any, Self

from numpy.typing import NDArray

from kfeat.errors import ParameterError
from kfeat.kernels.base import Kernel
from kfeat.kernels.dot_product import Polynomial
from kfeat.kernels.shift_invariant import Gaussian


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

    def __init__(self, kernels: list[Kernel] | None = None, weights: list[float] | None = None) -> None:
        self.kernels = kernels
        self.weights = weights

    @property
    def formula(self) -> str:
        """The kernel as tables and figures print it."""
        return " + ".join(("" if w == 1 else f"{w:g} ") + f"[{kernel.formula}]" for w, kernel in self.terms())

    def terms(self) -> list[tuple[float, Kernel]]:
        """Return the pairs (w_i, k_i), or raise ParameterError where they do not match."""
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

    def check(self) -> None:
        """Raise ParameterError where a parameter is not valid, of the sum or of one of its kernels."""
        super().check()
        for _, kernel in self.terms():
            kernel.check()

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return the sum with every kernel's bandwidth as a number."""
        self.check()
        return type(self)([kernel.resolve(X, random_state) for _, kernel in self.terms()], self.weights)

    def diagonal(self, X: Any) -> NDArray[Any]:
        """Return sum_i w_i k_i(X[j], X[j]), shape (n,)."""
        return self._added(lambda kernel: kernel.diagonal(X))

    def _tile(self, X: Any, Y: Any) -> NDArray[Any]:
        return self._added(lambda kernel: kernel._tile(X, Y))

    def _added(self, values: Callable[[Kernel], NDArray[Any]]) -> NDArray[Any]:
        (weight, kernel), *others = self.terms()
        total = values(kernel)
        total *= weight
        for weight, kernel in others:
            total += weight * values(kernel)
        return total
