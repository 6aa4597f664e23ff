"""What the search of an estimator maximises: rare classes, errors, noise, groups."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.model_selection import GroupKFold

import kfeat
from kfeat.errors import DataError
from kfeat.own import search
from kfeat.render.tuning import score_text, warnings_of
from tests.own.asking import churn

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))


@pytest.mark.parametrize("metric", [None, "roc_auc"])
def test_rare_classes_are_told_apart_and_have_probabilities(metric, monkeypatch):
    """By accuracy a search returned the majority class: balanced accuracy 0.5."""
    monkeypatch.setattr(search, "MOST", 1)
    frame, y = churn(1500)
    model = kfeat.KernelClassifier(budget=4, scoring=metric, n_jobs=1).fit(frame[:900], y[:900])
    rows, labels = frame[900:], y[900:]
    assert metrics.balanced_accuracy_score(labels, model.predict(rows)) > (0.7 if metric is None else 0.49)
    assert metrics.roc_auc_score(labels == "yes", model.decision_function(rows)) > 0.8
    assert model.search_.facts.metric == (metric or "balanced_accuracy")
    assert not model.search_.constant_is_as_good
    assert abs(model.predict_proba(rows)[:, 1].mean() - 0.04) < 0.02  # although classes were weighted


def regression(scale=1.0):
    return scale * (X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=400))


@pytest.mark.parametrize("metric", ["neg_mean_absolute_error", "r2"])
def test_a_regression_is_compared_by_its_metric(metric, monkeypatch):
    monkeypatch.setattr(search, "MOST", 2)
    y = regression(1000.0)
    model = kfeat.KernelRegressor(budget=4, scoring=metric, n_jobs=1).fit(X, y)
    best = model.search_.best
    assert (best.score < 0) == (metric == "neg_mean_absolute_error")
    errors = abs(y - model.predict(X)).mean()
    assert errors < abs(y).mean() / 3
    assert "-" not in score_text(best.score, metric)


def test_noise_is_no_better_than_a_constant_and_says_so(monkeypatch):
    monkeypatch.setattr(search, "MOST", 1)
    y = rng.random(400) < 0.04
    model = kfeat.KernelClassifier(budget=4, scoring="accuracy", n_jobs=1)
    with pytest.warns(UserWarning, match="nothing is better than a constant"):
        model.fit(X, y)
    assert model.search_.constant == pytest.approx(np.mean(~y), abs=0.005)
    (told,) = warnings_of(model.search_)
    assert told.startswith("NOTHING IS BETTER THAN A CONSTANT: always the most frequent class has 9")


@pytest.mark.filterwarnings("ignore:nothing is better")
def test_rows_of_a_group_stay_together_and_leaks_do_not_count(monkeypatch):
    """Each group has a place and a label of its own: its rows are easy if some were seen, else impossible."""
    monkeypatch.setattr(search, "MOST", 1)
    draws = np.random.default_rng(4)
    groups = np.repeat(np.arange(60), 6)
    rows = draws.normal(size=(60, 3))[groups] + 0.01 * draws.normal(size=(360, 3))
    y = (draws.random(60) < 0.5)[groups]
    leaky, fair, same = (
        kfeat.KernelClassifier(n_candidates=3, n_jobs=1),
        *(kfeat.KernelClassifier(n_candidates=3, n_jobs=1, cv=cv) for cv in (None, GroupKFold(3))),
    )
    assert leaky.fit(rows, y).search_.best.score > 0.9
    for model in (fair, same):
        assert model.fit(rows, y, groups=groups).search_.best.score < 0.75
    with pytest.raises(DataError, match="two groups or more"):
        kfeat.KernelClassifier(budget=5).fit(rows, y, groups=np.zeros(360))
