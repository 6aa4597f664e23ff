"""Linear solvers: decision values, predictions and objectives of coefficients and intercepts."""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils import gen_batches

from kfeat.batches import Batches
from kfeat.solvers.base import Solver, available_when, classifies
from kfeat.solvers.dask_batches import as_batches

BLOCK_BYTES = 2**25  # bytes of float64 rows at a time while predicting


class LinearSolver(Solver):
    """A linear solver.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shapes (subproblems, d) and (subproblems,)
        The weights and the intercepts; in regression (d,) and a float.
    """

    coef_: NDArray[np.float64]
    intercept_: Any
    C: float
    p: float

    @property
    def logistic(self) -> bool:
        """Whether scores are log odds, so that probabilities exist."""
        return False

    @available_when(classifies)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return <w, x> + b: shape (n,), or (n, classes) for more than two classes."""
        return self._values(X)

    @available_when(lambda self: self.logistic)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities (n, classes): the logistic function of the scores, normalised.

        The class of `predict` has the largest one.
        """
        values = self.decision_function(X)
        if values.ndim == 1:
            positive = special.expit(values)
            return largest_at(self._places(values), np.stack([1 - positive, positive], axis=1))
        logs = special.log_expit(values)  # the exponentials of a whole row may underflow
        positive = np.exp(logs - logs.max(axis=1, keepdims=True))
        return largest_at(self._places(values), positive / positive.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest score, or the value, for each row."""
        values = self._values(X)
        if self.task == "regression":
            return self.target_.back(values) if hasattr(self, "target_") else values
        return self.classes_[self._places(values)]

    def _places(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the position in `classes_` of the class with the largest score."""
        return largest_score(values)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Return <w, x> + b of checked rows for each subproblem, shape (n, subproblems)."""
        return scores(X, np.atleast_2d(self.coef_)) + self.intercept_

    def _all_scores(self, X: Any) -> NDArray[np.float64]:
        """Return `_scores` of checked rows, which may be batches."""
        return np.concatenate(list(X.each(self._scores))) if isinstance(X, Batches) else self._scores(X)

    def _values(self, X: Any) -> NDArray[np.float64]:
        values = self._all_scores(self._check_again(as_batches(X)))
        return values[:, 0] if values.shape[1] == 1 else values

    def _objective(
        self, solver_type: int, values: NDArray[np.float64], y: NDArray[Any], b: Any, weights: Any,
        sample_weight: Any = None,
    ) -> float:  # fmt: skip
        """Return the sum of all R(w, b) + sum_i C_i loss_i, the primal of LIBLINEAR's -s `solver_type`.

        `values` (n, subproblems) are the scores, `y` (n,) the targets or positions of classes, `b` the
        penalised bias weights, `weights` the factors of C by class (None: regression), `sample_weight` those
        by row. One against the rest weights only the class itself, unless there are two classes.
        """
        W, C = self.coef_, self.C
        R = np.abs(W).sum() + np.abs(b).sum() if solver_type in (5, 6) else ((W**2).sum() + np.sum(b**2)) / 2
        if weights is None:
            excess = np.maximum(np.abs(values[:, 0] - y) - self.p, 0)
            return float(R + C * (excess if solver_type == 13 else excess**2).sum())
        if solver_type == 4:
            return float(R * (2 if values.shape[1] == 1 else 1) + _crammer_singer(values, y, C * weights))
        if values.shape[1] == 1:
            own, cost = (y == 1)[:, None], C * weights[y][:, None]
        else:
            own = y[:, None] == np.arange(values.shape[1])
            cost = np.where(own, C * weights, C)
        if sample_weight is not None:
            cost = cost * sample_weight[:, None]
        return float(R + (cost * _loss(solver_type, np.where(own, 1.0, -1.0) * values)).sum())


def largest_score(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the position of the class with the largest score in each row, (n, classes) or (n,) of two."""
    return (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)


def largest_at(places: NDArray[Any], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities (n, classes) whose largest in each row is that of the class at its place (n,).

    Where another class has a larger one, the two exchange theirs; of two classes, both get a half. Equal
    ones, such as far outside the range of training, are told apart in the last digit.
    """
    others = probabilities.argmax(axis=1)
    rows = np.flatnonzero(others != places)
    own, other = places[rows], others[rows]
    if probabilities.shape[1] == 2:
        probabilities[rows] = 0.5
    largest = probabilities[rows, other]
    probabilities[rows, other] = probabilities[rows, own]
    probabilities[rows, own] = np.minimum(np.nextafter(largest, inf), 1.0)
    return probabilities


def scores(X: Any, W: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X W' in double precision, shape (n, len(W)); float32 rows are converted block by block."""
    if not isinstance(X, np.ndarray) or X.dtype == W.dtype:
        return np.asarray(X @ W.T)
    values = np.empty((len(X), len(W)))
    for rows in gen_batches(len(X), max(1, BLOCK_BYTES // (8 * X.shape[1]))):
        np.matmul(X[rows].astype(W.dtype), W.T, out=values[rows])
    return values


def _loss(solver_type: int, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loss of each margin: logistic, l1 or l2."""
    if solver_type in (0, 6, 7):
        return np.logaddexp(0, -margins)
    hinge = np.maximum(1 - margins, 0)
    return hinge if solver_type == 3 else hinge**2


def _crammer_singer(values: NDArray[np.float64], y: NDArray[Any], cost: NDArray[np.float64]) -> float:
    """Return sum_i C_{y_i} max_m (1[m != y_i] + s_im - s_iy_i)."""
    if values.shape[1] == 1:
        values = np.hstack([-values, values])
    rows = np.arange(len(y))
    reach = 1 + values - values[rows, y][:, None]
    reach[rows, y] = 0
    return float(cost[y] @ reach.max(axis=1))
