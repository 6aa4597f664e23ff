"""Libsvm is LIBSVM, equal to the package's own train and predict; Svc is scikit-learn's copy of it."""

import warnings

import numpy as np
import pytest
from libsvm import svmutil
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from kfeat.kernels import Exponential, Gaussian, Laplacian, Linear, Polynomial
from kfeat.solvers import Libsvm, Svc, libsvm_model
from kfeat.solvers.libsvm_model import NativeKernel
from tests.solvers.problems import features, labels, problem, values

KERNELS = {
    "none": (None, "-t 0"),
    "linear": (Linear(), "-t 0"),
    "gaussian": (Gaussian(0.7), "-t 2 -g 0.7"),
    "poly4": (Polynomial(4, 1.0, 1.0), "-t 1 -d 4 -g 1 -r 1"),
    "poly3": (Polynomial(3, 0.5, 0.0), "-t 1 -d 3 -g 0.5 -r 0"),
}


def by_class(X, classes):
    """Return rows and labels by class: of equal votes LIBSVM takes the class that it saw first."""
    y = labels(X, classes)
    return X[np.argsort(y)], np.sort(y)


def package_model(X, y, options):
    return svmutil.svm_train(np.asarray(y, dtype=float), X, options + " -q -m 50")


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", list(KERNELS))
def test_classifiers_equal_the_package(name, classes, make):
    kernel, options = KERNELS[name]
    X = 2 * features(250, 10, density=0.5)
    y = labels(X, classes)
    T = 2 * features(300, 10, seed=7, density=0.5)
    T[:3] = 0
    solver = Libsvm(kernel, C=2.0).fit(make(X), y)
    model = package_model(X, y, options + " -c 2")
    assert np.array_equal(solver.support_ + 1, model.get_sv_indices())
    assert np.array_equal(solver.dual_coef_.T, model.get_sv_coef())
    assert np.array_equal(solver.intercept_, -np.array(model.rho[: len(solver.intercept_)]))
    assert solver.n_support_.sum() == model.get_nr_sv()
    found, _, _ = svmutil.svm_predict([], T, model, "-q")
    assert np.array_equal(solver.predict(make(T)), found)


@pytest.mark.parametrize("name", list(KERNELS))
def test_regression_equals_the_package(name):
    kernel, options = KERNELS[name]
    X = features(150, 5)
    y = values(X)
    solver = Libsvm(kernel, solver_type=3, C=2.0, p=0.05).fit(X, y)
    model = package_model(X, y, options + " -s 3 -c 2 -p 0.05")
    assert np.array_equal(solver.dual_coef_.T, model.get_sv_coef())
    found, _, _ = svmutil.svm_predict([], X, model, "-q")
    np.testing.assert_allclose(solver.predict(X), found, rtol=1e-10, atol=1e-12)


def test_ties_and_near_ties_are_decided_by_libsvm(monkeypatch):
    """Mirror images make decision values cancel; with rounding bounds off, matrix products do err."""
    X = features(60, 30)
    X, y = np.vstack([X, -X]), np.repeat([0, 1], 60)
    T = np.vstack([np.zeros((2, 30)), features(400, 30, seed=5)])
    T -= np.outer(T @ (X.T @ (2 * y - 1)), X.T @ (2 * y - 1)) / np.sum((X.T @ (2 * y - 1)) ** 2)
    solver = Libsvm(None, C=1e-6).fit(X, y)  # all dual variables at C: w is along the mean
    model = package_model(X, y, "-t 0 -c 1e-6")
    found, _, _ = svmutil.svm_predict([], T, model, "-q")
    assert np.array_equal(solver.predict(T), found)
    assert len(set(found)) == 2
    values = NativeKernel.values
    monkeypatch.setattr(NativeKernel, "values", lambda *args: (values(*args)[0], np.zeros(1)))
    assert not np.array_equal(solver.predict(T), found)


def test_class_weights_and_shrinking_equal_the_package():
    X, y = problem(200, 8, classes=3)
    solver = Libsvm(Polynomial(2, 1.0, 1.0), class_weight={0: 4.0}, shrinking=False).fit(X, y)
    model = package_model(X, y, "-t 1 -d 2 -g 1 -r 1 -w0 4 -h 0")
    assert np.array_equal(solver.dual_coef_.T, model.get_sv_coef())


@pytest.mark.parametrize("machine", [Libsvm, Svc])
def test_the_objective_is_the_dual_value_and_the_primal_one(machine):
    X, y = problem(150, 6, classes=2)
    kernel = Polynomial(2, 1.0, 1.0)
    solver = machine(kernel, eps=1e-8).fit(X, y)
    a, K = solver.dual_coef_[0], kernel(X[solver.support_])
    dual = np.abs(a).sum() - a @ K @ a / 2
    assert solver.objective_ == pytest.approx(dual, rel=1e-6)
    margins = (2 * y - 1) * solver.decision_function(X)
    assert solver.objective_ == pytest.approx(a @ K @ a / 2 + np.maximum(1 - margins, 0).sum(), rel=1e-6)
    assert solver.fit(X[:100], y[:100]).objective_ < 0.9 * dual  # not the old one


@pytest.mark.parametrize("machine", [Libsvm, Svc])
def test_the_cache_changes_nothing_but_time(machine):
    X, y = problem(300, 8, classes=2)
    small, large = (machine(Polynomial(2), cache_mb=m).fit(X, y) for m in (0.01, None))
    assert np.array_equal(small.dual_coef_, large.dual_coef_)
    assert (small.cache_mb_, large.cache_mb_) == (0.01, 100)


def doubtful(kernel, X, Y, values=libsvm_model.GivenKernel.values):
    """Kernel values of which all may be wrong, as far as rounding is known."""
    K, error = values(kernel, X, Y)
    return -K, np.full_like(error, 1e9)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_other_kernels_are_handed_over_as_a_gram_matrix(classes, make, monkeypatch):
    monkeypatch.setattr(libsvm_model, "BLOCK_VALUES", 2000)  # several blocks
    X, T = features(151, 6), features(90, 6, seed=4)
    X, y = by_class(X, classes)
    for kernel in (Exponential(1.5), Laplacian(0.5)):
        solver = Libsvm(kernel, C=3.0, eps=1e-8).fit(make(X), y)
        theirs = SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(kernel(X), y)
        found = theirs.predict(kernel(T, X))
        scores = theirs.decision_function(kernel(T, X))
        np.testing.assert_allclose(solver.decision_function(make(T)), scores, atol=1e-6)
        assert np.array_equal(solver.predict(make(T)), found)
        with monkeypatch.context() as patch:  # where rounding leaves a row in doubt, LIBSVM is asked
            patch.setattr(libsvm_model.GivenKernel, "values", doubtful)
            assert np.array_equal(solver.predict(make(T)), found)


@pytest.mark.parametrize("threads", [1, 2])
def test_caps_on_threads_hold_for_libsvm_too(threads, monkeypatch):
    seen = []
    train = svmutil.libsvm.svm_train
    monkeypatch.setattr(svmutil.libsvm, "svm_train", lambda *args: seen.append(openmp()) or train(*args))

    def openmp():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}

    X = features(50, 3)
    with threadpool_limits(2, user_api="openmp"), threadpool_limits(threads, user_api="blas"):
        Libsvm().fit(X, labels(X, 2))
        assert openmp() == {2}
    assert seen == [{threads}]


SCALED = {
    "binary": (2, Libsvm(C=3.0)),
    "weighted": (3, Libsvm(C=3.0, class_weight={0: 0.3, 1: 1.7, 2: 1.0})),
    "regression": (0, Libsvm(solver_type=3, C=3.0)),
}


@pytest.mark.parametrize("name", SCALED)
def test_a_scaled_kernel_and_cost_give_the_same_machine_to_the_last_bit(name, monkeypatch):
    classes, solver = SCALED[name]
    X, T = features(151, 6), features(90, 6, seed=4)
    y = labels(X, classes) if classes else values(X)
    plain, scaled = (clone(solver).set_params(kernel=Exponential(0.7)) for _ in range(2))
    plain.fit(X, y)
    asked = []
    monkeypatch.setattr("kfeat.solvers.kernel_svm.kernel_scale", lambda *of: asked.append(of) or 2.0**70)
    scaled.fit(X, y)
    assert asked
    for attribute in ("support_", "dual_coef_", "intercept_"):
        assert np.array_equal(getattr(scaled, attribute), getattr(plain, attribute)), attribute
    assert scaled.subproblems_ == plain.subproblems_
    assert np.array_equal(scaled.predict(T), plain.predict(T))
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-6)  # LIBSVM prints 6 decimals


@pytest.mark.parametrize("machine", [Libsvm, Svc])
def test_kernel_values_beyond_float32_give_the_machine_of_the_small_ones(machine):
    X, T = features(151, 6), features(90, 6, seed=4)
    y = labels(X, 3)
    factor = 2.0**140  # 1.4e42
    large = machine(Polynomial(2, factor**0.5, factor**0.5), C=3.0 / factor, eps=1e-8).fit(X, y)
    theirs = SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(Polynomial(2, 1.0, 1.0)(X), y)
    K = Polynomial(2, 1.0, 1.0)(T, X)
    np.testing.assert_allclose(large.decision_function(T), theirs.decision_function(K), atol=1e-6)
    assert np.array_equal(large.predict(T), theirs.predict(K))
    small = machine(Polynomial(2, 1.0, 1.0), C=3.0, eps=1e-8).fit(X, y)
    assert large.objective_ == pytest.approx(small.objective_ / factor, rel=1e-6)


def test_outliers_whose_kernel_is_beyond_float32_are_trained_with_and_predicted():
    X = features(151, 6)
    X[7] *= 10.5 / np.linalg.norm(X[7])
    T = np.vstack([features(90, 6, seed=4), 1.3 * X[7], -1.3 * X[7]]).astype(np.float32)
    X = X.astype(np.float32)
    y = labels(X, 2)
    kernel = Exponential(1.0)
    assert 1e47 < kernel.diagonal(X.astype(float)).max() < 1e49
    solver = Libsvm(kernel, C=10.0, eps=1e-7).fit(X, y)
    assert solver.converged_
    a, K = solver.dual_coef_[0], kernel(X.astype(float))
    f = K[:, solver.support_] @ a + solver.intercept_[0]
    primal = a @ f[solver.support_] / 2 + 10 * np.maximum(1 - (2 * y - 1) * f, 0).sum()
    # The primal objective in double precision is the dual's, so no machine is better.
    assert primal == pytest.approx(solver.objective_, rel=1e-5)
    assert np.array_equal(solver.predict(X), (f > 0).astype(int))
    assert np.isfinite(solver.decision_function(T)).all()


@pytest.mark.slow
def test_a_solve_that_does_not_end_says_so():
    X = features(40, 2)
    solver = Libsvm(Linear(), C=1e12).fit(X, labels(X, 2))
    assert (solver.n_iter_, solver.converged_, solver.stop_reason_) == (10_000_000, False, "iteration limit")


@pytest.mark.parametrize("kernel", [Exponential(0.7), Polynomial(2, 1e20, 1e20), Gaussian(0.7)], ids=str)
@pytest.mark.parametrize("name", SCALED)
def test_a_limit_that_is_not_reached_gives_libsvm_s_own_machine(name, kernel):
    classes, solver = SCALED[name]
    X, T = features(151, 6), features(90, 6, seed=4)
    y = labels(X, classes) if classes else values(X)
    if name == "binary":
        y = 2 * y - 1  # labels that LIBSVM treats specially
        solver = Libsvm(class_weight={-1: 0.5, 1: 2.0})
    C = 3e-40 if isinstance(kernel, Polynomial) else 3.0
    free = clone(solver).set_params(kernel=kernel, C=C, eps=1e-7).fit(X, y)
    limited = clone(free).set_params(max_iter=1_000_000).fit(X, y)
    assert (free.converged_, limited.converged_) == (True, True)
    values_of = "decision_function" if classes else "predict"
    found, expected = getattr(limited, values_of)(T), getattr(free, values_of)(T)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.array_equal(limited.predict(T[:30]), free.predict(T[:30])) or not classes
    assert np.array_equal(np.sort(limited.support_), np.sort(free.support_))
    assert limited.objective_ == pytest.approx(free.objective_, rel=1e-5)
    assert len(limited.subproblems_) == len(free.subproblems_)


@pytest.mark.parametrize("name", [*SCALED, "svc"])
def test_a_limit_that_is_reached_is_told(name):
    classes, solver = (2, Svc(C=3.0)) if name == "svc" else SCALED[name]
    X = features(151, 6)
    y = labels(X, classes) if classes else values(X)
    best = clone(solver).set_params(kernel=Exponential(0.7)).fit(X, y)
    stopped = clone(best).set_params(max_iter=20).fit(X, y)
    assert (stopped.n_iter_, stopped.converged_, stopped.stop_reason_) == (20, False, "iteration limit")
    assert 0 < stopped.objective_ < 0.999 * best.objective_


def test_a_regression_without_support_vectors_is_a_constant_without_a_word():
    X = np.random.default_rng(0).random((20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = Libsvm(Gaussian(1.0), solver_type=3, p=10.0).fit(X, X[:, 0])
        assert np.ptp(machine.predict(X)) == 0


SVC_KERNELS = {
    "linear": None,
    "gaussian": Gaussian(0.7),
    "poly3": Polynomial(3, 0.5, 1.0),
    "laplacian": Laplacian(0.5),
}


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", list(SVC_KERNELS))
def test_the_machine_of_svc_is_libsvm_s(name, classes, make):
    X, T = features(200, 10, density=0.5), features(100, 10, seed=7, density=0.5)
    X, y = by_class(X, classes)
    theirs = Libsvm(SVC_KERNELS[name], C=2.0, eps=1e-7).fit(X, y)
    ours = Svc(SVC_KERNELS[name], C=2.0, eps=1e-7).fit(make(X), y)
    np.testing.assert_allclose(ours.decision_function(make(T)), theirs.decision_function(T), atol=3e-6)
    assert np.array_equal(ours.predict(make(T)), theirs.predict(T))
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    assert ours.converged_
    if name != "linear":  # whose solution has other coefficients too, since K is singular
        assert np.array_equal(ours.support_, np.sort(theirs.support_))
        assert np.array_equal(ours.n_support_, theirs.n_support_)


def test_classes_may_cost_differently_in_svc():
    X = features(200, 8)
    y = labels(X, 3) - 1  # -1, 0, 1
    options = {"C": 3.0, "eps": 1e-7, "class_weight": {-1: 0.3, 0: 1.7, 1: 1.0}}
    ours, theirs = Svc(Gaussian(0.7), **options).fit(X, y), Libsvm(Gaussian(0.7), **options).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    assert ours.objective_ != pytest.approx(Libsvm(Gaussian(0.7), C=3.0).fit(X, y).objective_, rel=1e-2)
