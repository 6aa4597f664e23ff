"""Svc and ExactSvm are the kernel SVM of LIBSVM: the same dual, solved by others."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.svm import SVC

from kfeat.errors import ParameterError, SolverError
from kfeat.kernels import Gaussian, Laplacian, Polynomial
from kfeat.solvers import ExactSvm, Libsvm, Svc
from kfeat.solvers.exact import subproblem, working_sets
from kfeat.solvers.exact.rows import KernelRows
from tests.solvers.problems import features, labels

BOTH = [Svc, ExactSvm]
KERNELS = {
    "linear": None,
    "gaussian": Gaussian(0.7),
    "poly3": Polynomial(3, 0.5, 1.0),
    "laplacian": Laplacian(0.5),
}


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", list(KERNELS))
def test_the_machine_is_libsvm_s(name, classes, make, solver):
    X, T = features(200, 10, density=0.5), features(100, 10, seed=7, density=0.5)
    y = labels(X, classes)
    X, y = X[np.argsort(y)], np.sort(y)  # of equal votes LIBSVM takes the class that it saw first
    theirs = Libsvm(KERNELS[name], C=2.0, eps=1e-7).fit(X, y)
    ours = solver(KERNELS[name], C=2.0, eps=1e-7).fit(make(X), y)
    np.testing.assert_allclose(ours.decision_function(make(T)), theirs.decision_function(T), atol=3e-6)
    assert np.array_equal(ours.predict(make(T)), theirs.predict(T))
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    assert ours.converged_
    if name != "linear":  # whose solution has other coefficients too, since K is singular
        assert np.array_equal(ours.support_, np.sort(theirs.support_))
        assert np.array_equal(ours.n_support_, theirs.n_support_)


@pytest.mark.parametrize("solver", BOTH)
def test_the_objective_is_the_dual_value_and_the_primal_one(solver):
    X = features(150, 6)
    y = labels(X, 2)
    kernel = Polynomial(2, 1.0, 1.0)
    fitted = solver(kernel, eps=1e-8).fit(X, y)
    a, K = fitted.dual_coef_[0], kernel(X[fitted.support_])
    assert fitted.objective_ == pytest.approx(
        np.abs(a).sum() - a @ K @ a / 2, rel=1e-7
    )  # K is kept in float32
    margins = (2 * y - 1) * fitted.decision_function(X)
    assert fitted.objective_ == pytest.approx(a @ K @ a / 2 + np.maximum(1 - margins, 0).sum(), rel=1e-6)
    assert fitted.fit(X[:100], y[:100]).objective_ < 0.9 * (
        np.abs(a).sum() - a @ K @ a / 2
    )  # not the old one


@pytest.mark.parametrize("solver", BOTH)
def test_classes_may_cost_differently(solver):
    X = features(200, 8)
    y = labels(X, 3) - 1  # -1, 0, 1
    weights = {-1: 0.3, 0: 1.7, 1: 1.0}
    ours = solver(Gaussian(0.7), C=3.0, eps=1e-7, class_weight=weights).fit(X, y)
    theirs = Libsvm(Gaussian(0.7), C=3.0, eps=1e-7, class_weight=weights).fit(X, y)
    plain = Libsvm(Gaussian(0.7), C=3.0, eps=1e-7).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    assert ours.objective_ != pytest.approx(plain.objective_, rel=1e-2)


@pytest.mark.parametrize("solver", BOTH)
def test_kernel_values_beyond_float32_give_the_machine_of_the_small_ones(solver):
    X, T = features(151, 6), features(90, 6, seed=4)
    y = labels(X, 3)
    factor = 2.0**140  # 1.4e42
    large = solver(Polynomial(2, factor**0.5, factor**0.5), C=3.0 / factor, eps=1e-7).fit(X, y)
    theirs = SVC(kernel="precomputed", C=3.0, tol=1e-7).fit(Polynomial(2, 1.0, 1.0)(X), y)
    K = Polynomial(2, 1.0, 1.0)(T, X)
    np.testing.assert_allclose(large.decision_function(T), theirs.decision_function(K), atol=1e-5)
    with pytest.raises(SolverError, match="beyond the single precision"):
        solver().fit(X * 1e45, y)


@pytest.mark.parametrize("solver", BOTH)
def test_a_limit_that_is_reached_is_told(solver):
    X = features(300, 6)
    y = labels(X, 2)
    best = solver(Gaussian(3.0)).fit(X, y)
    stopped = solver(Gaussian(3.0), max_iter=2).fit(X, y)
    assert (stopped.n_iter_, stopped.converged_, stopped.stop_reason_) == (2, False, "iteration limit")
    assert 0 < stopped.objective_ < 0.999 * best.objective_
    with pytest.raises(ParameterError, match=f"{solver.__name__}: eps: expected at most 2"):
        solver(eps=3.0).fit(X, y)


@pytest.fixture
def small_sets(monkeypatch):
    """Working sets that are small beside the problems, as on large data."""
    monkeypatch.setattr(working_sets, "LARGEST", 60)
    monkeypatch.setattr(working_sets, "LEAST_NEW", 16)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Polynomial(4, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_many_small_working_sets_reach_the_same_machine(kernel, C, small_sets):
    X = features(250, 10)
    y = labels(X, 2)
    ours, theirs = (solver(kernel, C=C, eps=1e-4).fit(X, y) for solver in (ExactSvm, Libsvm))
    assert ours.converged_
    assert ours.n_iter_ > 5
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-5)
    slopes = 2 * y - 1 - kernel(X)[:, ours.support_] @ -ours.dual_coef_[0]  # of the first class: -1 here
    b = np.zeros(len(y))
    b[ours.support_] = -ours.dual_coef_[0]
    low, high = np.minimum((2 * y - 1) * C, 0), np.maximum((2 * y - 1) * C, 0)
    assert slopes[b < high].max() - slopes[b > low].min() < 2e-4
    assert abs(b.sum()) < 1e-9 * C


def test_a_hard_margin_keeps_its_digits():
    """All coefficients are far below C: sums from the lower bounds, -C, would lose them."""
    X = features(300, 20)
    y = (X[:, 0] > 0).astype(int)
    ours, theirs = (solver(Polynomial(2, 1e3, 1.0), C=1e6).fit(X, y) for solver in (ExactSvm, Svc))
    assert np.abs(theirs.dual_coef_).max() < 1
    assert ours.converged_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-3)


def test_no_progress_is_told(monkeypatch):
    monkeypatch.setattr(working_sets, "STALLED", 1)
    monkeypatch.setattr(working_sets, "GAIN", 10.0)
    X = features(300, 6)
    fitted = ExactSvm(Gaussian(3.0)).fit(X, labels(X, 2))
    assert (fitted.converged_, fitted.stop_reason_) == (False, "no progress in single precision")


def test_rows_are_computed_once_while_they_are_kept_and_the_oldest_go():
    K = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    asked = []
    rows = KernelRows(lambda block: asked.extend(block) or K[block], 8, capacity=4)
    at = np.array([0, 3, 5])
    assert np.array_equal(rows.among(at), K[np.ix_(at, at)])
    np.testing.assert_allclose(rows.combined(np.array([3, 5]), np.array([2.0, -1.0])), 2 * K[3] - K[5])
    assert asked == [0, 3, 5]
    rows.among(np.array([1, 2]))  # row 0 goes: 3 and 5 were asked for since
    rows.among(np.array([3, 5]))
    assert asked == [0, 3, 5, 1, 2]
    rows.among(np.array([0]))
    assert asked == [0, 3, 5, 1, 2, 0]


def test_a_row_that_is_not_finite_is_refused():
    rows = KernelRows(lambda block: np.full((len(block), 3), np.inf), 3, 3)
    with pytest.raises(SolverError, match="not finite"):
        rows.among(np.array([1]))


def test_rows_beside_which_all_others_vanish_are_refused():
    X = features(60, 4)
    y = labels(X, 2)
    X[0] *= 1e22
    with pytest.raises(SolverError, match="scale the features down"):
        ExactSvm().fit(X, y)


@pytest.mark.parametrize("shift", [0.0, 1e7])  # linear terms of which float32 keeps no digit behind the point
def test_a_working_set_goes_on_from_where_it_is(shift, monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 8))
    H, c = A @ A.T, rng.standard_normal(40) + shift
    x, upper = rng.choice([0.0, 0.3, 1.0], 40), np.ones(40)

    def value(z):
        return z @ H @ z / 2 + (c - shift) @ z

    best = subproblem.improved(H, H @ x + c, x, upper, 1e-6)
    slopes = H @ best + c
    assert slopes[best > 0].max() - slopes[best < 1].min() < 2e-5
    assert best.sum() == pytest.approx(x.sum(), abs=1e-9)
    assert 0 <= best.min() <= best.max() <= 1
    monkeypatch.setattr(subproblem, "ITERATIONS", 1)
    once = subproblem.improved(H, H @ x + c, x, upper, 1e-6)
    assert np.count_nonzero(np.abs(once - x) > 1e-9) == 2  # one pair of rows has moved
    assert value(best) < value(once) < value(x)


def test_a_small_cache_changes_nothing_but_time():
    X = features(300, 8)
    y = labels(X, 2)
    for solver in BOTH:
        small, large = (solver(Polynomial(2), cache_mb=m).fit(X, y) for m in (0.01, None))
        assert np.array_equal(small.dual_coef_, large.dual_coef_)
        assert (small.cache_mb_, large.cache_mb_) == (0.01, 100)


@pytest.mark.parametrize("solver", BOTH)
def test_single_precision_and_a_copy_give_the_same_machine(solver):
    X = features(200, 8, dtype=np.float32)
    y = labels(X, 3)
    fitted = solver(Gaussian("median")).fit(X, y)
    again = clone(fitted).fit(X.astype(np.float64), y)
    assert fitted.kernel_.gamma == pytest.approx(again.kernel_.gamma, rel=1e-5)
    assert fitted.objective_ == pytest.approx(again.objective_, rel=1e-5)
    assert (fitted.predict(X) == again.predict(X)).mean() > 0.99
