"""What the estimators that search share: checked rows, the search, and the training of what is preferred."""

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
from kfeat.own.candidates import BOOSTING, Candidate, boosting_model, model_of
from kfeat.own.cv_results import cv_results, params_of
from kfeat.own.facts import steps_of
from kfeat.own.folds import at, enough_rows
from kfeat.own.frames import CODED, as_dense, as_targets, frame_of
from kfeat.own.model import KernelModel, without_zeros
from kfeat.own.model_format import save_model
from kfeat.own.result import Prefer, Scored, SearchResult, preferred
from kfeat.own.scorer import Scorer
from kfeat.own.scorer_process import LocalScorer
from kfeat.own.search import Search
from kfeat.parameters import Iterations, Jobs, check_parameters
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


def _state(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32
    if not whole and not isinstance(value, np.random.RandomState | None):
        raise ValueError("expected None, a whole number from 0 to 4294967295, or a RandomState of NumPy")
    return value


@dataclass(eq=False, repr=False)
class KernelEstimator(Estimator):
    """What the classifier and the regressor share."""

    _task: ClassVar[Literal["classification", "regression"]]
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}  # a pipeline routes them

    budget: Annotated[Any, AfterValidator(_seconds)] = 60.0
    n_candidates: Iterations | None = None
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
        X, y = self._checked(X, y)
        kept = np.arange(len(y))
        sample_weight, X, y, groups, kept = without_zeros(sample_weight, X, y, groups, kept)
        coding = None
        if isinstance(X, pd.DataFrame):
            with _python_words():
                coding = learn_coding(X, CODED, task=self._task, weights=sample_weight)
        codes, names = y, list[str]()
        if self._task == "classification":
            check_classification_targets(y)
            self.classes_, codes = np.unique(y, return_inverse=True)
            names = [*map(str, self.classes_)]
        scorer, rows = None, None  # None: all rows
        if self._can_choose(codes):
            matrix = X if coding is None else as_dense(coding.matrix(X))
            scorer = self._scorer(matrix, codes, names, groups, sample_weight, kept)
            with _python_words():
                model, rows = self._searched(scorer)
        else:
            model = self._without_search()
        with warnings.catch_warnings():  # about redundant landmarks, which the search allows
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            warnings.filterwarnings("ignore", "LearntMetric: no metric")  # of all rows, though of folds
            model.set_params(coding=coding)
            parts = (part if part is None else _safe_indexing(part, rows) for part in (X, y, sample_weight))
            self.model_ = model.fit(*parts)
            if scorer is not None and self.search_ is not None and self._task == "classification":
                some, folds = scorer.subsamples.folds(self.search_.best.n)
                prepared = model.preparation_.rows(model.raw_rows(_safe_indexing(X, some)))
                model.calibrate(prepared, y[some], folds, at(sample_weight, some))
        self.n_train_ = int(self.model_.about_["n_train"])
        return self

    @property
    def _options(self) -> dict[str, Any]:
        """What the classifier of every candidate has."""
        weight = getattr(self, "class_weight", None)
        return {} if weight is None else {"class_weight": weight}

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return checked rows, as a frame if they are one or have gaps or words, and labels or targets."""
        regression, given, X = self._task == "regression", X, frame_of(X)
        y = np.asarray(y) if type(y).__module__.startswith("polars") else y
        y = as_targets(y) if regression and y is not None else y
        if not isinstance(X, pd.DataFrame):
            rows = canonical(X)
            return validate_data(self, rows, y, y_numeric=regression, ensure_min_samples=2, **ROWS)
        validate_data(self, X, skip_check_array=True)
        if isinstance(given, np.ndarray | list):
            del self.feature_names_in_  # arrays have none
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if n := int(pd.isna(y).sum()):
            raise DataError(f"expected a label for each row, got {counted(n, 'rows')} without one")
        return X, y

    def _can_choose(self, codes: NDArray[Any]) -> bool:
        """Return whether rows with these codes or targets (n,) have folds that train two classes each."""
        classes = self._task == "classification"
        several = not classes or np.sort(np.bincount(codes))[-2:].min() > 1
        return enough_rows(codes, classes) and bool(several)

    def _without_search(self) -> KernelModel:
        """Return what is trained on too few rows to choose: a Gaussian kernel with C or alpha 1."""
        loss: Any = "squares" if self._task == "regression" else "squared_hinge"
        gaussian = Candidate("zscore", {"name": "gaussian", "gamma": "median"}, None, loss)
        self.search_: SearchResult | None = None
        self.cv_results_: dict[str, Any] | None = None
        self.best_score_: float | None = None
        self.best_params_ = params_of(gaussian, 1.0)
        return model_of(gaussian, 1.0, self._options, self._seed)

    def _searched(self, scorer: Scorer) -> tuple[KernelModel, Indices | None]:
        """Return the model that a search prefers, and the rows to train it on; None: all."""
        local, say = LocalScorer(scorer), _say if self.verbose else None
        result = Search(local, None, self.budget, self._seed, say, self.n_candidates).run()
        if self.prefer == "boosting":
            boosting = local.ask("boosting", inf, n=result.best.n)
            result = replace(result, boosting=boosting or {})
        if result.constant_is_as_good:
            warnings.warn("nothing is better than a constant, by the search's metric", stacklevel=3)
        self.search_, best = result, preferred(result, self.prefer)
        self.cv_results_ = cv_results(result.scored)
        if best is None:
            task = result.facts.task
            self.best_params_, self.best_score_ = {"solver": BOOSTING[task]}, float(result.boosting["score"])
            weight = self._options.get("class_weight", result.facts.class_weights[0])
            return boosting_model(task, weight, self._seed), None
        self.best_params_, self.best_score_ = params_of(best.candidate, best.value), best.score
        n = result.rows.get(best)
        model = model_of(best.candidate, best.value, self._options, self._seed)
        return model, scorer.subsamples.rows(n) if n else None

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
            protocol = Protocol.model_validate({"scale": steps_of(scale)})
            rows = learn(raw, protocol, np.arange(len(y)), None, weights).rows(X)
            parts = rows, y, rows[:0], y[:0]
            more = {"label_names": tuple(names), "by": by, "weights": weights}
            return Dataset(raw.name, *parts, self._task, "", verified=False, **more)

        jobs = 1 if self.n_jobs is None else self.n_jobs
        threads = jobs if jobs > 0 else max(1, physical_cores() + 1 + jobs)
        return Scorer(data, self._seed, threads, self._options, self.scoring, cv)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


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
