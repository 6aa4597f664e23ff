"""The exact kernel SVM with the C that cross-validation chooses."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from kfeat.errors import DataError
from kfeat.kernels import Gaussian
from kfeat.solvers import Libsvm, LibsvmCV
from tests.solvers.problems import features, labels, values


def test_the_choice_is_that_of_scikit_learn_s_grid_search():
    X = features(150, 5)
    y = np.array(["a", "b", "c"])[labels(X, 3)]
    y[::7] = "a"  # noise, so that the largest C is not the best
    solver = LibsvmCV(Gaussian(0.3), C_min=0.01, C_max=1000.0, C_factor=10.0, random_state=3).fit(X, y)
    cut = StratifiedKFold(5, shuffle=True, random_state=3)
    grid = GridSearchCV(Libsvm(Gaussian(0.3)), {"C": 10.0 ** np.arange(-2, 4)}, cv=cut).fit(X, y)
    np.testing.assert_allclose(solver.cv_scores_.mean(axis=0), grid.cv_results_["mean_test_score"])
    assert solver.C_ == grid.best_params_["C"] == solver.learnt_parameters()["C"]
    assert solver.C_ not in (0.01, 1000.0)
    assert (solver.predict(X) == Libsvm(Gaussian(0.3), C=solver.C_).fit(X, y).predict(X)).all()
    assert str(clone(solver)) == str(solver)


def test_a_regression_and_too_few_rows():
    X = features(60, 3)
    solver = LibsvmCV(Gaussian("median"), solver_type=3, C_min=0.1, C_max=10.0, C_factor=10.0, folds=3)
    assert solver.fit(X, values(X)).cv_scores_.shape == (3, 3)
    with pytest.raises(DataError, match=r"5 folds .* of every class, got n_samples = 2 of one"):
        LibsvmCV().fit(X, np.r_[np.zeros(58), np.ones(2)])


def test_a_fold_of_a_regression_has_two_rows():
    X, y = features(10, 3), values(features(10, 3))
    machine = LibsvmCV(Gaussian(), solver_type=3)
    assert np.isfinite(machine.fit(X, y).cv_scores_).all()
    with pytest.raises(DataError, match="5 folds need two rows each, got n_samples = 9"):
        machine.fit(X[:9], y[:9])
