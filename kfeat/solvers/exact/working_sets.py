"""The dual of a kernel SVM of two classes, one working set after another."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kfeat.solvers.exact.rows import KernelRows
from kfeat.solvers.exact.subproblem import improved

LARGEST = 3072  # rows in a working set
NEW = 1024  # of them at a bound before, at most
LEAST_NEW = 64
LOOSE = 0.1  # a working set is solved to this share of the violation that is left
GROWTH = 8.0  # of the reach
FAR = 1e300  # beyond any cost
STALLED = 50  # working sets without a gain of GAIN in the objective
GAIN = 1e-12


@dataclass(frozen=True)
class Solution:
    """Coefficients y_i a_i (n,), the threshold rho of sum_i y_i a_i K(x_i, x) - rho, and how it went."""

    coefficients: NDArray[np.float64]
    rho: float
    objective: float
    rounds: int
    stop_reason: str


@dataclass
class Dual:
    """max sum_i |b_i| - b' K b / 2 over low <= b <= high with sum b = 0: the dual with b_i = y_i a_i.

    `signs` are y (n,), `b` and `slopes` = y - K b the point and the gradient there.
    """

    signs: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    b: NDArray[np.float64]
    slopes: NDArray[np.float64]

    @property
    def objective(self) -> float:
        """The dual's value."""
        return float(np.abs(self.b).sum() - self.b @ (self.signs - self.slopes) / 2)

    def extremes(self) -> tuple[int, int]:
        """Return the two rows that violate optimality most: one that can grow, and one that can shrink."""
        rising = np.where(self.b < self.high, self.slopes, -np.inf)
        falling = np.where(self.b > self.low, self.slopes, np.inf)
        return int(rising.argmax()), int(falling.argmin())

    def threshold(self) -> float:
        """Return -rho: the mean slope of the free rows, or where there is none the middle of the extremes."""
        free = (self.b > self.low) & (self.b < self.high)
        return float((self.slopes[free] if free.any() else self.slopes[list(self.extremes())]).mean())

    def working_set(self, new: int, most: int) -> NDArray[np.intp]:
        """Return rows in order: the free ones, and half of `new` each from either bound; at most `most`.

        Those that violate optimality most come first; the two most violating ones are always there.
        """
        off = self.slopes - self.threshold()
        free = (self.b > self.low) & (self.b < self.high)
        rising = _first(np.where(~free & (self.b < self.high), off, 0), new // 2)
        falling = _first(np.where(~free & (self.b > self.low), -off, 0), new // 2)
        inner = _first(np.where(free, np.abs(off) + 1e-300, 0), most - len(rising) - len(falling))
        return np.unique(np.concatenate([rising, falling, inner, self.extremes()]))


def solve_dual(
    rows: KernelRows,
    diagonal: NDArray[np.float64],
    signs: NDArray[np.float64],
    costs: NDArray[np.float64],
    eps: float,
    limit: int,
) -> Solution:
    """Return the solution for labels `signs` (n,) of -1 and 1, and costs C_i (n,), to LIBSVM's tolerance.

    That is max over {b_i < high_i} - min over {b_i > low_i} of y - K b <= eps. In each of at most `limit`
    rounds, a working set's rows are optimised with all others fixed: Osuna, Freund and Girosi, "An improved
    training algorithm for support vector machines" (1997); sets of this size from blocks of kernel rows:
    Wen et al., "ThunderSVM", JMLR 19 (2018). `diagonal` is K's.
    """
    n = len(signs)
    dual = Dual(signs, np.minimum(signs * costs, 0), np.maximum(signs * costs, 0), np.zeros(n), signs.copy())
    new = min(NEW, max(LEAST_NEW, n // 8))
    reach = 4.0 / np.maximum(diagonal, 1 / FAR)
    past: deque[float] = deque([-np.inf] * STALLED, maxlen=STALLED)
    for done in range(limit + 1):
        rising, falling = dual.extremes()
        violation = float(dual.slopes[rising] - dual.slopes[falling])
        objective = dual.objective
        stalled = objective - past[0] <= GAIN * abs(objective)
        if violation <= eps or stalled or done == limit:
            break
        past.append(objective)
        at = dual.working_set(new, LARGEST)
        _improve(dual, rows, at, reach, max(eps / 2, LOOSE * violation))
        if (np.abs(dual.b) >= 0.999 * reach).any():
            reach = np.minimum(GROWTH * reach, FAR)
    unmet = "no progress in single precision" if stalled else "iteration limit"
    reason = "tolerance" if violation <= eps else unmet
    return Solution(dual.b, -dual.threshold(), objective, done, reason)


def _improve(
    dual: Dual, rows: KernelRows, at: NDArray[np.intp], reach: NDArray[np.float64], eps: float
) -> None:
    """Optimise the rows `at` within |b| <= reach.

    The reach (n,) keeps LIBSVM's sums, which start from the lower bounds, of the size of the solution's:
    where C is large beside all coefficients, they would lose all digits. It begins at 4 / K_ii, twice the
    step that alone ends the first violation.
    """
    low, high = np.maximum(dual.low[at], -reach[at]), np.minimum(dual.high[at], reach[at])
    before = dual.b[at]
    x = improved(rows.among(at), -dual.slopes[at], before - low, high - low, eps)
    after = np.where(x >= high - low, high, low + x)
    moved = np.flatnonzero(after != before)
    dual.slopes -= rows.combined(at[moved], (after - before)[moved])
    dual.b[at] = after


def _first(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` largest values above 0, or of all above 0 if they are fewer."""
    positive = np.flatnonzero(values > 0)
    if len(positive) <= count:
        return positive
    return positive[np.argpartition(-values[positive], count)[:count]]
