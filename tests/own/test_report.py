"""What a page shows of held-out rows: predictions, probabilities and the columns by their names."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from kfeat.data import FileSource, load
from kfeat.kernels import Gaussian
from kfeat.learnt_metric import LearntMetric
from kfeat.maps import RandomFourier
from kfeat.own import KernelModel
from kfeat.own.candidates import boosting_model
from kfeat.own.report import columns_of, held_out_answers, metric_weights
from kfeat.own.scoring import metric_of
from kfeat.solvers import Newton, Ridge
from tests.own.asking import churn


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """Return the data of customers under a scaling; a date and a constant column tell nothing."""
    frame, y = churn(1200)
    days = np.random.default_rng(0).integers(10, 29, 1200)
    frame = frame.assign(day=[f"2024-01-{day}" for day in days], country="here", leaves=y)
    path = tmp_path_factory.mktemp("churn") / "churn.csv"
    frame.to_csv(path, index=False)
    source = FileSource(path=str(path), target="leaves", categorical="one_hot", missing="mean")
    fixed = {"split": {"kind": "fraction", "train": 0.5, "seed": 0}, "constant_features": "drop"}
    return lambda scale: load(source, fixed | {"scale": scale})


@pytest.mark.parametrize("boosting", [False, True])
def test_the_columns_that_matter_are_named(customers, boosting):
    scaled, data = customers("none" if boosting else "zscore"), customers("none")
    model = KernelModel(solver=Newton(C=0.1, class_weight="balanced"))
    if boosting:
        model = boosting_model("classification", "balanced", 0).set_params(solver__max_iter=30)
    model.fit_prepared(scaled.preparation, scaled.X_train, scaled.y_train)
    metric = metric_of("roc_auc", data.y_train, True)
    shown = held_out_answers(model, data, metric, 60.0, 0)
    assert (shown.classes, shown.weights) == (["no", "yes"], {})
    np.testing.assert_array_equal(shown.known, data.y_test)
    np.testing.assert_array_equal(shown.predicted, model.predict_prepared(scaled.X_test))
    assert metrics.roc_auc_score(data.y_test, shown.probabilities[:, 1]) > 0.8
    assert [*shown.importances] == ["age", "months", "calls", "plan", "region", "bill", "day", "country"]
    fall = {name: mean for name, (mean, _) in shown.importances.items()}
    assert fall["calls"] > 0.1 > abs(fall["day"])
    assert fall["country"] == 0
    assert shown.n_shuffled == 600
    assert not held_out_answers(model, data, metric, 0.0, 0).importances


def test_all_features_of_a_word_or_a_date_are_of_one_column(customers):
    data = customers("none")
    names, column = columns_of(data.coding, data.preparation)
    assert len(column) == data.X_test.shape[1]
    assert np.bincount(column, minlength=8).tolist() == [1, 1, 1, 3, 8, 1, 2, 0]  # without constant features
    assert names[3] == "plan"


def test_a_metric_has_a_weight_for_each_column_with_those_of_all_its_features(customers):
    data, metric = customers("none"), LearntMetric()
    metric.weights_, metric.round_ = np.arange(17.0), 1
    weights = metric_weights(replace(data.preparation, chain=(metric,)), data.coding)
    assert [*weights] == ["age", "months", "calls", "plan", "region", "bill", "day", "country"]
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["plan"] == pytest.approx((3**2 + 4**2 + 5**2) / (np.arange(17) ** 2).sum())
    assert weights["age"] == weights["country"] == 0
    metric.round_ = 0  # no metric was better than none
    assert metric_weights(replace(data.preparation, chain=(metric,)), data.coding) == {}


@pytest.mark.parametrize("step", ["learnt_metric", "learnt_rotation"])
def test_what_a_model_answers_has_the_weights_of_its_metric(step):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.sin(3 * X[:, 1]) + X[:, 2] / 2
    model = KernelModel(RandomFourier(Gaussian(0.5), 64, random_state=0), Ridge(), ["zscore", step]).fit(X, y)
    data = type("Data", (), {"X_test": X, "y_test": y, "coding": None, "label_names": ()})
    weights = held_out_answers(model, data, metric_of("r2", y, False), 0.0, 0).weights
    assert sorted(weights, key=weights.get) == ["column 0", "column 2", "column 1"]
    assert weights["column 1"] > 5 * weights["column 2"]  # the derivative's mean square: 18 times


def test_a_regression_without_names_has_numbered_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 3 * X[:, 1] + X[:, 2]
    model = boosting_model("regression", None, 0).set_params(solver__max_iter=30).fit(X, y)
    data = type("Data", (), {"X_test": X, "y_test": y, "coding": None, "label_names": ()})
    shown = held_out_answers(model, data, metric_of("r2", y, False), 60.0, 0)
    assert (shown.classes, shown.probabilities) == ([], None)
    np.testing.assert_array_equal(shown.known, y)
    assert sorted(shown.importances, key=shown.importances.get)[-1] == "column 1"
