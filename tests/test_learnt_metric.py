"""The learnt metric: what it finds, what it leaves alone, and what it is of other rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import check_estimator

from kfeat import LearntMetric
from kfeat.errors import DataError, ParameterError
from kfeat.learnt_metric import Labelled, Predictor

SMALL = {"n_components": 128, "rounds": 4}


def table(n=2000, d=14, classes=0, seed=0):
    """Rows of which the columns 2, 5, 7 and 11 matter, and targets or classes by quantiles of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 2]) + X[:, 5] * X[:, 7] + 0.7 * X[:, 11] + 0.1 * rng.standard_normal(n)
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    return X, y


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_the_columns_that_matter_are_found(classes):
    X, y = table(classes=classes)
    metric = LearntMetric(task="classification" if classes else "regression", **SMALL).fit(X, y)
    assert sorted(np.argsort(metric.weights_)[-4:].tolist()) == [2, 5, 7, 11]
    assert metric.weights_[[2, 5, 7, 11]].min() > 3 * np.delete(metric.weights_, [2, 5, 7, 11]).max()
    assert metric.losses_[metric.round_] == metric.losses_.min() < 0.8 * metric.losses_[0]


@pytest.mark.filterwarnings("ignore:LearntMetric")  # by columns all are alike
def test_a_direction_is_found_by_the_full_matrix_alone():
    X = np.random.default_rng(1).standard_normal((2000, 8))
    direction = np.ones(8) / np.sqrt(8)
    y = np.sin(2 * X @ direction)
    full, diagonal = (
        LearntMetric("regression", kind, n_components=256).fit(X, y) for kind in ("full", "diagonal")
    )
    values, vectors = np.linalg.eigh(full.matrix_)
    assert abs(vectors[:, -1] @ direction) > 0.99
    assert values[-1] > 5 * values[-2]
    assert full.losses_.min() < 0.5 * diagonal.losses_.min()
    assert_allclose(full.matrix_, full.matrix_.T)


def test_weights_are_root_mean_square_derivatives():
    """Those of a linear function are its coefficients; M itself would have their squares."""
    X = np.random.default_rng(3).standard_normal((2000, 3))
    weights = LearntMetric("regression", **SMALL).fit(X, X @ [3.0, 1.0, 0.0]).weights_
    assert weights[0] / weights[1] == pytest.approx(3, rel=0.15)


def test_a_row_of_weight_two_trains_and_counts_as_twice():
    rng = np.random.default_rng(4)
    X, Y, counts = rng.standard_normal((60, 4)), rng.standard_normal((60, 2)), rng.integers(1, 4, 60)
    W, b, twice = rng.standard_normal((4, 32)), rng.uniform(0, 6, 32), np.repeat(np.arange(60), counts)
    weighted, repeated = (
        Labelled(X, Y, counts.astype(float)),
        Labelled(X[twice], Y[twice], np.ones(len(twice))),
    )
    one, other = (Predictor.fit(rows, W, b, 0.1, rows) for rows in (weighted, repeated))
    assert one.loss == pytest.approx(other.loss, rel=1e-3)
    for full in (False, True):
        products = one.gradient_products(weighted, full), other.gradient_products(repeated, full)
        assert_allclose(*products, rtol=0.02, atol=1e-4)


@pytest.mark.parametrize("matrix", ["diagonal", "full"])
def test_the_variances_keep_their_sum(matrix):
    X, y = table()
    Z = LearntMetric("regression", matrix, **SMALL).fit(X, y).transform(X)
    assert Z.var(axis=0).sum() == pytest.approx(X.var(axis=0).sum(), rel=0.02)  # of the rows that train


def test_targets_that_nothing_predicts_keep_the_scale_of_all_columns_and_say_so():
    """Of ten draws of noise none is taken for more; three standard errors leave 0.1 % a draw."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        X, y = rng.standard_normal((900, 6)), rng.standard_normal(900)
        with pytest.warns(UserWarning, match="all columns keep their scale"):
            metric = LearntMetric("regression", n_components=64, rounds=3).fit(X, y)
        assert_array_equal(metric.weights_, np.ones(6))
        assert_array_equal(metric.transform(X), X)


def test_a_constant_column_is_left_out():
    X, y = table(d=12)
    X[:, 0] = 3.0
    metric = LearntMetric("regression", **SMALL).fit(X, y)
    assert metric.weights_[0] == 0 < metric.weights_[2]
    with pytest.warns(UserWarning, match="keep their scale"):
        LearntMetric("regression").fit(np.ones((100, 2)), np.arange(100.0))


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2], [0, 0, 1, 1, 2]])
def test_a_row_or_two_of_a_class_keep_the_scale_of_all_columns(labels):
    X = np.random.default_rng(0).standard_normal((len(labels), 3))
    with pytest.warns(UserWarning, match="keep their scale"):
        assert LearntMetric().fit(X, labels).round_ == 0


def test_sparse_rows_have_the_metric_of_dense_ones():
    X, y = table(d=12)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0
    dense, sparse = (LearntMetric("regression", **SMALL).fit(rows, y) for rows in (X, csr_array(X)))
    assert_allclose(sparse.weights_, dense.weights_, rtol=1e-4)
    Z = sparse.transform(csr_array(X))
    assert (Z.format, Z.nnz) == ("csr", (dense.transform(X) != 0).sum())
    assert_allclose(Z.toarray(), dense.transform(X), rtol=1e-4)


def test_rows_of_weight_zero_do_not_count_and_equal_weights_change_nothing():
    X, y = table(n=2000, d=12)
    metric = LearntMetric("regression", **SMALL)
    plain = metric.fit(X, y).weights_
    assert_allclose(metric.fit(X, y, np.full(2000, 3.0)).weights_, plain, rtol=1e-2)
    wrong = np.r_[y, 100 * np.random.default_rng(0).standard_normal(500)]
    noisy = metric.fit(np.r_[X, X[:500]], wrong, np.r_[np.ones(2000), np.zeros(500)]).weights_
    assert sorted(np.argsort(noisy)[-4:].tolist()) == [2, 5, 7, 11]


def test_single_precision_is_mapped_with_the_same_metric():
    X, y = table()
    metric = LearntMetric("regression", **SMALL).fit(X, y)
    assert_allclose(metric.transform(X.astype(np.float32)), metric.transform(X), rtol=1e-5, atol=1e-6)


def test_what_it_does_not_take_is_refused():
    X, y = table(n=50)
    with pytest.raises(ParameterError, match="a full matrix takes 500 columns at most, got 501"):
        LearntMetric("regression", "full").fit(np.ones((20, 501)), np.arange(20.0))
    with pytest.raises(DataError, match="two classes or more, got one"):
        LearntMetric().fit(X, np.zeros(50))
    with pytest.raises(ParameterError, match="matrix"):
        LearntMetric(matrix="round").fit(X, y)


@pytest.mark.filterwarnings("ignore:LearntMetric")
def test_it_keeps_scikit_learns_promises():
    drawn = "which rows are held out depends on their number, so a weight of 2 is not quite a row twice"
    failing = {f"check_sample_weight_equivalence_on_{kind}_data": drawn for kind in ("dense", "sparse")}
    check_estimator(
        LearntMetric(n_components=16, rounds=2), expected_failed_checks=failing, on_skip=None, on_fail="raise"
    )
