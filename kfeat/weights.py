"""Weights of rows: which are in range, and rows that are repeated by their weights for what takes none."""

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST, MOST = 1e-30, 1e30
IN_RANGE = f"a weight of 0, or from {LEAST:g} to {MOST:g}"


def out_of_range(weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which weights (n,) are so large or small that sums with them overflow, or lose all digits."""
    return (weights > MOST) | ((weights > 0) & (weights < LEAST))


def copies(weights: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Return positions of rows, in order, in which a row occurs as often as its weight (n,) says.

    Where weights are whole numbers and their sum is at most `most`, a row of weight 2 occurs twice. Otherwise
    about `most` positions are taken at equal steps along the sums of weights. Either way a row of weight 2
    counts as two equal rows of weight 1 one after the other.
    """
    total = float(weights.sum())
    if (weights == np.rint(weights)).all():
        places = np.arange(0, total, ceil(total / most))
    else:
        places = (np.arange(most) + 0.5) * (total / most)
    return np.searchsorted(np.cumsum(weights), places, side="right")


def by_weight(X: Any, weights: Any, most: int) -> Any:
    """Return rows of X repeated by their weights (n,), about `most` of them at most; without weights X."""
    return X if weights is None else X[copies(weights, most)]
