"""Least squares of classes, held against one regression for each class and against scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import RidgeClassifier as Theirs

from kfeat.batches import ArrayBatches
from kfeat.errors import ParameterError
from kfeat.kernels import Gaussian, Laplacian
from kfeat.maps import RandomBinning
from kfeat.solvers import (
    KernelRidge,
    KernelRidgeClassifier,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)

rng = np.random.default_rng(0)
X = rng.random((400, 6)) + np.arange(6)
LABELS = np.array(["b", "c", "a"])[np.digitize(X[:, 0] + X[:, 1] * X[:, 2] / 9, [0.65, 1.0])]
TWO = LABELS == "a"
WEIGHTS = rng.integers(0, 3, 400)
WIDE = RandomBinning(Laplacian(3.0), 32, random_state=0).fit_transform(X)
INTERCEPTS = pytest.mark.parametrize("intercept", [True, False, "mean"])


def signs(y):
    """One column of 1 and -1 for each class, or for two classes that of the second."""
    classes = np.unique(y)
    return 2.0 * (y[:, None] == (classes[1:] if len(classes) == 2 else classes)) - 1


@pytest.mark.parametrize("y", [LABELS, TWO], ids=["three", "two"])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_scikit_learn(y, intercept):
    for weights in (None, WEIGHTS):
        ours = RidgeClassifier(0.3, intercept).fit(X, y, weights)
        theirs = Theirs(0.3, fit_intercept=intercept, solver="svd").fit(X, y, weights)
        np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-7)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@INTERCEPTS
@pytest.mark.parametrize("y", [LABELS, TWO], ids=["three", "two"])
@pytest.mark.parametrize("rows", [X, csr_array(X), WIDE], ids=["dense", "sparse", "wide"])
def test_each_class_is_a_regression_of_its_signs(rows, y, intercept):
    for weights in (None, WEIGHTS):
        ours = RidgeClassifier(0.3, intercept).fit(rows, y, weights)
        parts = [Ridge(0.3, intercept).fit(rows, column, weights) for column in signs(y).T]
        expected = np.stack([part.predict(rows) for part in parts], axis=1)
        scores = ours.decision_function(rows)
        np.testing.assert_allclose(scores.reshape(expected.shape), expected, atol=2e-5)
        assert ours.objective_ == pytest.approx(sum(part.objective_ for part in parts), rel=1e-8)
        assert ours.converged_


@INTERCEPTS
def test_the_intercept_is_what_its_name_says(intercept):
    y = X @ np.arange(6.0) + 50
    centre, own = (X.mean(axis=0), y.mean()) if intercept is True else (0, y.mean() if intercept else 0)
    rows = X - centre
    w = np.linalg.solve(rows.T @ rows + 0.3 * np.eye(6), rows.T @ (y - own))
    expected = (X - centre) @ w + own
    np.testing.assert_allclose(Ridge(0.3, intercept).fit(X, y).predict(X), expected, rtol=1e-9)
    np.testing.assert_allclose(Ridge(0.3, intercept).fit_batches([(X[:150], y[:150]), (X[150:], y[150:])])
                               .predict(X), expected, rtol=1e-9)  # fmt: skip
    for kernel in (None, Gaussian(0.5)):
        solver = KernelRidge(kernel, 0.3, intercept).fit(X, y)
        if intercept == "mean":
            assert solver.intercept_ == pytest.approx(y.mean())
        if kernel is None:
            np.testing.assert_allclose(solver.predict(X), expected, rtol=1e-9)


def test_precisions_and_batches_agree(monkeypatch):
    whole = RidgeClassifier(0.1).fit(X, LABELS)
    single = RidgeClassifier(0.1).fit(X.astype(np.float32), LABELS)
    np.testing.assert_allclose(single.coef_, whole.coef_, atol=1e-4)
    monkeypatch.setattr("kfeat.batches.BATCH_BYTES", 8 * 6 * 100)
    batched = RidgeClassifier(0.1).fit(ArrayBatches(X), LABELS)
    np.testing.assert_allclose(batched.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_array_equal(batched.predict(ArrayBatches(X)), whole.predict(X))
    chosen = RidgeClassifierCV().fit(ArrayBatches(X), LABELS)
    np.testing.assert_allclose(chosen.coef_, RidgeClassifier(chosen.alpha_).fit(X, LABELS).coef_, rtol=1e-8)


@INTERCEPTS
@pytest.mark.parametrize("y", [LABELS, TWO], ids=["three", "two"])
def test_each_class_with_a_kernel_is_a_regression_too(y, intercept):
    kernel = Gaussian(0.5)
    for weights in (None, WEIGHTS):
        ours = KernelRidgeClassifier(kernel, 0.1, intercept).fit(X, y, weights)
        parts = [KernelRidge(kernel, 0.1, intercept).fit(X, column, weights) for column in signs(y).T]
        expected = np.stack([part.predict(X) for part in parts], axis=1)
        np.testing.assert_allclose(ours.decision_function(X).reshape(expected.shape), expected, atol=1e-9)
        assert ours.objective_ == pytest.approx(sum(part.objective_ for part in parts))
        places = expected.argmax(axis=1) if expected.shape[1] > 1 else (expected[:, 0] > 0).astype(int)
        np.testing.assert_array_equal(ours.predict(X), ours.classes_[places])


@pytest.mark.parametrize("rows", [X, WIDE], ids=["dense", "wide"])
@pytest.mark.parametrize("folds", [4, None])
def test_alpha_has_the_smallest_error_of_all_classes(rows, folds):
    grid = {"alpha_min": 0.01, "alpha_max": 10.0, "folds": folds}
    if folds is None and rows is WIDE:
        with pytest.raises(ParameterError, match="RidgeClassifierCV: leaving one out takes up to 1,024"):
            RidgeClassifierCV(**grid).fit(rows, LABELS)
        return
    ours = RidgeClassifierCV(**grid).fit(rows, LABELS)
    errors = sum(RidgeCV(**grid).fit(rows, column).cv_errors_ for column in signs(LABELS).T)
    np.testing.assert_allclose(ours.cv_errors_, errors, rtol=1e-6)
    assert ours.alpha_ == ours.alphas_[errors.argmin()]
    np.testing.assert_allclose(ours.coef_, RidgeClassifier(ours.alpha_).fit(rows, LABELS).coef_, atol=1e-4)


def test_conjugate_gradients_stop_where_they_are_told():
    short = RidgeClassifier(0.01, tol=1e-12, max_iter=3)
    with pytest.warns(UserWarning, match="has not converged"):
        short.fit(WIDE, LABELS)
    assert short.n_iter_ == 3
    assert not short.converged_
    rough = RidgeClassifier(0.01, tol=0.1).fit(WIDE, LABELS)
    assert rough.converged_
    assert rough.n_iter_ < RidgeClassifier(0.01).fit(WIDE, LABELS).n_iter_
    with pytest.raises(ParameterError, match="fit_intercept"):
        RidgeClassifier(fit_intercept="median").fit(X, LABELS)
