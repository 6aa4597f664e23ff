"""Metrics are those of scikit-learn, whatever the labels are."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from kfeat.errors import ConfigError
from kfeat.own import KernelModel
from kfeat.own.scoring import best_column, default_metric, metric_of, scores_of
from kfeat.solvers import Newton

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
RARE = np.where(X[:, 0] + 0.7 * rng.normal(size=400) > 1.6, 7, 3)  # the last class is the rare one


@pytest.mark.parametrize(
    "name",
    ["accuracy", "balanced_accuracy", "roc_auc", "average_precision", "f1", "f1_macro", "neg_log_loss"],
)
def test_a_metric_is_that_of_scikit_learn_whatever_the_labels_are(name):
    """Also where scikit-learn wants 0 and 1, or -1 and 1, for two classes."""
    model = Newton(loss="logistic").fit(X, RARE)
    codes = (RARE == 7).astype(int)
    theirs = metrics.get_scorer(name)(Newton(loss="logistic").fit(X, codes), X, codes)
    assert metric_of(name, RARE, True).of(model, X, RARE) == pytest.approx(theirs)


def test_decision_values_alone_have_a_log_loss_near_that_of_logistic_regression():
    metric = metric_of("neg_log_loss", RARE, True)
    loss, theirs = (metric.of(m.fit(X, RARE), X, RARE) for m in (SVC(), LogisticRegression()))
    constant = metrics.log_loss(RARE == 7, np.full(400, np.mean(RARE == 7)))
    assert -constant + 0.03 < loss < 0
    assert abs(loss - theirs) < 0.08


@pytest.mark.parametrize(
    ("name", "y", "told"),
    [
        ("acuracy", RARE, r"no scorer 'acuracy' \(did you mean 'accuracy'\?\); such as accuracy, bal"),
        ("roc_auc", np.arange(30) % 3, r"roc_auc does not suit 3 classes; these do: .*roc_auc_ovr"),
        ("f1", np.arange(30) % 3, r"f1 does not suit 3 classes; these do: .*f1_macro"),
        ("r2", RARE, r"r2 does not suit 2 classes"),
        ("roc_auc", X[:, 0], r"roc_auc does not suit a regression; these do: r2, neg_mean_abs"),
        ("neg_mean_squared_log_error", X[:, 0] - 5, "does not suit a regression"),
    ],
)
def test_a_metric_that_does_not_suit_the_labels_is_refused(name, y, told):
    with pytest.raises(ConfigError, match=told):
        metric_of(name, y, y.dtype.kind != "f")


def test_the_accuracy_counts_unless_nearly_all_rows_have_one_label():
    assert default_metric(np.arange(100) % 2, True) == ("accuracy", "")
    name, why = default_metric((np.arange(100) < 4).astype(int), True)
    assert name == "balanced_accuracy"
    assert why.startswith("96.0% of the rows")
    assert default_metric(X[:, 0], False) == ("r2", "")


def test_the_usual_scores_are_those_of_scikit_learn_for_three_classes_too():
    y = np.array(["b", "a", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = KernelModel(solver=Newton(loss="logistic")).fit(X, y)
    outputs = model.outputs(X, ["predict", "decision_function", "predict_proba"])
    found = scores_of(outputs, y, model.classes_)
    assert found["f1"] == pytest.approx(metrics.f1_score(y, outputs["predict"], average="macro"))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, outputs["predict_proba"]))
    assert "roc_auc" not in found
    assert found["chance"] == pytest.approx(1 / 3)


def test_a_score_without_a_value_is_a_failure_and_no_number():
    """As R^2 on folds of a single row."""
    found = best_column(np.array([[0.5], [np.nan], [0.25]]), [1.0])
    assert "single row" in found["failed"]
    assert best_column(np.array([[0.5], [0.25]]), [1.0])["score"] == 0.375
