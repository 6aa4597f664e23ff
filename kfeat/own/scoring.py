"""From answers to scores: the metric of a search, and the usual scores of a model."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import linear_model, metrics
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import cross_val_predict

from kfeat.data.cells import listed
from kfeat.errors import ConfigError, DataError
from kfeat.parameters import did_you_mean
from kfeat.solvers import regression_errors

NO_SCORE = {"failed": "the score is undefined, like R² of a single row"}
USUAL = (
    "accuracy", "balanced_accuracy", "roc_auc", "roc_auc_ovr", "average_precision", "f1", "f1_macro",
    "neg_log_loss", "r2", "neg_mean_absolute_error", "neg_root_mean_squared_error",
)  # fmt: skip
# The beginnings of metrics of orders and probabilities, to which weights of classes matter little.
OF_SCORES = ("roc_auc", "average_precision", "neg_", "d2_")
MOSTLY = 0.9  # share of rows of one class above which the accuracy tells nothing


class Held(BaseEstimator):
    """A model's answers for held-out rows, as an estimator that scorers of scikit-learn ask.

    Classes are positions, so that the last one counts as positive. If the model has no probabilities, they
    are those of logistic regression on its decision values, cross-validated on these rows.
    """

    def __init__(self, answer: Callable[[str], Any], y: NDArray[Any], labels: NDArray[Any] | None) -> None:
        self.answer, self.y, self.labels = answer, y, labels

    @property
    def classes_(self) -> NDArray[Any]:
        """The positions of the classes."""
        assert self.labels is not None
        return np.arange(len(self.labels))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the values, or the positions of the labels, whatever X is."""
        predicted = self.answer("predict")
        return np.asarray(predicted if self.labels is None else positions(self.labels, predicted))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values."""
        return np.asarray(self.answer("decision_function"))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n, classes)."""
        try:
            return np.asarray(self.answer("predict_proba"))
        except AttributeError:
            values = self.decision_function(X).reshape(len(self.y), -1)
        return np.asarray(
            cross_val_predict(linear_model.LogisticRegression(), values, self.y, method="predict_proba")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.labels is None else "classifier"
        return tags


@dataclass(frozen=True)
class Metric:
    """A scorer of scikit-learn, the larger the better; `labels` are the classes, None in a regression."""

    name: str
    labels: NDArray[Any] | None

    def __call__(self, answer: Callable[[str], Any], y: NDArray[Any], weights: Any = None) -> float:
        """Return the score of what `answer(method)` returns, beside the labels or targets y (n,).

        Weights (n,) count if the metric takes them.
        """
        held, scorer = self.held(answer, y), get_scorer(self.name)
        takes = weights is not None and "sample_weight" in signature(scorer._score_func).parameters
        options = {"sample_weight": weights} if takes else {}
        return float(scorer(held, None, held.y, **options))

    def held(self, answer: Callable[[str], Any], y: NDArray[Any]) -> Held:
        """Return the answers as an estimator, beside the positions of labels, or the targets, y (n,)."""
        known = y if self.labels is None else positions(self.labels, y)
        return Held(answer, known, self.labels)

    def of(self, model: Any, X: Any, y: NDArray[Any], weights: Any = None) -> float:
        """Return the score of a fitted model on rows X."""
        return self(lambda method: getattr(model, method)(X), y, weights)

    def of_values(self, predicted: NDArray[np.float64], y: NDArray[Any], weights: Any = None) -> float:
        """Return the score of what a regression predicts (n,)."""
        return self(lambda method: predicted, y, weights)


def positions(labels: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Return the positions of y among sorted labels, and their number for another label."""
    places = np.searchsorted(labels, y).clip(max=len(labels) - 1)
    return np.where(labels[places] == y, places, len(labels))


def metric_of(name: str, y: NDArray[Any], classes: bool) -> Metric:
    """Return a metric by its name in scikit-learn; raises ConfigError if it does not suit y (n,)."""
    if name not in get_scorer_names():
        known = f"{did_you_mean(name, get_scorer_names())}; such as {listed(USUAL)}"
        raise ConfigError(f"metric: scikit-learn has no scorer '{name}'{known}")
    labels = np.unique(y) if classes else None
    if labels is not None and len(labels) < 2:
        raise DataError("expected labels of two classes or more, got one class")
    metric = Metric(name, labels)
    if not suits(metric, y):
        suited = [other for other in USUAL if suits(Metric(other, labels), y)]
        what = "a regression" if labels is None else f"{len(labels)} classes"
        raise ConfigError(f"metric: {name} does not suit {what}; these do: {listed(suited)}")
    return metric


def suits(metric: Metric, y: NDArray[Any]) -> bool:
    """Return whether a metric has a value for a constant, and is for targets only if y (n,) are targets."""
    if metric.labels is None:
        return _value(metric, y)
    few = np.tile(metric.labels, 10)
    return _value(metric, few) and not _value(Metric(metric.name, None), np.array([0.5, 1.25, 2.5]))


def _value(metric: Metric, y: NDArray[Any]) -> bool:
    """Return whether a metric has a value for a model without features."""
    X = np.zeros((len(y), 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(np.isfinite(metric.of(without_features(metric.labels is not None).fit(X, y), X, y)))
    except (AttributeError, TypeError, ValueError):
        return False


def without_features(classes: bool) -> Any:
    """Return what always predicts the most frequent class, or the mean, if all features are 0."""
    return linear_model.RidgeClassifier() if classes else linear_model.Ridge()


def default_metric(y: NDArray[Any], classes: bool) -> tuple[str, str]:
    """Return the metric that suits labels or targets y (n,), and why if it is not the usual one."""
    if not classes:
        return "r2", ""
    share = float(np.unique(y, return_counts=True)[1].max() / len(y))
    if share <= MOSTLY:
        return "accuracy", ""
    return "balanced_accuracy", f"{share:.1%} of the rows have one label, so always predicting it is accurate"


def best_column(scores: NDArray[np.float64], values: Sequence[float]) -> dict[str, Any]:
    """Return the column of the best mean with its value, mean and standard deviation over the folds."""
    best = int(np.argmax(scores.mean(axis=0)))
    column = scores[:, best]
    if not np.isfinite(column).all():
        return dict(NO_SCORE)
    return {
        "value": float(values[best]),
        "score": float(column.mean()),
        "sd": float(column.std(ddof=1)) if len(column) > 1 else 0.0,
        "folds": column.tolist(),
    }


def judged(model: Any) -> list[str]:
    """Return the methods of a model that the usual scores need."""
    methods = ("predict", "decision_function", "predict_proba")
    return [method for method in methods if hasattr(model, method)]


def scores_of(
    outputs: Mapping[str, NDArray[Any]], y: NDArray[Any], classes: NDArray[Any] | None, weights: Any = None
) -> dict[str, float]:
    """Return the usual scores of what the methods of a model return, `classes` in the order of its columns.

    A classifier has the accuracy, and that of always the most frequent class; the balanced accuracy, and that
    of always one class (`chance`); F1, of the last of two classes, else its mean. Two classes have the area
    under the ROC curve, probabilities the log loss. A regression has its errors. Rows count by their weights.
    """
    if classes is None:
        return regression_errors(y, outputs["predict"], weights)
    known, predicted = (pd.Index(classes).get_indexer(labels) for labels in (y, outputs["predict"]))
    places, at = np.unique(known, return_inverse=True)
    counts, w = np.bincount(at, weights), {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a class without a row
        two = {"average": "binary" if len(classes) == 2 and known.min() >= 0 else "macro"}
        scores = {
            "accuracy": metrics.accuracy_score(known, predicted, **w),
            "most_frequent_class": counts.max() / counts.sum(),
            "balanced_accuracy": metrics.balanced_accuracy_score(known, predicted, **w),
            "chance": 1 / len(places),
            "f1": metrics.f1_score(known, predicted, **two, **w),
        }
    if len(places) == len(classes) == 2 and known.min() >= 0:
        scores["roc_auc"] = metrics.roc_auc_score(known, outputs["decision_function"], **w)
    if "predict_proba" in outputs and known.min() >= 0:
        labels = np.arange(len(classes))
        scores["log_loss"] = metrics.log_loss(known, outputs["predict_proba"], labels=labels, **w)
    return {name: float(score) for name, score in scores.items()}
