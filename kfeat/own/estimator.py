"""The search as a scikit-learn estimator, which finds and trains the best method within a budget."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from kfeat.data import Dataset, Protocol, Raw
from kfeat.data.coding import learn_coding
from kfeat.data.columns import Reading
from kfeat.data.dataset import Part
from kfeat.data.preparation import learn
from kfeat.errors import DataError
from kfeat.experiments.schedule import physical_cores
from kfeat.kernels.base import canonical
from kfeat.own.bench import LocalScorer, Scorer, enough_rows
from kfeat.own.candidates import Candidate, model_of
from kfeat.own.model import save_model
from kfeat.own.new_config import DENSE_VALUES
from kfeat.own.search import ScoreLog, Search, SearchResult

ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
CODED = Reading(categorical="one_hot", missing="mean")  # how the columns of a frame become numbers


@dataclass(eq=False, repr=False)
class _KernelEstimator(BaseEstimator):
    """What the classifier and the regressor share."""

    _task: ClassVar[Literal["classification", "regression"]]

    budget: float = 60.0
    prefer: Literal["accuracy", "speed"] = "accuracy"
    random_state: int = 0
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Search on rows X (n, d), a frame or an array, and labels or targets y (n,), and train the best.

        Raises DataError for bad data, ConfigError where the budget ends before anything is scored.
        """
        regression, coding = self._task == "regression", None
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            if n := int(pd.isna(y).sum()):
                raise DataError(f"expected a label for each row, got {n:,} rows without one")
            y = y.astype(np.float64) if regression else y
            coding = learn_coding(X, CODED, task=self._task)
        else:
            X, y = validate_data(self, canonical(X), y, y_numeric=regression, ensure_min_samples=2, **ROWS)
        codes = y
        if not regression:
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
        # Without a search: a Gaussian kernel with C or alpha 1.
        loss: Any = "squares" if regression else "squared_hinge"
        candidate, value = Candidate("zscore", {"name": "gaussian", "gamma": "median"}, None, loss), 1.0
        self.search_ = None
        if enough_rows(codes, not regression):
            found = self._searched(X if coding is None else _dense(coding.matrix(X)), codes)
            one = (found.quick if self.prefer == "speed" else None) or found.best
            self.search_, candidate, value = found, one.candidate, one.value
        model = model_of(candidate, value, {}, self.random_state).set_params(coding=coding)
        with warnings.catch_warnings():  # about redundant landmarks, which the search allows
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            self.model_ = model.fit(X, y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels, or the values, of the rows of X (n, d), shape (n,)."""
        rows = self._rows(X)
        return self.model_.predict(rows)

    def save(self, path: str | Path) -> None:
        """Write the model to a file that `kfeat.load_model` and `kfeat predict` take."""
        check_is_fitted(self, "model_")
        save_model(self.model_, Path(path))

    def _rows(self, X: Any) -> Any:
        """Return checked rows: a frame if training had one, else numbers."""
        check_is_fitted(self, "model_")
        coding = self.model_.coding
        if coding is None:
            return validate_data(self, canonical(X), reset=False, **ROWS)
        X = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=coding.names)
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

    def _searched(self, X: Any, y: NDArray[Any]) -> SearchResult:
        raw = Raw("the data", self._task, {"train": Part(X, y)})

        def data(scale: str) -> Dataset:
            protocol = Protocol.model_validate({} if scale == "own" else {"scale": scale})
            rows = learn(raw, protocol, np.arange(len(y)), None).rows(X)
            return Dataset(raw.name, rows, y, rows[:0], y[:0], self._task, "", verified=False)

        bench = Scorer(data, self.random_state, self.n_jobs or physical_cores())
        return Search(LocalScorer(bench), ScoreLog(None), self.budget, self.random_state).run()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class KernelClassifier(ClassifierMixin, _KernelEstimator):
    """A kernel classifier that chooses scaling, kernel, map or exact SVM, D and C within a budget of time.

    The search is that of `kfeat tune`. A frame may have columns of words, dates and missing cells: missing
    numbers become the mean, words become columns of 0 and 1, dates become year, month, weekday and days.
    If no class has five rows, there is no search, and an SVM with a Gaussian kernel is trained.

    Parameters
    ----------
    budget : float, default 60.0
        About how many seconds the search and the training of the best method on all rows take.
    prefer : {"accuracy", "speed"}, default "accuracy"
        Choose the most accurate method, or the map with the fewest features within half a point of it.
    random_state : int, default 0
        The seed of the folds, the candidates and the map.
    n_jobs : int, optional
        The number of threads; None means all physical cores.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    model_ : KernelModel
        The trained model, with the coding of a frame's columns where they are not all numbers.
    search_ : SearchResult or None
        The candidates with their scores, and the best one; None without a search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier(budget=2).fit(X, y).score(X, y) > 0.95
    True
    """

    _task = "classification"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values: (n,), positive for the last of two classes, or (n, classes)."""
        rows = self._rows(X)
        return np.asarray(self.model_.decision_function(rows))


class KernelRegressor(RegressorMixin, _KernelEstimator):
    """A kernel regressor: kernel ridge regression, or ridge regression on a map's features.

    The search, the parameters and the attributes are those of `KernelClassifier`, without `classes_`.
    """

    _task = "regression"


def _dense(Z: Any) -> Any:
    """Return coded columns (n, d) as a dense array, which z-scores need, unless it would be very large."""
    if issparse(Z) and Z.shape[0] * Z.shape[1] > DENSE_VALUES:
        return canonical(Z)
    return np.asarray(Z.toarray() if issparse(Z) else Z, dtype=np.float64)
