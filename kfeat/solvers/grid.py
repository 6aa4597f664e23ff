"""Cross-validation over one parameter, such as C: folds are cut once, and each takes all values in turn."""

from collections.abc import Iterable
from math import floor, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection
from sklearn.base import clone

from kfeat.errors import ParameterError
from kfeat.kernels.operands import as_operand
from kfeat.solvers.base import Solver

MOST_STEPS = 10_000


def geometric_grid(smallest: float, largest: float, factor: float) -> NDArray[np.float64]:
    """Return smallest * factor^k, k = 0, 1 ..., up to the largest (to rounding), or raise ParameterError."""
    if largest < smallest:
        raise ParameterError(f"a grid from {smallest} up to {largest} is empty: exchange the two")
    steps = floor((log(largest) - log(smallest)) / log(factor) + 1e-9)
    if steps > MOST_STEPS:
        raise ParameterError(f"a grid of {steps:,} steps by {factor} is too long: take a larger factor")
    return smallest * float(factor) ** np.arange(steps + 1.0)


def grid_scores(
    solver: Solver,
    X: Any,
    y: Any,
    parameter: str,
    values: Iterable[float],
    folds: int = 5,
    random_state: int = 0,
) -> NDArray[np.float64]:
    """Return `solver.score` on each held-out fold for each value of the parameter, (folds, len(values)).

    A solver with `warm_start` goes along the values from its last solution, so give them in order. Folds are
    stratified for classification, drawn from `random_state`; X is cut once per fold, not once per value.
    """
    X, y = as_operand(X), np.asarray(y)
    stratified = solver.task == "classification"
    cutter = model_selection.StratifiedKFold if stratified else model_selection.KFold
    grid = [float(value) for value in values]
    splits = cutter(folds, shuffle=True, random_state=random_state).split(np.zeros(len(y)), y)
    scores = np.empty((folds, len(grid)))
    for fold, (seen, held_out) in enumerate(splits):
        estimator = clone(solver)
        X_seen, X_held_out = X[seen], X[held_out]
        for k, trained in enumerate(estimator.along(X_seen, y[seen], parameter, grid)):
            scores[fold, k] = trained.score(X_held_out, y[held_out])
    return scores
