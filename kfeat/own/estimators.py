"""The search as scikit-learn's estimators: KernelClassifier and KernelRegressor."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator
from sklearn.base import ClassifierMixin, RegressorMixin

from kfeat.own.search_estimator import KernelEstimator
from kfeat.solvers.base import available_when


def _weight_of_classes(value: Any) -> Any:
    if not isinstance(value, dict | None) and not (isinstance(value, str) and value == "balanced"):
        raise ValueError("expected None, 'balanced' or a mapping of labels to weights")
    return value


@dataclass(eq=False, repr=False)
class KernelClassifier(ClassifierMixin, KernelEstimator):
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
    n_candidates : int, optional
        How many candidates are scored, in the place of the budget: no clock decides anything, so that the
        search is a function of the data, the seed and this number. A candidate takes a second or so, and
        their sizes are limited as in a budget of so many seconds.
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
    n_train_ : int
        On how many rows it was trained: all, or as many as there was time for.
    best_params_, best_score_ : dict, float or None
        The scale, kernel, map and solver of what was trained, with their parameters by the names of configs,
        and its mean score on the folds; None without a search.
    cv_results_ : dict or None
        All that was scored, as in GridSearchCV: `params`, `param_C`, `mean_test_score`, `rank_test_score`,
        ...; also on how many rows (`n_samples`), and about the `seconds` of one value of C or alpha.
    search_ : SearchResult or None
        The search itself; None without one.

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


class KernelRegressor(RegressorMixin, KernelEstimator):
    """A kernel regressor: kernel ridge regression, or ridge regression on a map's features.

    The search, the parameters and the attributes are those of `KernelClassifier`, without those of classes.
    """

    _task = "regression"
