"""Ridge regression, its cross-validation and kernel ridge, held against direct solutions."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge
from sklearn.linear_model import Ridge as TheirRidge

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian, Linear, Polynomial
from kfeat.solvers import KernelRidge, Ridge, RidgeCV, least_squares, regression_errors, relative_error
from kfeat.solvers.moments import Moments
from tests.solvers.problems import features, values


def problem(n=300, d=12, dtype=np.float64):
    X = features(n, d, dtype=dtype)
    return X + np.arange(d, dtype=dtype), 100 + values(X)  # means far from zero


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-8, 1.0, 1e4])
def test_equals_scikit_learn(alpha, intercept):
    X, y = problem()
    ours = Ridge(alpha, intercept).fit(X, y)
    theirs = TheirRidge(alpha, fit_intercept=intercept, solver="svd").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    residuals = y - ours.predict(X)
    assert ours.objective_ == pytest.approx(residuals @ residuals + alpha * ours.coef_ @ ours.coef_, rel=1e-8)


@pytest.mark.parametrize("sizes", [[300], [1, 299], [7] * 42 + [6]])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_batches_of_any_size_give_the_same_fit(make, sizes):
    X, y = problem()
    ends = np.cumsum(sizes)
    batches = ((make(X[e - s : e]), y[e - s : e]) for s, e in zip(sizes, ends, strict=True))
    streamed = Ridge(0.5).fit_batches(batches)
    whole = Ridge(0.5).fit(X, y)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-11)


def test_moments_survive_means_that_dwarf_the_spread():
    rng = np.random.default_rng(0)
    X = 1e7 + rng.standard_normal((500, 3))
    y = 1e6 + X @ np.ones(3) + rng.standard_normal(500)
    moments = Moments.of(X[:100], y[:100]) + Moments.of(X[100:], y[100:])
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(moments.xx, centred.T @ centred, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(moments.xy, centred.T @ (y - y.mean()), rtol=1e-6, atol=1e-4)


def direct_errors(X, y, alphas, splits, intercept):
    errors = []
    for alpha in alphas:
        squares = [
            (y[out] - Ridge(alpha, intercept).fit(X[seen], y[seen]).predict(X[out])) ** 2
            for seen, out in splits
        ]
        errors.append(np.concatenate(squares).mean())
    return errors


@pytest.mark.parametrize(
    ("n", "d", "scale", "digits", "intercept", "make"),
    [
        *((20, 5, 1.0, 6, intercept, dtype)
          for intercept in (True, False) for dtype in (np.float32, np.float64)),
        (20, 20, 1e4, 9, True, np.asarray),
        (21, 20, 1e4, 6, False, csr_array),
        (21, 20, 1e4, 6, True, np.asarray),
        (20, 40, 1.0, 9, True, np.asarray),
        (20, 40, 1e5, 9, False, csr_array),
    ],
)  # fmt: skip
def test_leaving_one_out_equals_leaving_each_out(n, d, scale, digits, intercept, make):
    rng = np.random.default_rng(n)
    dense = scale * (rng.standard_normal((n, d)) + 3)
    X, y = make(dense), dense @ rng.standard_normal(d) / scale + rng.standard_normal(n)
    ours = RidgeCV(folds=None, fit_intercept=intercept).fit(X, y)
    rows = np.arange(n)
    expected = direct_errors(X, y, ours.alphas_, [(rows[rows != i], rows[[i]]) for i in rows], intercept)
    np.testing.assert_allclose(ours.cv_errors_, expected, rtol=10.0**-digits)
    best = Ridge(ours.alphas_[np.argmin(expected)], intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, best.coef_, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_folds_from_moments_equal_folds_from_rows(intercept, monkeypatch):
    X, y = problem(90, 6)
    seen = []
    monkeypatch.setattr(
        Moments, "of", classmethod(lambda cls, A, b, of=Moments.of.__func__: seen.append(b) or of(cls, A, b))
    )
    ours = RidgeCV(1e-3, 1e2, folds=4, fit_intercept=intercept).fit(X, y)
    folds = [np.flatnonzero(np.isin(y, b)) for b in seen]
    monkeypatch.undo()
    assert sorted(len(fold) for fold in folds) == [22, 22, 23, 23]
    rows = np.arange(90)
    splits = [(np.setdiff1d(rows, fold), fold) for fold in folds]
    expected = direct_errors(X, y, ours.alphas_, splits, intercept)
    np.testing.assert_allclose(ours.cv_errors_, expected, rtol=1e-7)


def test_folds_of_batches_are_equal_and_reach_the_same_choice():
    X, y = problem(400, 6)
    whole = RidgeCV(folds=5).fit(X, y)
    streamed = RidgeCV(folds=5).fit_batches((X[i : i + 37], y[i : i + 37]) for i in range(0, 400, 37))
    np.testing.assert_allclose(streamed.cv_errors_, whole.cv_errors_, rtol=0.1)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-3)
    with pytest.raises(ParameterError, match="give folds"):
        RidgeCV(folds=None).fit_batches([(X, y)])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_kernel_ridge_is_ridge_in_feature_space(make, intercept, monkeypatch):
    monkeypatch.setattr(least_squares, "BLOCK_VALUES", 1000)
    X, y = problem(120, 4)
    ours = KernelRidge(Linear(), 0.3, intercept).fit(make(X), y)
    plain = Ridge(0.3, intercept).fit(X, y)
    np.testing.assert_allclose(ours.predict(make(X)), plain.predict(X), rtol=1e-8)
    assert ours.objective_ == pytest.approx(plain.objective_, rel=1e-6)


def test_kernel_ridge_equals_scikit_learn():
    X, T = features(150, 5), features(80, 5, seed=3)
    y = values(X)
    for kernel in (Gaussian(0.5), Polynomial(3, 1.0, 1.0)):
        ours = KernelRidge(kernel, 0.1, fit_intercept=False).fit(X, y)
        theirs = TheirKernelRidge(alpha=0.1, kernel="precomputed").fit(kernel(X), y)
        np.testing.assert_allclose(ours.predict(T), theirs.predict(kernel(T, X)), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        KernelRidge(Gaussian("median")).fit(X, y).kernel_.gamma, Gaussian("median").resolve(X, 0).gamma
    )


def test_relative_error_is_that_of_the_paper():
    assert relative_error([3.0, 4.0], [3.0, 3.0]) == pytest.approx(0.2)
    found = regression_errors([3.0, 4.0], [3.0, 3.0])
    assert found["rmse"] == pytest.approx(np.sqrt(0.5))
    assert found["mae"] == pytest.approx(0.5)
    assert found["relative_error"] == pytest.approx(0.2)
    assert found["r2"] == pytest.approx(-1.0)


def test_folds_of_batches_take_no_more_memory_for_more_batches():
    rng = np.random.default_rng(0)

    def batches():
        return ((rng.random((10, 200)), rng.random(10)) for _ in range(100))

    tracemalloc.start()
    RidgeCV(folds=2).fit_batches(batches())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 8 * 200**2  # a Gram matrix of each batch and fold would be 200 of them


def test_batches_that_are_empty_or_not_finite():
    X, y = problem(30, 3)
    whole = Ridge().fit(X, y)
    for made in (Ridge(), RidgeCV()):
        np.testing.assert_array_equal(
            made.fit_batches([(X[:0], y[:0]), (X[:0], y[:0]), (X, y)]).coef_,
            (whole if type(made) is Ridge else RidgeCV().fit(X, y)).coef_,
        )
        with pytest.raises(DataError, match="not finite"):
            made.fit_batches([(np.where(X > 1, np.nan, X), y)])
    with pytest.raises(DataError, match="at least one row"):
        Ridge().fit_batches([(X[:0], y[:0])])
    with pytest.raises(DataError, match="at least two rows"):
        RidgeCV(folds=None).fit([[1.0]], [2.0])


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1.0, 1e3])
def test_fewer_rows_than_columns_are_solved_to_rounding_whatever_the_scale(alpha, make):
    rng = np.random.default_rng(0)
    X, others = 1e4 * rng.standard_normal((50, 200)), 1e4 * rng.standard_normal((20, 200))
    y = X[:, 0] / 1e4
    ours = Ridge(alpha).fit(make(X), y).predict(others)
    theirs = TheirRidge(alpha, solver="svd").fit(X, y).predict(others)
    assert np.abs(ours - theirs).max() < 1e-12


def test_batches_that_do_not_fit_are_counted_in_words():
    with pytest.raises(DataError, match="a batch has 1 row and 2 targets: give a target for each row"):
        Moments.of(np.ones((1, 2)), np.ones(2))
    with pytest.raises(DataError, match="batches of 1 feature and of 2: give all the same"):
        Moments.of(np.ones((2, 1)), np.ones(2)) + Moments.of(np.ones((2, 2)), np.ones(2))
