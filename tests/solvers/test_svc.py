"""Svc is the kernel SVM of LIBSVM: the same dual, solved by scikit-learn's copy of it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.svm import SVC

from kfeat.errors import ParameterError, SolverError
from kfeat.kernels import Gaussian, Laplacian, Polynomial
from kfeat.solvers import Libsvm, Svc
from tests.solvers.problems import features, labels

KERNELS = {
    "linear": None,
    "gaussian": Gaussian(0.7),
    "poly3": Polynomial(3, 0.5, 1.0),
    "laplacian": Laplacian(0.5),
}


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", list(KERNELS))
def test_the_machine_is_libsvm_s(name, classes, make):
    X, T = features(200, 10, density=0.5), features(100, 10, seed=7, density=0.5)
    y = labels(X, classes)
    X, y = X[np.argsort(y)], np.sort(y)  # of equal votes LIBSVM takes the class that it saw first
    theirs = Libsvm(KERNELS[name], C=2.0, eps=1e-7).fit(X, y)
    ours = Svc(KERNELS[name], C=2.0, eps=1e-7).fit(make(X), y)
    np.testing.assert_allclose(ours.decision_function(make(T)), theirs.decision_function(T), atol=3e-6)
    assert np.array_equal(ours.predict(make(T)), theirs.predict(T))
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    assert ours.converged_
    if name != "linear":  # whose solution has other coefficients too, since K is singular
        assert np.array_equal(ours.support_, np.sort(theirs.support_))
        assert np.array_equal(ours.n_support_, theirs.n_support_)


def test_the_objective_is_the_dual_value_and_the_primal_one():
    X = features(150, 6)
    y = labels(X, 2)
    kernel = Polynomial(2, 1.0, 1.0)
    fitted = Svc(kernel, eps=1e-8).fit(X, y)
    a, K = fitted.dual_coef_[0], kernel(X[fitted.support_])
    assert fitted.objective_ == pytest.approx(
        np.abs(a).sum() - a @ K @ a / 2, rel=1e-7
    )  # K is kept in float32
    margins = (2 * y - 1) * fitted.decision_function(X)
    assert fitted.objective_ == pytest.approx(a @ K @ a / 2 + np.maximum(1 - margins, 0).sum(), rel=1e-6)
    assert fitted.fit(X[:100], y[:100]).objective_ < 0.9 * (
        np.abs(a).sum() - a @ K @ a / 2
    )  # not the old one


def test_classes_may_cost_differently():
    X = features(200, 8)
    y = labels(X, 3) - 1  # -1, 0, 1
    weights = {-1: 0.3, 0: 1.7, 1: 1.0}
    ours = Svc(Gaussian(0.7), C=3.0, eps=1e-7, class_weight=weights).fit(X, y)
    theirs = Libsvm(Gaussian(0.7), C=3.0, eps=1e-7, class_weight=weights).fit(X, y)
    plain = Libsvm(Gaussian(0.7), C=3.0, eps=1e-7).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    assert ours.objective_ != pytest.approx(plain.objective_, rel=1e-2)


def test_kernel_values_beyond_float32_give_the_machine_of_the_small_ones():
    X, T = features(151, 6), features(90, 6, seed=4)
    y = labels(X, 3)
    factor = 2.0**140  # 1.4e42
    large = Svc(Polynomial(2, factor**0.5, factor**0.5), C=3.0 / factor, eps=1e-7).fit(X, y)
    theirs = SVC(kernel="precomputed", C=3.0, tol=1e-7).fit(Polynomial(2, 1.0, 1.0)(X), y)
    K = Polynomial(2, 1.0, 1.0)(T, X)
    np.testing.assert_allclose(large.decision_function(T), theirs.decision_function(K), atol=1e-5)
    with pytest.raises(SolverError, match="beyond the single precision"):
        Svc().fit(X * 1e45, y)


def test_a_limit_that_is_reached_is_told():
    X = features(300, 6)
    y = labels(X, 2)
    best = Svc(Gaussian(3.0)).fit(X, y)
    stopped = Svc(Gaussian(3.0), max_iter=2).fit(X, y)
    assert (stopped.n_iter_, stopped.converged_, stopped.stop_reason_) == (2, False, "iteration limit")
    assert 0 < stopped.objective_ < 0.999 * best.objective_
    with pytest.raises(ParameterError, match="Svc: eps: expected at most 2"):
        Svc(eps=3.0).fit(X, y)


def test_a_small_cache_changes_nothing_but_time():
    X = features(300, 8)
    y = labels(X, 2)
    small, large = (Svc(Polynomial(2), cache_mb=m).fit(X, y) for m in (0.01, None))
    assert np.array_equal(small.dual_coef_, large.dual_coef_)
    assert (small.cache_mb_, large.cache_mb_) == (0.01, 100)


def test_single_precision_and_a_copy_give_the_same_machine():
    X = features(200, 8, dtype=np.float32)
    y = labels(X, 3)
    fitted = Svc(Gaussian("median")).fit(X, y)
    again = clone(fitted).fit(X.astype(np.float64), y)
    assert fitted.kernel_.gamma == pytest.approx(again.kernel_.gamma, rel=1e-5)
    assert fitted.objective_ == pytest.approx(again.objective_, rel=1e-5)
    assert (fitted.predict(X) == again.predict(X)).mean() > 0.99
