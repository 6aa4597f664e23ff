"""The folds of a search: of all training rows and of subsamples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    check_cv,
)

from kfeat.data.matrix import Indices
from kfeat.errors import DataError

MOST_FOLDS, FOLDS = 5, 3
FEW_ROWS, MANY_ROWS = 1_000, 30_000  # up to the first MOST_FOLDS, above the second one of FOLDS


def at(weights: Any, rows: Indices) -> Any:
    """Return the weights of some rows, None where there are none."""
    return None if weights is None else weights[rows]


def enough_rows(y: NDArray[Any], classes: bool) -> bool:
    """Return whether each fold can have a row of some class; in a regression, any row."""
    return (int(np.unique(y, return_counts=True)[1].max()) if classes else len(y)) >= MOST_FOLDS


def rarest_rows(y: NDArray[Any]) -> int:
    """Return the rows of the rarest class, but for those that have too few for each fold, if two are left."""
    counts = np.unique(y, return_counts=True)[1]
    often = counts[counts > MOST_FOLDS]
    return int((often if len(often) > 1 else counts).min())


class Subsamples:
    """The subsamples of the training rows with labels or targets y (n,), and their folds.

    A subsample of n rows is the first n rows of one stratified `order`, so a smaller one is part of a larger
    one. Folds that were `chosen` for all training rows are cut down to its rows.
    """

    def __init__(
        self, y: NDArray[Any], classes: bool, seed: int, chosen: list[tuple[Indices, Indices]] | None = None
    ) -> None:
        self._y, self._classes, self._seed, self._chosen = y, classes, seed, chosen
        self.order = spread_order(y, classes, seed)

    def rows(self, n: int) -> Indices:
        """Return the rows of a subsample of n rows."""
        return np.sort(self.order[:n])

    def folds(self, n: int) -> tuple[Indices, list[tuple[Indices, Indices]]]:
        """Return the rows of a subsample of n rows, and its folds.

        They are five up to 1,000 rows, three for more, and one of them above 30,000 rows.
        """
        rows = self.rows(n)
        if self._chosen is not None:
            places = np.full(len(self._y), -1)
            places[rows] = np.arange(n)
            cut = [[places[side][places[side] >= 0] for side in fold] for fold in self._chosen]
            return rows, [(seen, held_out) for seen, held_out in cut if len(seen) and len(held_out)]
        folds = MOST_FOLDS if n <= FEW_ROWS else FOLDS
        cutter = (StratifiedKFold if self._classes else KFold)(folds, shuffle=True, random_state=self._seed)
        return rows, list(cutter.split(rows, self._y[rows]))[: folds_at(n)]


def folds_at(n: int) -> int:
    """Return how many folds of a subsample of n rows are scored."""
    return MOST_FOLDS if n <= FEW_ROWS else 1 if n > MANY_ROWS else FOLDS


def spread_order(y: NDArray[Any], classes: bool, seed: int) -> Indices:
    """Return a random order of the rows; with `classes` the first n rows are stratified, for each n.

    A row's place is (rank in its class + a uniform number) / size of its class.
    """
    rng = np.random.default_rng([seed, len(y)])
    uniform = rng.random(len(y))
    if not classes:
        return np.argsort(uniform, kind="stable")
    place = np.empty(len(y))
    for kind in np.unique(y):
        rows = np.flatnonzero(y == kind)
        rank = np.argsort(np.argsort(uniform[rows], kind="stable"), kind="stable")
        place[rows] = (rank + rng.random(len(rows))) / len(rows)
    return np.argsort(place, kind="stable")


def folds_of(
    cv: Any, y: NDArray[Any], by: NDArray[Any] | None, classes: bool, seed: int
) -> list[tuple[Indices, Indices]]:
    """Return the folds of all training rows: of whole groups, later rows after earlier ones, or any `cv`.

    `by` has the groups or the times of the rows. Raises DataError for a single group.
    """
    X = np.zeros((len(y), 1))
    if cv == "time":
        assert by is not None
        order = np.argsort(by, kind="stable")
        return [(order[seen], order[later]) for seen, later in TimeSeriesSplit(FOLDS).split(X)]
    if cv == "group":
        assert by is not None
        n_groups = len(np.unique(by))
        if n_groups < 2:
            raise DataError("expected two groups or more among the training rows, got one")
        cutter = StratifiedGroupKFold if classes else GroupKFold
        cv = cutter(min(FOLDS, n_groups), shuffle=True, random_state=seed)
    return list(check_cv(cv, y, classifier=classes).split(X, y, by))
