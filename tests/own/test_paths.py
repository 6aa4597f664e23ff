"""Scores along C and alpha."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit, cross_val_score
from sklearn.preprocessing import StandardScaler

from kfeat.own import paths
from kfeat.own.paths import kernel_ridge_scores, newton_scores, ridge_scores, seen_moments
from kfeat.own.scoring import metric_of
from kfeat.solvers import newton_method
from kfeat.solvers.base import TargetScale
from kfeat.solvers.moments import Moments

CS = [8.0**k for k in range(-3, 4)]


def test_folds_go_along_c_with_the_factors_of_hessians_or_without(monkeypatch):
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(400, 30))
    y = np.digitize(Z[:, 0] + rng.normal(size=400), [-0.8, 0.8])
    splits = list(StratifiedKFold(5, shuffle=True, random_state=3).split(Z, y))
    accuracy = metric_of("accuracy", y, True)
    quick = newton_scores("squared_hinge", Z, y, CS, splits, {"bias": 1.0}, accuracy)
    checked = []
    problem = newton_method.Problem

    def counted(*data):
        checked.append(1)
        return problem(*data)

    monkeypatch.setattr(newton_method, "Problem", counted)
    assert (
        newton_scores("squared_hinge", Z, y, CS, splits, {"bias": 1.0}, accuracy).tolist() == quick.tolist()
    )
    assert len(checked) == 5  # once a fold
    monkeypatch.setattr(paths, "MOST_KEPT", 0)
    slow = newton_scores("squared_hinge", Z, y, CS, splits, {"bias": 1.0}, accuracy)
    assert len(checked) == 5 + slow.size
    # Both stop at values of C beyond 1 that are no better; eps 0.01 leaves a row or two of 80 open.
    assert slow.shape == quick.shape
    assert 3 < slow.shape[1] < len(CS)
    assert np.abs(slow - quick).max() <= 2 / 80
    assert (quick.mean(axis=1) > 0.45).all()


def test_kernel_ridge_scores_are_those_of_scikit_learn_on_centred_targets():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] * X[:, 1] + 7.0 + 0.1 * rng.normal(size=120)
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    cutter, alphas = KFold(3, shuffle=True, random_state=0), [1e-3, 1e-1, 10.0]
    r2 = metric_of("r2", y, False)
    found = kernel_ridge_scores(K, y, alphas, list(cutter.split(X)), r2, None, TargetScale())
    for k, alpha in enumerate(alphas):
        centred = StandardScaler(with_std=False)
        theirs = TransformedTargetRegressor(
            KernelRidge(alpha=alpha, kernel="rbf", gamma=0.2), transformer=centred
        )
        np.testing.assert_allclose(found[:, k], cross_val_score(theirs, X, y, cv=cutter), rtol=1e-9)
    assert len({*found.mean(axis=0).round(3)}) == 3
    singular = kernel_ridge_scores(
        np.ones((6, 6)) - np.eye(6), np.arange(6.0), [1e-9], [([0, 1, 2], [3, 4, 5])], r2, None, TargetScale()
    )
    assert singular.tolist() == [[-np.inf]]


@pytest.mark.parametrize(
    "cutter",
    [KFold(3, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0), TimeSeriesSplit(3)],
    ids=lambda cutter: type(cutter).__name__,
)
@pytest.mark.parametrize("folds", [1, 3])
def test_the_moments_of_training_rows_are_theirs_however_the_folds_lie(cutter, folds):
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    splits = list(cutter.split(Z))[:folds]
    for found, (seen, _) in zip(seen_moments(Z, y, splits), splits, strict=True):
        expected = Moments.of(Z[seen], y[seen])
        assert found.n == expected.n
        assert np.allclose(found.xx, expected.xx)
        assert np.allclose(found.xy, expected.xy)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(3).uniform(0.5, 2, 300)])
def test_scores_of_wide_sparse_features_are_those_of_the_same_features_dense(weights):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((300, 1100)) * (rng.random((300, 1100)) < 0.02)
    y = dense[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(300)
    metric = metric_of("neg_root_mean_squared_error", y, False)
    splits = list(KFold(3).split(dense))
    more = splits, metric, weights, TargetScale.learn("none", y, weights)
    sparse_scores, dense_scores = (ridge_scores(Z, y, [1.0, 10.0], *more) for Z in (csr_array(dense), dense))
    assert_allclose(sparse_scores, dense_scores, rtol=1e-3)


def test_an_alpha_whose_system_is_not_solved_has_no_score(monkeypatch):
    rng = np.random.default_rng(0)
    Z, y = csr_array(rng.standard_normal((90, 1100))), rng.standard_normal(90)
    metric, splits = metric_of("r2", y, False), list(KFold(3).split(Z))
    monkeypatch.setattr(paths, "FOLD_STEPS", 4)
    more = splits, metric, None, TargetScale.learn("none", y, None)
    scores = ridge_scores(Z, y, [1e-6, 1e6], *more)
    assert np.isneginf(scores[:, 0]).all()
    assert np.isfinite(scores[:, 1]).all()
