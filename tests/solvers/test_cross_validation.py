"""Cross-validation over one parameter."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from kfeat.errors import DataError
from kfeat.kernels import Gaussian
from kfeat.solvers import Libsvm, LibsvmCV, Newton, NewtonCV, Ridge, grid_scores, path_scores
from tests.solvers.problems import features, labels, problem, values


@pytest.mark.parametrize("solver", [Newton(eps=1e-8, warm_start=True), Libsvm(Gaussian(0.5))])
def test_scores_are_those_of_scikit_learn_s_cross_validation(solver):
    X, y = problem(300, 8, classes=3)
    Cs = [0.01, 1.0, 10.0]
    splits = list(StratifiedKFold(5, shuffle=True, random_state=3).split(X, y))
    found = grid_scores(solver, X, y, "C", Cs, folds=5, random_state=3)
    for k, C in enumerate(Cs):
        cold = Newton(C=C, eps=1e-8) if isinstance(solver, Newton) else Libsvm(Gaussian(0.5), C=C)
        np.testing.assert_allclose(found[:, k], cross_val_score(cold, X, y, cv=splits), atol=0.02)
    assert found.shape == (5, 3)


def test_folds_go_along_together_until_they_are_told_to_stop():
    X, y = problem(200, 6, classes=2)
    splits, Cs = list(ShuffleSplit(3, random_state=0).split(X)), [0.01, 0.1, 1.0, 10.0]
    newton, seen = Newton(eps=1e-8, warm_start=True), []

    def stop(C, means):
        seen.append((C, len(means)))
        return C >= 0.1

    whole = path_scores(newton, X, y, Cs, splits, accuracy)
    assert path_scores(newton, X, y, Cs, splits, accuracy, stop=stop).tolist() == whole[:, :2].tolist()
    assert seen == [(0.01, 1), (0.1, 2)]
    refitted = path_scores(newton, X, y, Cs, splits, accuracy, stop=lambda *_: False, keep=False)
    np.testing.assert_allclose(refitted, whole, atol=0.05)  # a row of 20


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_gram_matrix_and_weights_are_cut_into_folds_too(n_jobs):
    X, y = problem(150, 4, classes=3)
    K, weights = Gaussian(0.5)(X, X), np.random.default_rng(0).random(150)
    splits = list(StratifiedKFold(3).split(X, y))
    expected = [
        [
            accuracy(
                SVC(C=C, gamma=0.5).fit(X[seen], y[seen], weights[seen]), X[held], y[held], weights[held]
            )
            for C in (0.1, 10.0)
        ]
        for seen, held in splits
    ]
    found = path_scores(
        SVC(kernel="precomputed"), K, y, [0.1, 10.0], splits, accuracy, weights, n_jobs=n_jobs
    )
    np.testing.assert_allclose(found, expected)
    assert found[0, 0] != found[0, 1]


def accuracy(trained, X, y, weights=None):
    return np.average(trained.predict(X) == y, weights=weights)


def test_regression_is_scored_by_r2():
    X = features(200, 5)
    found = grid_scores(Ridge(), X, values(X), "alpha", [1e-3, 1e3], folds=4)
    assert found.shape == (4, 2)
    assert (found[:, 0] > 0.9).all()
    assert (found[:, 1] < 0.5).all()


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_best_c_trains_the_final_model(loss):
    X = features(400, 30)
    y = np.array(["no", "yes"])[labels(X, 2)]
    solver = NewtonCV(1e-3, 10.0, 10.0, loss=loss).fit(X, y)
    np.testing.assert_allclose(solver.Cs_, [1e-3, 1e-2, 0.1, 1, 10])
    means = solver.cv_scores_.mean(axis=0)
    assert solver.Cs_[np.argmax(means)] == solver.C_
    direct = Newton(loss, C=solver.C_).fit(X, y)
    assert np.array_equal(solver.coef_, direct.coef_)
    assert np.array_equal(solver.predict(X), direct.predict(X))
    assert hasattr(solver, "predict_proba") == (loss == "logistic")


def test_folds_and_solves_depend_on_the_seed_alone():
    X, y = problem(300, 10, classes=3)
    first, again, other = (NewtonCV(random_state=seed).fit(X, y).cv_scores_ for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("solver", "n", "words"),
    [
        (NewtonCV(), 30, r"NewtonCV: 5 folds .* of every class, got n_samples = 2 of one"),
        (LibsvmCV(), 60, r"LibsvmCV: 5 folds .* of every class, got n_samples = 2 of one"),
        (LibsvmCV(solver_type=3), 9, "LibsvmCV: 5 folds need two rows each, got n_samples = 9"),
    ],
)
def test_folds_without_rows_of_every_class_are_refused(solver, n, words):
    with pytest.raises(DataError, match=words):
        solver.fit(features(n, 3), np.r_[np.zeros(n - 2), np.ones(2)])


def test_frames_and_series_are_taken_by_position():
    X, y = problem(90, 4, classes=2)
    expected = grid_scores(Newton(), X, y, "C", [1.0])
    order = np.random.default_rng(0).permutation(90)
    shuffled = pd.Series(y, index=order), pd.DataFrame(X, index=order)
    np.testing.assert_array_equal(grid_scores(Newton(), shuffled[1], shuffled[0], "C", [1.0]), expected)
    np.testing.assert_array_equal(grid_scores(Newton(), X.tolist(), y.tolist(), "C", [1.0]), expected)


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


def test_a_regression_with_two_rows_in_each_fold():
    X = features(10, 3)
    machine = LibsvmCV(Gaussian("median"), 3, C_min=0.1, C_max=10.0, C_factor=10.0).fit(X, values(X))
    assert machine.cv_scores_.shape == (5, 3)
    assert np.isfinite(machine.cv_scores_).all()
