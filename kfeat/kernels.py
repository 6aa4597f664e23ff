"""Exact kernels: vectorised, and knowing their Maclaurin series where they have one."""

from math import comb
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot


class Polynomial(BaseEstimator):
    """The polynomial kernel (gamma <x, y> + coef0)^degree; coef0 = 0 makes it homogeneous."""

    algorithm_version: ClassVar[int] = 1

    def __init__(
        self,
        degree: Annotated[int, Ge(1)] = 2,
        gamma: Annotated[float, Gt(0)] = 1.0,
        coef0: Annotated[float, Ge(0)] = 0.0,
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def __call__(self, X: Any, Y: Any = None) -> NDArray[Any]:
        """Return the Gram block K[i, j] = k(X[i], Y[j]), shape (len(X), len(Y))."""
        inner = safe_sparse_dot(X, (X if Y is None else Y).T, dense_output=True)
        return (self.gamma * inner + self.coef0) ** self.degree

    def maclaurin(self, n_terms: int) -> NDArray[np.float64]:
        """Return a_0 .. a_{n_terms-1} of f(t) = sum_n a_n t^n with k(x, y) = f(<x, y>)."""
        return np.array(
            [
                comb(self.degree, n) * self.gamma**n * self.coef0 ** (self.degree - n)
                if n <= self.degree
                else 0.0
                for n in range(n_terms)
            ]
        )


KERNELS: dict[str, type] = {"polynomial": Polynomial}
