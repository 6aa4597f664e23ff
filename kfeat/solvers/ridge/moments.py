"""Means and centred second moments of features and targets, collected batch by batch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import column_or_1d

from kfeat.batches import Batches
from kfeat.errors import DataError
from kfeat.kernels.operands import check_finite

BLOCK = 4096  # rows that are centred and multiplied at once


@dataclass(frozen=True)
class Moments:
    """n rows' means and sums of products about the means: all that least squares needs of (X, y).

    `xx` = sum_i (x_i - x_mean)(x_i - x_mean)' (d, d), `xy` (d,) and `yy` likewise, in double precision. Sums
    of moments follow Chan, Golub and LeVeque (1979): no cancellation, whatever the means are.
    """

    n: int
    x_mean: NDArray[np.float64]
    y_mean: float
    xx: NDArray[np.float64]
    xy: NDArray[np.float64]
    yy: float

    @classmethod
    def of(cls, X: Any, y: NDArray[Any]) -> Self:
        """Return the moments of rows X (n, d), dense or CSR, with targets y (n,) or (n, 1)."""
        y = column_or_1d(y)
        if len(y) != X.shape[0]:
            raise DataError(f"a batch has {X.shape[0]} rows and {len(y)} targets: give one for each row")
        total = cls.nothing(X.shape[1])
        for start in range(0, X.shape[0], BLOCK):
            rows = X[start : start + BLOCK]
            total = total + cls._of_block(rows, np.asarray(y[start : start + BLOCK], dtype=np.float64))
        return total

    @classmethod
    def nothing(cls, d: int) -> Self:
        """Return the moments of no rows."""
        return cls(0, np.zeros(d), 0.0, np.zeros((d, d)), np.zeros(d), 0.0)

    @classmethod
    def _of_block(cls, rows: Any, y: NDArray[np.float64]) -> Self:
        X = (rows.toarray() if issparse(rows) else rows).astype(np.float64)
        x_mean, y_mean = X.mean(axis=0), float(y.mean())
        X -= x_mean
        y = y - y_mean
        return cls(len(y), x_mean, y_mean, X.T @ X, X.T @ y, float(y @ y))

    def __add__(self, other: "Moments") -> Self:
        """Return the moments of both sets of rows together."""
        if len(self.xy) != len(other.xy):
            raise DataError(f"batches of {len(self.xy)} and of {len(other.xy)} features: give all the same")
        n = self.n + other.n
        x_step, y_step = other.x_mean - self.x_mean, other.y_mean - self.y_mean
        between = self.n * other.n / n
        return type(self)(
            n,
            self.x_mean + x_step * (other.n / n),
            self.y_mean + y_step * (other.n / n),
            self.xx + other.xx + between * np.outer(x_step, x_step),
            self.xy + other.xy + between * x_step * y_step,
            self.yy + other.yy + between * y_step**2,
        )

    def about_zero(self) -> Self:
        """Return the sums of products about zero, with means of zero: for a fit without intercept."""
        return type(self)(
            self.n,
            np.zeros_like(self.x_mean),
            0.0,
            self.xx + self.n * np.outer(self.x_mean, self.x_mean),
            self.xy + self.n * self.x_mean * self.y_mean,
            self.yy + self.n * self.y_mean**2,
        )

    def squared_error(self, w: NDArray[np.float64], b: float) -> float:
        """Return sum_i (y_i - <w, x_i> - b)^2."""
        shift = self.y_mean - self.x_mean @ w - b
        about_means = float(self.yy - 2 * self.xy @ w + w @ self.xx @ w)
        return max(about_means, 0.0) + self.n * float(shift) ** 2


def sum_of(parts: Iterable[Moments]) -> Moments:
    """Return the moments of all parts together, or raise DataError if there is none."""
    total: Moments | None = None
    for part in parts:
        total = part if total is None else total + part
    if total is None:
        raise DataError("ridge regression needs at least one row, got none")
    return total


def moments_of(X: Any, y: NDArray[Any]) -> Moments:
    """Return the moments of all rows, which may come in batches; raises DataError where one is not finite."""
    if not isinstance(X, Batches):
        return Moments.of(X, y)
    return finite_sum_of([X.total(Moments.of, y)])


def finite_sum_of(parts: Iterable[Moments]) -> Moments:
    """Return the moments of all parts together; raises DataError where they are not finite, or of no part."""
    total = sum_of(parts)
    check_finite(total.xx, "features, or sums of their squares,")
    check_finite(total.xy, "targets, or their products with features,")
    return total
