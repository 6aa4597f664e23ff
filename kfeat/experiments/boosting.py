"""Gradient boosting of trees as a solver."""

from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from scipy.sparse import issparse

from kfeat.parameters import Iterations, Seed
from kfeat.solvers.base import AboveZero, Solver, Subproblem, Task


@dataclass(eq=False, repr=False)
class Boosting(Solver):
    """Gradient boosting of trees, by scikit-learn's HistGradientBoosting, without early stopping.

    Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NIPS 2017.

    Parameters
    ----------
    kind : {"classification", "regression"}, default "classification"
        The task: log loss or squared error.
    learning_rate, max_leaf_nodes, max_iter : float, int and int, default 0.1, 31 and 100
        The shrinkage of each tree, its leaves, and the number of trees (for each class).
    random_state : int, optional
        The seed of scikit-learn's estimator; None is 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> from kfeat.experiments.boosting import Boosting
    >>> Boosting(max_iter=10).fit(X, y).score(X, y) > 0.95
    True
    """

    kind: Literal["classification", "regression"] = "classification"
    learning_rate: AboveZero = 0.1
    max_leaf_nodes: Annotated[int, Ge(2)] = 31
    max_iter: Iterations = 100
    random_state: Seed | None = None

    @property
    def task(self) -> Task:
        """The task by its `kind`."""
        return self.kind

    def fit(self, X: Any, y: Any) -> "Boosting":
        """Train on X (n, d), made dense, and y (n,)."""
        from sklearn import ensemble  # here, since its import takes a fifth of a second

        X, y = self._check(X, y)
        start = perf_counter()
        classes = self.kind == "classification"
        kind = ensemble.HistGradientBoostingClassifier if classes else ensemble.HistGradientBoostingRegressor
        self.estimator_ = kind(
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            max_iter=self.max_iter,
            early_stopping=False,
            random_state=int(self.random_state or 0),
        ).fit(dense(X), y)
        self._report([Subproblem("boosting", int(self.estimator_.n_iter_))])
        self.times_ = {"solve": perf_counter() - start}
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a label or a value for each row of X."""
        predicted = np.asarray(self.estimator_.predict(dense(self._check_again(X))))
        return self.classes_[predicted] if self.task == "classification" else predicted


def dense(X: Any) -> NDArray[Any]:
    """Return X, which may be sparse, as an array."""
    return np.asarray(X.toarray() if issparse(X) else X)
