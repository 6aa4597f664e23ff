"""The search as a scikit-learn estimator: frames or arrays in, the best method within a budget out."""

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from kfeat.data import Dataset, Protocol, Raw
from kfeat.data.dataset import Part
from kfeat.data.prepare import learn
from kfeat.errors import DataError
from kfeat.experiments.component import read_component
from kfeat.experiments.engines.local import physical_cores
from kfeat.kernels.operands import canonical
from kfeat.own import KernelModel
from kfeat.tuning.bench import Bench, enough_rows
from kfeat.tuning.candidates import Candidate, solver_of
from kfeat.tuning.first_choices import DENSE_VALUES
from kfeat.tuning.process import InProcess
from kfeat.tuning.search import Found, Search

RARE = 10  # rows that a word needs for a column of its own; rarer ones share a column


class _KernelEstimator(BaseEstimator):
    """What the classifier and the regressor share."""

    _task: ClassVar[Literal["classification", "regression"]]

    def __init__(
        self,
        budget: float = 60.0,
        prefer: Literal["accuracy", "speed"] = "accuracy",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.prefer = prefer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Search on rows X (n, d), a frame or an array, and labels or targets y (n,), and train the best.

        Raises DataError for bad data, ConfigError where the budget ends before anything is scored.
        """
        numeric = self._task == "regression"
        X, y = self._checked(X, y=y, y_numeric=numeric, ensure_min_samples=2)
        codes = y
        if not numeric:
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
        self.columns_ = _columns(X) if isinstance(X, pd.DataFrame) else None
        Z = X if self.columns_ is None else _rows(self.columns_.fit_transform(X))
        self.search_ = self._searched(Z, codes) if enough_rows(codes, not numeric) else None
        with warnings.catch_warnings():  # of landmarks that say the same; they were compared as they are
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            self.model_ = self._chosen().fit(Z, codes)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels, or the values, of the rows of X (n, d), shape (n,)."""
        Z = self._numbers(X)
        found = self.model_.predict(Z)
        return found if self._task == "regression" else self.classes_[found.astype(int)]

    def _numbers(self, X: Any) -> Any:
        check_is_fitted(self, "model_")
        X = self._checked(X, reset=False)
        if self.columns_ is None:
            return X
        if not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X, columns=self.feature_names_in_)
        return _rows(self.columns_.transform(X))

    def _checked(self, X: Any, **more: Any) -> Any:
        """Return the rows: a frame with words, dates or missing cells as it is, all else as numbers."""
        mixed = getattr(self, "columns_", None) is not None and more.get("reset") is False
        if isinstance(X, pd.DataFrame) and (mixed or _is_mixed(X)):
            validate_data(self, X, skip_check_array=True, reset=more.get("reset", True))
            return (X, self._targets(X, more["y"])) if "y" in more else X
        floats = [np.float64, np.float32]
        return validate_data(self, canonical(X), accept_sparse="csr", dtype=floats, **more)

    def _targets(self, X: Any, y: Any) -> NDArray[Any]:
        """Return labels or targets (n,), one for each row, none of them missing."""
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if pd.isna(y).any():
            raise DataError(f"expected a label for each row, got {int(pd.isna(y).sum()):,} rows without one")
        return y.astype(np.float64) if self._task == "regression" else y

    def _searched(self, X: Any, y: NDArray[Any]) -> Found:
        raw = Raw("the data", self._task, {"train": Part(X, y)})

        def data(scale: str) -> Dataset:
            preparation = learn(raw, _protocol(scale), np.arange(len(y)), None)
            rows = preparation.rows(X)
            return Dataset(raw.name, rows, y, rows[:0], y[:0], self._task, "", verified=False)

        bench = Bench(data, self.random_state, self.n_jobs or physical_cores())
        return Search(InProcess(bench), _Memory(), self.budget, self.random_state).run()

    def _chosen(self) -> KernelModel:
        """Return the model of what was found; where nothing was, a Gaussian kernel, C or alpha of 1."""
        found, value = self.search_, 1.0
        candidate = Candidate("zscore", {"name": "gaussian", "gamma": "median"}, None, _loss(self._task))
        if found is not None:
            one = (found.quick if self.prefer == "speed" else None) or found.best
            candidate, value = one.candidate, one.value
        kernel = read_component(candidate.kernel, "kernel").build()
        solver = read_component(solver_of(candidate, value, {}), "solver")
        if candidate.map is None:
            return KernelModel(None, solver.build(kernel=kernel), scale=_scale(candidate.scale))
        made = read_component(candidate.map, "map").build(kernel=kernel, random_state=self.random_state)
        return KernelModel(made, solver.build(), scale=_scale(candidate.scale))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class KernelClassifier(ClassifierMixin, _KernelEstimator):
    """A kernel classifier that chooses scaling, kernel, map or exact SVM, D and C within a budget of time.

    The search is that of `kfeat tune`. A frame may have columns of words, dates and missing cells: numbers
    are scaled and gaps take the mean, words become columns of 0 and 1, dates become year, month, weekday and
    days. Where no class has five rows, nothing can be compared, and an SVM with a Gaussian kernel is trained.

    Parameters
    ----------
    budget : float, default 60.0
        The seconds of the search; training the best on all rows comes after it.
    prefer : {"accuracy", "speed"}, default "accuracy"
        Whether the most accurate is taken, or the map with the fewest features within half a point of it.
    random_state : int, default 0
        The seed of the folds, the candidates and the map.
    n_jobs : int, optional
        Threads; None: all physical cores.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    model_ : KernelModel
        The trained model on columns of numbers.
    columns_ : ColumnTransformer or None
        What makes numbers of a frame's columns; None where they are numbers.
    search_ : Found or None
        What was tried, and the best.

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
        Z = self._numbers(X)
        return np.asarray(self.model_.decision_function(Z))


class KernelRegressor(RegressorMixin, _KernelEstimator):
    """The same for regression: kernel ridge regression, or ridge regression on a map's features.

    Parameters and attributes are those of `KernelClassifier`, without `classes_`.
    """

    _task = "regression"


class _Memory:
    """The rows of a search that no file keeps."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def append(self, key: str, row: dict[str, Any]) -> dict[str, Any]:
        """Keep a row."""
        return self.rows.setdefault(key, row)


def _is_mixed(X: pd.DataFrame) -> bool:
    return bool(X.isna().any().any()) or not all(types.is_numeric_dtype(kind) for kind in X.dtypes)


def _columns(X: pd.DataFrame) -> ColumnTransformer:
    """Return what makes numbers of the columns of a frame, by their types."""
    numbers = [name for name in X if types.is_numeric_dtype(X[name]) and not types.is_bool_dtype(X[name])]
    dates = [name for name in X if types.is_datetime64_any_dtype(X[name])]
    words = [name for name in X if name not in numbers and name not in dates]
    scaled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    coder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=min(RARE, max(1, len(X) // 100))
    )
    coded = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), coder)
    coded = make_pipeline(FunctionTransformer(_as_words), coded)
    dated = make_pipeline(FunctionTransformer(_date_numbers), SimpleImputer(), StandardScaler())
    return ColumnTransformer([("numbers", scaled, numbers), ("words", coded, words), ("dates", dated, dates)])


def _as_words(X: pd.DataFrame) -> pd.DataFrame:
    """Return the cells as text, gaps as they are."""
    return X.astype(object).where(X.isna(), X.astype(str)).where(X.notna(), np.nan)


def _date_numbers(X: pd.DataFrame) -> pd.DataFrame:
    """Return year, month, weekday and days since 1970 of each column of dates."""
    found: dict[str, Any] = {}
    for name in X:
        date = X[name].dt
        found |= {f"{name}_{part}": getattr(date, part) for part in ("year", "month", "day_of_week")}
        found[f"{name}_days"] = (X[name] - pd.Timestamp(0, tz=date.tz)).dt.total_seconds() / 86400
    return pd.DataFrame(found)


def _rows(Z: Any) -> Any:
    """Return coded columns as rows (n, d): dense, so that z-scores are possible, but for very many."""
    if issparse(Z) and Z.shape[0] * Z.shape[1] > DENSE_VALUES:
        return canonical(Z)
    return np.asarray(Z.toarray() if issparse(Z) else Z, dtype=np.float64)


def _scale(scale: str) -> str:
    return "none" if scale == "own" else scale


def _protocol(scale: str) -> Protocol:
    return Protocol.model_validate({"scale": _scale(scale)})


def _loss(task: str) -> Any:
    return "squares" if task == "regression" else "squared_hinge"
