"""Liblinear is LIBLINEAR: equal to the package's own train and predict, and honest about the solve."""

import ctypes

import numpy as np
import pytest
from liblinear import liblinearutil
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from kfeat.errors import DataError
from kfeat.solvers import DualDescent, Liblinear
from kfeat.solvers.liblinear import DEFAULT_EPS, REGRESSION
from tests.solvers.problems import features, labels, problem, values

CLASSIFIERS = sorted(set(DEFAULT_EPS) - REGRESSION)


def package_model(X, y, options, seed=1):
    """The package's own W (width, n_subproblems), labels, and model, from the C library's state `seed`."""
    ctypes.CDLL(None).srand(seed)
    model = liblinearutil.train(np.asarray(y, dtype=float), X, options + " -q")
    n_subproblems = 1 if model.nr_class == 2 and model.param.solver_type != 4 else model.nr_class
    width = model.nr_feature + (model.bias >= 0)
    W = np.ctypeslib.as_array(model.w, (width, n_subproblems)).copy()
    return W, model


def package_predict(X, model):
    found, _, scores = liblinearutil.predict([], X, model, "-q")
    return np.array(found), np.array(scores)


def weights_in_package_order(solver, W):
    """Our coef_ and bias weight arranged as LIBLINEAR's W, signs included."""
    coef = np.atleast_2d(solver.coef_)
    ours = np.vstack([coef.T, np.atleast_1d(solver.intercept_) / solver.bias]) if solver.bias > 0 else coef.T
    if solver.task == "regression":
        return ours
    if ours.shape[1] == 1:
        ours = ours if solver.order_[0] == 1 else -ours
        return ours if W.shape[1] == 1 else np.hstack([ours, W[:, 1:]])
    return ours[:, solver.order_]


@pytest.mark.parametrize("bias", [-1.0, 1.0])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("solver_type", CLASSIFIERS)
def test_classifiers_equal_the_package_to_the_last_bit(solver_type, classes, bias):
    X, y = problem(300, 12, density=0.6, classes=classes)
    X[5:9] = 0  # rows without features: their scores are equal
    solver = Liblinear(solver_type=solver_type, bias=bias, C=3.0).fit(X, y)
    W, model = package_model(X, y, f"-s {solver_type} -c 3 -B {bias}")
    assert np.array_equal(weights_in_package_order(solver, W), W)
    found, _ = package_predict(X, model)
    assert np.array_equal(solver.predict(X), found)
    assert solver.converged_


@pytest.mark.parametrize("solver_type", sorted(REGRESSION))
def test_regressors_equal_the_package_to_the_last_bit(solver_type):
    X = features(300, 12)
    y = values(X)
    solver = Liblinear(solver_type=solver_type, bias=1.0, C=2.0, p=0.05).fit(X, y)
    W, model = package_model(X, y, f"-s {solver_type} -c 2 -p 0.05 -B 1")
    assert np.array_equal(weights_in_package_order(solver, W), W)
    np.testing.assert_allclose(solver.predict(X), package_predict(X, model)[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("pair", [(-1, 1), (0, 1), (1, 2), (7, 3)])
@pytest.mark.parametrize("first", [0, 1])
def test_any_two_labels_in_any_order_of_appearance(pair, first):
    X = features(200, 6)
    y = np.array(pair)[labels(X, 2)]
    start = np.flatnonzero(y == pair[first])[0]
    X, y = np.roll(X, -start, axis=0), np.roll(y, -start)
    X[-3:] = 0  # a row without features has score 0: LIBLINEAR's second label
    solver = Liblinear().fit(X, y)
    W, model = package_model(X, y, "-s 1")
    assert np.array_equal(weights_in_package_order(solver, W), W)
    assert np.array_equal(solver.predict(X), package_predict(X, model)[0])
    some = solver.decision_function(X) != 0
    assert np.array_equal((solver.decision_function(X) > 0)[some], (solver.predict(X) == max(pair))[some])


@pytest.mark.parametrize("solver_type", [0, 6, 7])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_equal_the_package(solver_type, classes):
    X, y = problem(300, 8, classes=classes)
    solver = Liblinear(solver_type=solver_type).fit(X, y)
    _, model = package_model(X, y, f"-s {solver_type}")
    scores = np.array(liblinearutil.predict([], X, model, "-b 1 -q")[2])
    np.testing.assert_allclose(solver.predict_proba(X), scores[:, np.argsort(model.get_labels())], rtol=1e-12)
    assert not hasattr(Liblinear(solver_type=1), "predict_proba")


def test_class_weights_equal_the_package():
    X = features(300, 8)
    for classes in (2, 3):
        y = labels(X, classes)
        solver = Liblinear(class_weight={0: 5.0, 1: 1.0}).fit(X, y)
        W, _ = package_model(X, y, "-s 1 -w0 5")
        assert np.array_equal(weights_in_package_order(solver, W), W)


def test_a_bias_that_is_not_penalised_equals_the_package():
    X, y = problem(300, 8, classes=2)
    solver = Liblinear(solver_type=2, bias=1.0, regularize_bias=False).fit(X, y)
    W, _ = package_model(X, y, "-s 2 -B 1 -R")
    assert np.array_equal(weights_in_package_order(solver, W), W)


def test_a_fit_does_not_depend_on_what_ran_before():
    X, y = problem(300, 12, classes=3)
    first = Liblinear(random_state=3).fit(X, y).coef_
    Liblinear(random_state=9).fit(X[::-1], y[::-1])
    assert np.array_equal(Liblinear(random_state=3).fit(X, y).coef_, first)
    assert not np.array_equal(Liblinear(random_state=4).fit(X, y).coef_, first)
    assert np.array_equal(Liblinear().fit(X, y).coef_, Liblinear(random_state=1).fit(X, y).coef_)


def test_going_on_as_another_solver_is_told():
    X = 30 * features(300, 40)  # badly scaled: the dual coordinate descent does not settle in 300 rounds
    y = labels(X, 2)
    y[::2] = 1 - y[::2]
    hard = Liblinear(C=1000.0, eps=1e-6).fit(X, y)
    assert hard.finished_by_ == "-s 2"
    assert hard.subproblems_[0].iterations < 300
    l1 = Liblinear(solver_type=3, C=1000.0, eps=1e-6).fit(X, y)
    assert not l1.converged_
    assert l1.n_iter_ == 300
    assert "max number of iterations" in l1.stop_reason_
    easy = Liblinear(C=0.01).fit(X / 30, y)
    assert (easy.finished_by_, easy.converged_, easy.stop_reason_) == ("-s 1", True, "tolerance")


def test_a_warning_advises_only_parameters_that_the_solver_has():
    X = 30 * features(300, 40)
    y = labels(X, 2)
    y[::2] = 1 - y[::2]
    with pytest.warns(ConvergenceWarning, match=r"Liblinear has not converged .*: raise `eps`, scale"):
        Liblinear(solver_type=3, C=1000.0, eps=1e-6).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="DualDescent .*: raise `max_iter` or `eps`, scale"):
        DualDescent(C=1000.0, eps=1e-6, max_iter=2).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("primal", "dual"), [(2, 1), (0, 7)])
def test_primal_and_dual_solvers_reach_one_objective(primal, dual, classes):
    X, y = problem(300, 12, classes=classes)
    options = {"C": 2.0, "bias": 1.0, "class_weight": {0: 2.0}} if classes == 2 else {"C": 2.0, "bias": 1.0}
    a = Liblinear(solver_type=primal, eps=1e-8, **options).fit(X, y).objective_
    b = Liblinear(solver_type=dual, eps=1e-8, **options).fit(X, y).objective_
    assert a == pytest.approx(b, rel=1e-7)


def test_the_objective_is_the_primal_value_that_liblinear_prints():
    """-s 4, 5, 6 and 13 print a dual or primal value of the whole problem at a tight tolerance."""
    X, y = problem(300, 12, classes=2)
    for solver_type, target in ((3, y), (5, y), (6, y), (13, values(X)), (4, labels(X, 3)), (4, y)):
        solver = Liblinear(solver_type=solver_type, eps=1e-7, C=0.1, p=0.05).fit(X, target)
        printed = float(solver.log_.rsplit("Objective value = ", 1)[1].split()[0])
        assert solver.objective_ == pytest.approx(abs(printed), rel=2e-6)


def test_sizes_beyond_a_c_int_are_refused_with_the_numbers():
    X = csr_array(([1.0, 1.0], ([0, 1], [5, 7])), shape=(3, 800_000_000))
    with pytest.raises(DataError, match=r"features times classes would be 2,400,000,000"):
        Liblinear().fit(X, [0, 1, 2])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bias", [-1.0, 0.5])
def test_dual_descent_reaches_the_same_optimum(classes, bias):
    X, y = problem(300, 12, classes=classes)
    ours = DualDescent(C=2.0, eps=1e-8, bias=bias, max_iter=100_000, random_state=0).fit(X, y)
    theirs = Liblinear(2, C=2.0, eps=1e-10, bias=bias).fit(X, y)
    assert ours.converged_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_where_dual_descent_does_not_converge_it_stops_and_says_so():
    X = features(400, 20) * np.logspace(0, 4, 20)  # badly scaled, as Random Maclaurin's features are
    y = labels(X, 2)
    stopped = DualDescent(eps=1e-3, max_iter=20, random_state=0).fit(X, y)
    assert (stopped.n_iter_, stopped.converged_, stopped.stop_reason_) == (20, False, "iteration limit")
    assert stopped.objective_ > 1.01 * Liblinear(2, eps=1e-6).fit(X, y).objective_
