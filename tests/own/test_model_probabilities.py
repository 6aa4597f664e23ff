"""Probabilities that a model learns from held-out rows."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.model_selection import StratifiedKFold

from kfeat.kernels import Gaussian
from kfeat.maps import RandomFourier
from kfeat.own import KernelModel, load_model
from kfeat.solvers import Liblinear, Libsvm, Newton


def test_probabilities_are_learnt_on_held_out_rows_and_kept_in_the_file(tmp_path):
    rows = np.random.default_rng(1).normal(size=(3000, 2))
    y = np.random.default_rng(2).random(3000) < 1 / (1 + np.exp(-2 * rows[:, 0]))
    model = KernelModel(RandomFourier(Gaussian(0.1), n_components=40, random_state=0), Newton()).fit(
        rows[:1200], y[:1200]
    )
    assert not hasattr(model, "predict_proba")
    folds = [(np.arange(1200) % 3 != k, np.arange(1200) % 3 == k) for k in range(3)]
    model.calibrate(model.preparation_.rows(rows[:1200]), y[:1200], folds)
    probabilities = model.predict_proba(rows[1200:])
    share, predicted = calibration_curve(y[1200:], probabilities[:, 1], n_bins=5)
    assert abs(share - predicted).max() < 0.1
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict_proba(rows[1200:]), probabilities)
    model.fit(rows, y)
    assert not hasattr(model, "predict_proba")  # an earlier fit's


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "solver", [Newton(), Newton(loss="logistic"), Libsvm(Gaussian(0.5)), Liblinear(solver_type=0)], ids=repr
)
def test_the_label_has_the_largest_probability_also_far_away(n_classes, solver):
    rows = np.random.default_rng(1).normal(size=(300, 3))
    y = np.digitize(rows[:, 0] * rows[:, 1], [-0.3, 0.3][: n_classes - 1])
    folds = [(np.flatnonzero(np.arange(300) % 3 != k), np.arange(k, 300, 3)) for k in range(3)]
    model = KernelModel(solver=solver).fit(rows, y)
    model.calibrate(model.preparation_.rows(rows), y, folds)
    near = model.predict_proba(rows)
    for times in (1, 1e2, 1e6):
        found = model.predict_proba(times * rows)
        assert (found.argmax(axis=1) == model.predict(times * rows)).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert found.max() <= 1
    if n_classes == 2:  # a larger score has no smaller probability
        order = model.decision_function(rows).argsort()
        assert (np.diff(near[order, 1]) >= -1e-12).all()


def test_probabilities_of_weighted_classes_are_those_of_the_data():
    rows = np.random.default_rng(1).normal(size=(900, 2))
    y = (rows[:, 0] + np.random.default_rng(2).normal(size=900) > 2).astype(int)
    folds = [(np.flatnonzero(np.arange(900) % 3 != k), np.arange(k, 900, 3)) for k in range(3)]
    model = KernelModel(solver=Newton(class_weight="balanced", bias=1.0)).fit(rows, y)
    found = model.calibrate(model.preparation_.rows(rows), y, folds).predict_proba(rows)
    assert found[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)
    assert model.predict(rows).mean() > 2 * y.mean()  # labels are moved towards the rare class


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_of_many_classes_are_learnt_without_a_warning():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(16), 24)
    rows = rng.normal(size=(384, 6)) + 0.5 * y[:, None] * rng.normal(size=6)
    model = KernelModel(solver=Newton(C=1000.0), scale="zscore").fit(rows, y)
    prepared = model.preparation_.rows(rows)
    model.calibrate(prepared, y, list(StratifiedKFold(3).split(rows, y)))
    assert model.calibrator_.n_iter_.max() < model.calibrator_.max_iter
