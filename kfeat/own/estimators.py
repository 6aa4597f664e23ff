"""The search as scikit-learn's estimators: KernelClassifier and KernelRegressor."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from kfeat.data import Raw
from kfeat.data.coders import learn_coding
from kfeat.data.dataset import Dataset
from kfeat.data.matrix import Indices, Part
from kfeat.data.prepare import learn
from kfeat.data.protocol import Protocol
from kfeat.errors import DataError, KfeatError
from kfeat.experiments.engine import physical_cores
from kfeat.kernels.base import Estimator
from kfeat.kernels.operands import canonical
from kfeat.own.candidates import Candidate, boosting_model, model_of
from kfeat.own.folds import at, enough_rows
from kfeat.own.frames import CODED, as_dense, as_targets, frame_of
from kfeat.own.model import KernelModel, without_zeros
from kfeat.own.model_format import save_model
from kfeat.own.result import Prefer, Scored, SearchResult, preferred
from kfeat.own.scorer import Scorer
from kfeat.own.scorer_process import LocalScorer
from kfeat.own.search import Search
from kfeat.parameters import Jobs, check_parameters
from kfeat.solvers.base import available_when
from kfeat.text import counted

ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise ValueError("expected seconds, a number above 0 such as 60")
    return value


def _metric_name(value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        raise ValueError("expected the name of a scorer of scikit-learn, such as 'roc_auc'")
    return value


def _weight_of_classes(value: Any) -> Any:
    if not isinstance(value, dict | None) and not (isinstance(value, str) and value == "balanced"):
        raise ValueError("expected None, 'balanced' or a mapping of labels to weights")
    return value


def _state(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32
    if not whole and not isinstance(value, np.random.RandomState | None):
        raise ValueError("expected None, a whole number from 0 to 4294967295, or a RandomState of NumPy")
    return value


@dataclass(eq=False, repr=False)
class _KernelEstimator(Estimator):
    """What the classifier and the regressor share."""

    _task: ClassVar[Literal["classification", "regression"]]
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}  # a pipeline routes them

    budget: Annotated[Any, AfterValidator(_seconds)] = 60.0
    scoring: Annotated[Any, AfterValidator(_metric_name)] = None
    cv: Any = None
    prefer: Prefer = "accuracy"
    random_state: Annotated[Any, AfterValidator(_state)] = 0
    n_jobs: Jobs = None
    verbose: bool = False

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Search on rows X (n, d), a frame or an array, and labels or targets y (n,), and train the best.

        Rows of one of the `groups` (n,) are in the same fold, and rows count by their weights (n,). Raises
        DataError for bad data, ConfigError for a metric that does not suit the labels.
        """
        check_parameters(self)
        self._seed = check_random_state(self.random_state).randint(2**31 - 1)
        if isinstance(self.random_state, int | np.integer):
            self._seed = int(self.random_state)
        regression, coding = self._task == "regression", None
        given, X = X, frame_of(X)
        y = np.asarray(y) if type(y).__module__.startswith("polars") else y
        y = as_targets(y) if regression and y is not None else y
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, skip_check_array=True)
            if isinstance(given, np.ndarray | list):
                del self.feature_names_in_  # arrays have none
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            if n := int(pd.isna(y).sum()):
                raise DataError(f"expected a label for each row, got {counted(n, 'rows')} without one")
        else:
            X, y = validate_data(self, canonical(X), y, y_numeric=regression, ensure_min_samples=2, **ROWS)
        kept = np.arange(len(y))
        sample_weight, X, y, groups, kept = without_zeros(sample_weight, X, y, groups, kept)
        if isinstance(X, pd.DataFrame):
            with _python_words():
                coding = learn_coding(X, CODED, task=self._task, weights=sample_weight)
        codes, names = y, list[str]()
        if not regression:
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
            names = [*map(str, self.classes_)]
        weight = getattr(self, "class_weight", None)
        options = {} if weight is None else {"class_weight": weight}
        self.search_: SearchResult | None = None
        bench, some = None, None  # None: all rows
        several = regression or np.sort(np.bincount(codes))[-2:].min() > 1  # each fold trains two classes
        if enough_rows(codes, not regression) and several:
            rows = X if coding is None else as_dense(coding.matrix(X))
            bench = self._scorer(rows, codes, names, groups, options, sample_weight, kept)
            with _python_words():
                model, some = self._searched(bench, options)
        else:  # without a search: a Gaussian kernel with C or alpha 1
            loss: Any = "squares" if regression else "squared_hinge"
            gaussian = Candidate("zscore", {"name": "gaussian", "gamma": "median"}, None, loss)
            model = model_of(gaussian, 1.0, options, self._seed)
        with warnings.catch_warnings():  # about redundant landmarks, which the search allows
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            model.set_params(coding=coding)
            parts = (part if part is None else _safe_indexing(part, some) for part in (X, y, sample_weight))
            self.model_ = model.fit(*parts)
            if bench is not None and self.search_ is not None and not regression:
                rows, folds = bench.subsamples.folds(self.search_.best.n)
                prepared = model.preparation_.rows(model.raw_rows(_safe_indexing(X, rows)))
                model.calibrate(prepared, y[rows], folds, at(sample_weight, rows))
        return self

    def _searched(self, bench: Scorer, options: dict[str, Any]) -> tuple[KernelModel, Indices | None]:
        """Return the model that a search prefers, and the rows to train it on; None: all."""
        scorer, say = LocalScorer(bench), _say if self.verbose else None
        result = Search(scorer, None, self.budget, self._seed, say).run()
        if self.prefer == "boosting":
            boosting = scorer.ask("boosting", inf, n=result.best.n)
            result = replace(result, boosting=boosting or {})
        if result.constant_is_as_good:
            warnings.warn("nothing is better than a constant, by the search's metric", stacklevel=3)
        self.search_, best = result, preferred(result, self.prefer)
        if best is None:
            weight = options.get("class_weight", result.facts.class_weights[0])
            return boosting_model(result.facts.task, weight, self._seed), None
        model, n = model_of(best.candidate, best.value, options, self._seed), result.rows.get(best)
        return model, bench.subsamples.rows(n) if n else None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels, or the values, of the rows of X (n, d), shape (n,)."""
        rows = self._rows(X)  # raises NotFittedError
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
        named = not isinstance(X, np.ndarray | list)
        frame = frame_of(X)
        validate_data(self, frame if named else X, skip_check_array=True, reset=False)
        if named and isinstance(frame, pd.DataFrame):
            return frame
        return pd.DataFrame(np.asarray(frame), columns=coding.names).infer_objects()

    def _scorer(
        self,
        X: Any,
        y: NDArray[Any],
        names: Sequence[str],
        groups: Any,
        options: Any,
        weights: Any,
        kept: Any,
    ) -> Scorer:
        check_consistent_length(X, groups)
        by = None if groups is None else np.asarray(groups)
        cv = self.cv if self.cv is not None or by is None else "group"
        if weights is not None and not (cv is None or isinstance(cv, int | str) or hasattr(cv, "split")):
            cv = [[np.flatnonzero(np.isin(kept, side)) for side in fold] for fold in cv]  # of all rows
        raw = Raw("the data", self._task, {"train": Part(X, y)})

        def data(scale: str) -> Dataset:
            protocol = Protocol.model_validate({} if scale == "own" else {"scale": scale})
            rows = learn(raw, protocol, np.arange(len(y)), None, weights).rows(X)
            parts = rows, y, rows[:0], y[:0]
            more = {"label_names": tuple(names), "by": by, "weights": weights}
            return Dataset(raw.name, *parts, self._task, "", verified=False, **more)

        jobs = 1 if self.n_jobs is None else self.n_jobs
        threads = jobs if jobs > 0 else max(1, physical_cores() + 1 + jobs)
        return Scorer(data, self._seed, threads, options, self.scoring, cv)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


@dataclass(eq=False, repr=False)
class KernelClassifier(ClassifierMixin, _KernelEstimator):
    """A kernel classifier that chooses scaling, kernel, map or exact SVM, D and C within a budget of time.

    The search is that of `kfeat tune`. A frame may have columns of words, dates and missing cells: missing
    numbers become the mean, words become columns of 0 and 1, dates become year, month, weekday and days.
    If no class has five rows, or all classes but one have a single row, there is no search, and an SVM with a
    Gaussian kernel is trained.

    Parameters
    ----------
    budget : float, default 60.0
        About how many seconds the search and the training of the best method take. The best is trained on all
        rows, or on as many as there is time for.
    scoring : str, optional
        The metric of the search, a name of scikit-learn's such as "roc_auc"; of two classes the last one is
        the positive one. None is the accuracy, or the balanced accuracy where more than 90 % of the rows have
        one label; R² in a regression.
    cv : int, splitter or iterable, optional
        The folds, as scikit-learn's `cross_validate` takes them; None is five or three folds of each class.
    prefer : {"accuracy", "speed", "boosting", "linear"}, default "accuracy"
        Choose the best method; or the map with the fewest features, or the linear model, within half a point
        of it; or scikit-learn's HistGradientBoosting if it is ahead in each fold and by more than that.
    random_state : int, RandomState or None, default 0
        The seed of the folds, the candidates and the map; None draws another one in each fit.
    n_jobs : int, optional
        The number of threads; None means one, and -1 all physical cores.
    verbose : bool, default False
        Whether to print what each candidate scores, with its gamma and its C or alpha.
    class_weight : dict, "balanced" or None, default None
        The weights of the classes, of a classifier. With None, "balanced" is a choice of the search where the
        metric is not the accuracy. Weights move the labels towards rare classes, while the probabilities
        stay those of the data: the label is then not always the class of the largest probability.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    model_ : KernelModel
        The trained model, with the coding of a frame's columns where they are not all numbers.
    search_ : SearchResult or None
        The candidates with their scores, the best one, and in `rows` on how many rows it was trained, if not
        on all; None without a search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier(budget=2).fit(X, y).score(X, y) > 0.95
    True
    """

    _task = "classification"
    class_weight: Annotated[Any, AfterValidator(_weight_of_classes)] = None

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values: (n,), positive for the last of two classes, or (n, classes)."""
        rows = self._rows(X)
        return np.asarray(self.model_.decision_function(rows))

    @available_when(lambda self: not hasattr(self, "model_") or hasattr(self.model_, "predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n, classes), learnt on the folds of the search; it needs one.

        The label has the largest probability, unless classes have weights, as they may for a metric such as
        the balanced accuracy.
        """
        rows = self._rows(X)
        return np.asarray(self.model_.predict_proba(rows))


class KernelRegressor(RegressorMixin, _KernelEstimator):
    """A kernel regressor: kernel ridge regression, or ridge regression on a map's features.

    The search, the parameters and the attributes are those of `KernelClassifier`, without those of classes.
    """

    _task = "regression"


def _say(scored: Scored, best: Scored) -> None:
    """Print what a candidate scored."""
    score = scored.reason or f"{scored.score:.4f}"
    print(f"{scored.n:>8,} rows  {scored.choices:<70}  {score}  best so far {best.score:.4f}")


@contextmanager
def _python_words() -> Iterator[None]:
    """Raise errors without the words of the command line and of configs."""
    try:
        yield
    except KfeatError as error:
        message = re.sub(r" with `drop: \[.*?\]`", "", str(error)).replace("--budget", "`budget`")
        raise type(error)(message) from None
