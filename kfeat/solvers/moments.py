"""Moments of rows and targets, which are sufficient for least squares, and ridge regression from them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, eigh
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from sklearn.utils.validation import column_or_1d

from kfeat.errors import DataError
from kfeat.kernels.operands import check_finite
from kfeat.solvers.newton_system import cholesky
from kfeat.text import counted

BLOCK = 4096  # rows that are centred and multiplied at a time
# Whether least squares have an intercept; "mean" is that of the targets, and the rows are not centred.
Intercept = bool | Literal["mean"]


@dataclass(frozen=True)
class Moments:
    """The means of n rows and sums of products about the means, which are sufficient for least squares.

    `xx` = sum_i (x_i - x_mean)(x_i - x_mean)' (d, d), `xy` (d,) and `yy` likewise, in double precision; of k
    targets a row, `y_mean` and `yy` are (k,), and `xy` (d, k). Sums of moments follow Chan, Golub and
    LeVeque (1979), without cancellation for large means. With weights of rows, n is their sum, and all means
    and sums are weighted.
    """

    n: float
    x_mean: NDArray[np.float64]
    y_mean: Any
    xx: NDArray[np.float64]
    xy: NDArray[np.float64]
    yy: Any

    @classmethod
    def of(cls, X: Any, y: NDArray[Any], weights: Any = None) -> Self:
        """Return the moments of rows X (n, d), dense or CSR, targets y (n,) or (n, k), and weights (n,)."""
        y = y if y.ndim == 2 and y.shape[1] > 1 else column_or_1d(y)
        if len(y) != X.shape[0]:
            found = f"{counted(X.shape[0], 'rows')} and {counted(len(y), 'targets')}"
            raise DataError(f"a batch has {found}: give a target for each row")
        d = X.shape[1]
        none = np.zeros(y.shape[1:])
        total = cls(0, np.zeros(d), none, np.zeros((d, d)), np.zeros((d, *y.shape[1:])), none)
        for rows in gen_batches(X.shape[0], BLOCK):
            A = (X[rows].toarray() if issparse(X) else X[rows]).astype(np.float64)
            b = np.asarray(y[rows], dtype=np.float64)
            w = None if weights is None else weights[rows]
            x_mean, y_mean = np.average(A, axis=0, weights=w), np.average(b, axis=0, weights=w)
            A -= x_mean
            b = b - y_mean
            if w is not None:
                A *= np.sqrt(w)[:, None]
                b *= np.sqrt(w) if b.ndim == 1 else np.sqrt(w)[:, None]
            n = len(b) if w is None else float(w.sum())
            total = total + cls(n, x_mean, y_mean, A.T @ A, A.T @ b, _squares(b))
        return total

    def __add__(self, other: "Moments") -> Self:
        """Return the moments of both sets of rows together."""
        if len(self.xy) != len(other.xy):
            features = counted(len(self.xy), "features")
            raise DataError(f"batches of {features} and of {len(other.xy):,}: give all the same")
        n = self.n + other.n
        x_step, y_step = other.x_mean - self.x_mean, other.y_mean - self.y_mean
        between = self.n * other.n / n
        return type(self)(
            n,
            self.x_mean + x_step * (other.n / n),
            self.y_mean + y_step * (other.n / n),
            self.xx + other.xx + between * np.outer(x_step, x_step),
            self.xy + other.xy + between * _product(x_step, y_step),
            self.yy + other.yy + between * y_step**2,
        )

    def about_zero(self) -> Self:
        """Return the sums of products about zero, with means of zero: for a fit without intercept."""
        return type(self)(
            self.n,
            np.zeros_like(self.x_mean),
            np.zeros_like(self.y_mean),
            self.xx + self.n * np.outer(self.x_mean, self.x_mean),
            self.xy + self.n * _product(self.x_mean, self.y_mean),
            self.yy + self.n * self.y_mean**2,
        )

    def about(self, intercept: Intercept) -> Self:
        """Return the moments about what the intercept takes away: the means, the targets', or nothing."""
        if intercept is True:
            return self
        zero = self.about_zero()
        return replace(zero, y_mean=self.y_mean, xy=self.xy, yy=self.yy) if intercept == "mean" else zero

    def by_target(self) -> list[Self]:
        """Return the moments of each target alone."""
        if self.xy.ndim == 1:
            return [self]
        return [
            replace(self, y_mean=self.y_mean[j], xy=self.xy[:, j], yy=self.yy[j])
            for j in range(self.xy.shape[1])
        ]

    def squared_error(self, w: NDArray[np.float64], b: Any) -> float:
        """Return sum_i (y_i - <w, x_i> - b)^2, over all targets for w (d, k) and b (k,)."""
        if w.ndim == 2:
            each = zip(self.by_target(), w.T, b, strict=True)
            return sum(moments.squared_error(v, c) for moments, v, c in each)
        shift = self.y_mean - self.x_mean @ w - b
        about_means = float(self.yy - 2 * self.xy @ w + w @ self.xx @ w)
        return max(about_means, 0.0) + self.n * float(shift) ** 2


def _squares(b: NDArray[np.float64]) -> Any:
    """Return the sum of squares of each target."""
    return float(b @ b) if b.ndim == 1 else np.einsum("ij,ij->j", b, b)


def _product(x: NDArray[np.float64], y: Any) -> NDArray[np.float64]:
    """Return x y, or for several targets the outer product."""
    return x * y if np.ndim(y) == 0 else np.outer(x, y)


def sum_of(parts: Iterable[Moments]) -> Moments:
    """Return the moments of all parts together; raises DataError without parts or for infinite moments."""
    total: Moments | None = None
    for part in parts:
        total = part if total is None else total + part
    if total is None:
        raise DataError("ridge regression needs at least one row, got none")
    check_finite(total.xx, "features, or sums of their squares,")
    check_finite(total.xy, "targets, or their products with features,")
    return total


def without_each(parts: Sequence[Moments]) -> Iterator[Moments]:
    """Yield the moments of all parts but the first, of all but the second, ...: what folds are trained on."""
    for part in parts:
        yield sum_of(other for other in parts if other is not part)


def ridge(moments: Moments, alpha: float, intercept: Intercept) -> tuple[NDArray[np.float64], Any]:
    """Return w = (xx + alpha I)^-1 xy (d,) or (d, k), and b = y_mean - <w, x_mean>."""
    about = moments.about(intercept)
    w = None
    if about.n > len(about.xy):
        # If it fails, alpha is below the rounding of the largest eigenvalues: ridge_path avoids this.
        with suppress(LinAlgError):
            A = about.xx + alpha * np.eye(len(about.xy))
            w = cho_solve(cholesky(A), about.xy)
    if w is None:
        w = ridge_path(about, np.array([alpha]))[0]
    return w, about.y_mean - about.x_mean @ w


def ridge_path(about: Moments, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return w for each alpha, (len(alphas), d) or (len(alphas), d, k), from one eigendecomposition V L V'.

    With at most as many rows as columns, the components of xy where L is 0 are only rounding errors. A small
    alpha would make them large, so they are set to 0.
    """
    values, V = eigh(about.xx)
    turned = V.T @ about.xy
    if about.n <= len(values):
        turned[values <= len(values) * np.finfo(np.float64).eps * values[-1]] = 0
    if turned.ndim == 2:
        return np.stack([V @ (turned / (np.maximum(values, 0) + alpha)[:, None]) for alpha in alphas])
    return (turned / (np.maximum(values, 0) + alphas[:, None])) @ V.T
