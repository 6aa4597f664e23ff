"""Kernels of objects that are not vectors, such as strings, by a function of two lists of them."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from kfeat.errors import DataError, ParameterError
from kfeat.kernels.base import Kernel
from kfeat.kernels.operands import Objects, generator

TRIED = 200  # rows on which a kernel is checked to be symmetric and positive semi-definite
ROUNDING = 1e-8  # least eigenvalue of such a kernel, as a share of the largest, that counts as rounding
DIAGONAL_ROWS = 32  # of a block of which the diagonal alone is used


class ObjectKernel(Kernel):
    """A kernel of objects: `function(A, B)` returns the block k(A[i], B[j]) of two sequences of objects.

    The rows of X are then a list or an array of objects: strings, trees, graphs. Nystrom and the exact
    solvers Libsvm, Svc and KernelRidge take such rows; a map that needs vectors refuses the kernel. `fit`
    checks on 200 of the rows that the kernel is symmetric and positive semi-definite.

    Parameters
    ----------
    function : callable
        Returns an array of shape (len(A), len(B)) for two one-dimensional arrays of objects.

    Examples
    --------
    >>> import numpy as np
    >>> from kfeat.kernels import ObjectKernel
    >>> def shared_letters(A, B):
    ...     return np.array([[len(set(a) & set(b)) for b in B] for a in A])
    >>> ObjectKernel(shared_letters)(["tea", "coffee"], ["tee", "cocoa"])
    array([[2., 1.],
           [1., 2.]])
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    @property
    def formula(self) -> str:
        """The kernel as tables print it."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def check(self) -> None:
        """Raise ParameterError if the function cannot be called."""
        if not callable(self.function):
            raise ParameterError(f"ObjectKernel: expected a function of two lists, got {self.function!r}")

    def operand(self, X: Any) -> Objects:
        """Return the rows of X, a sequence of objects."""
        return Objects.of(X)

    def _are_two_rows(self, X: Any, Y: Any) -> bool:
        return False  # but two lists of objects

    def against(self, Y: Any) -> Callable[[Any], NDArray[Any]]:
        """Return the function X -> k(X, Y), for many blocks of rows X."""
        objects = self.operand(Y)
        return lambda X: self._tile(X, objects)

    def resolve(self, X: Any, random_state: Any = None) -> Self:
        """Return the kernel; raises DataError if it is not symmetric or not positive semi-definite on X."""
        self.check()
        objects = self.operand(X)
        n = len(objects)
        rows = generator(random_state).permutation(n)[:TRIED] if n > TRIED else np.arange(n)
        some = objects[rows]
        K = self._tile(some, some)
        largest = float(np.abs(K).max(initial=0.0))
        if (gap := float(np.abs(K - K.T).max(initial=0.0))) > ROUNDING * largest:
            raise DataError(f"{self.formula} is not symmetric: k(x, y) and k(y, x) differ by {gap:.3g}")
        least = float(np.linalg.eigvalsh(K)[0])
        if least < -ROUNDING * len(K) * largest:
            raise DataError(
                f"{self.formula} is not positive semi-definite: on {len(K)} rows its least eigenvalue is "
                f"{least:.3g}, and its largest value {largest:.3g}"
            )
        return self

    def _tile(self, X: Any, Y: Any) -> NDArray[np.float64]:
        try:
            K = np.asarray(self.function(X.items, Y.items))
            real = not np.iscomplexobj(K)
            K = K.astype(np.float64, copy=False) if real else K
        except Exception as error:  # whatever the function raises on these objects
            raise DataError(
                f"{self.formula} cannot compare these objects: {type(error).__name__}: {error}"
            ) from error
        if not real:
            raise DataError(f"{self.formula} returned complex numbers: a kernel has real values")
        if K.shape != (len(X), len(Y)):
            raise DataError(
                f"{self.formula} returned an array of shape {K.shape} for {len(X):,} and {len(Y):,} objects"
            )
        if not np.isfinite(K).all():
            raise DataError(f"{self.formula} returned values that are not finite")
        return K

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        blocks = (X[rows] for rows in gen_batches(len(X), DIAGONAL_ROWS))
        return np.concatenate([np.diagonal(self._tile(block, block)) for block in blocks])
