"""The duality gap bounds how far a solution is from the optimum, and Newton's closes on hard margins too."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.batches import ArrayBatches
from kfeat.kernels import Polynomial
from kfeat.maps import TensorSketch
from kfeat.solvers import Liblinear, Newton
from kfeat.solvers.newton.curvature import ExactCurvature
from kfeat.solvers.newton.design import DesignMatrix
from kfeat.solvers.newton.losses import LOSSES, SmoothedHinge
from kfeat.solvers.newton.system import DualFactor
from tests.solvers.problems import features, labels

NORM = 2000  # of the features below, about: with C = 1 their margins are all but hard


@pytest.fixture(scope="module")
def hard():
    """Tensor Sketch features of large norm, of three classes that can be separated."""
    rng = np.random.default_rng(0)
    X = 2 * rng.random((700, 30)).astype(np.float32)
    scores = (X - 1) @ rng.standard_normal((30, 3)) + (X - 1) ** 2 @ rng.standard_normal((30, 3)) / 2
    Z = TensorSketch(Polynomial(4, coef0=1.0), 250, random_state=0).fit(X).transform(X)
    assert abs(np.linalg.norm(Z, axis=1).mean() / NORM - 1) < 0.2
    return Z, scores.argmax(axis=1)


@pytest.mark.parametrize("solver_type", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_gap_bounds_what_a_liblinear_solution_lacks(solver_type, classes):
    X = features(600, 12)
    y = labels(X, classes)
    options = {"C": 2.0, "bias": 1.0, "class_weight": {0: 3.0}}
    best = Liblinear(solver_type, eps=1e-9, **options).fit(X, y)
    for eps in (0.5, 0.05, 1e-4):
        found = Liblinear(solver_type, eps=eps, **options).fit(X, y)
        assert found.objective_ - best.objective_ <= (found.gap_ + 1e-9) * found.objective_
        assert 0 <= found.gap_ <= 1
    assert best.gap_ < (0.2 if solver_type == 3 else 1e-6)  # a loose bound for -s 3


@pytest.mark.parametrize("solver_type", [4, 5, 6])
def test_other_objectives_have_no_gap(solver_type):
    X = features(100, 4)
    assert Liblinear(solver_type).fit(X, labels(X, 2)).gap_ is None


def test_an_intercept_without_penalty_has_no_gap():
    X = features(100, 4)
    assert Liblinear(2, bias=1.0, regularize_bias=False).fit(X, labels(X, 2)).gap_ is None


@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_gap_bounds_what_newton_lacks(loss):
    X = 30 * features(800, 25)
    y = labels(X, 3)
    best = Newton(loss, eps=1e-13).fit(X, y)
    for steps in (1, 2, 3, 5):
        early = Newton(loss, eps=1e-13, max_iter=steps).fit(X.astype(np.float32), y)
        assert early.objective_ - best.objective_ <= early.gap_ * early.objective_ * (1 + 1e-9)
    for eps in (0.3, 1e-2, 1e-5):
        done = Newton(loss, eps=eps).fit(X, y)
        assert done.converged_
        assert done.gap_ <= eps
        assert done.objective_ <= best.objective_ * (1 + eps)


def test_two_solvers_of_one_objective_mean_the_same_gap(hard):
    """What Newton says of its solution is what its scores give where LIBLINEAR's gap is computed."""
    from kfeat.solvers.liblinear.objective import linear_gap

    Z, y = hard
    solver = Newton(eps=1e-6).fit(Z, y)
    values = solver.decision_function(Z.astype(float))
    gap = linear_gap(2, Z, -1.0, values, y, solver.objective_, 1.0, np.ones(3))
    assert gap <= 1e-6
    assert linear_gap(2, Z, -1.0, 1.1 * values, y, solver.objective_, 1.0, np.ones(3)) > 0.01


def test_a_hard_margin_has_one_solution_whatever_the_arithmetic(hard):
    (Z, y), eps = hard, 1e-6
    fits = [Newton(eps=eps).fit(rows, y) for rows in (Z, Z.astype(float), csr_array(Z), ArrayBatches(Z))]
    objectives = np.array([solver.objective_ for solver in fits])
    assert all(solver.converged_ and solver.gap_ <= eps for solver in fits)
    assert objectives.max() <= objectives.min() / (1 - eps)
    scores = fits[0].decision_function(Z.astype(float))
    for solver in fits[1:]:  # ||w - w*||^2 / 2 <= gap * f, as f is strongly convex
        reach = 2 * np.sqrt(2 * eps * objectives.max()) * np.linalg.norm(Z, axis=1).max()
        np.testing.assert_allclose(solver.decision_function(Z.astype(float)), scores, atol=reach)


def test_a_hard_margin_takes_tens_of_steps(hard):
    Z, y = hard
    solver = Newton(eps=1e-6).fit(Z, y)
    assert solver.stop_reason_ == "tolerance"
    assert max(one.iterations for one in solver.subproblems_) <= 60


def test_products_of_few_rows_invert_the_hessian():
    rng = np.random.default_rng(1)
    X, h, b = rng.standard_normal((20, 50)), rng.random(20) + 0.1, rng.standard_normal(51)
    A = np.hstack([X, np.full((20, 1), 2.0)])
    expected = np.linalg.solve(np.eye(51) + A.T @ (h[:, None] * A), b)
    for rows in (X, csr_array(X)):
        np.testing.assert_allclose(DualFactor.of(DesignMatrix(rows, 2.0), h).solve(b), expected, atol=1e-10)


@pytest.mark.parametrize(("n", "d"), [(300, 30), (40, 200)])
def test_directions_stay_exact_as_rows_come_and_go(n, d):
    rng = np.random.default_rng(2)
    X, curvature = 1e3 * rng.standard_normal((n, d)), ExactCurvature()
    h = 2.0 * (rng.random(n) < 0.7)
    for _ in range(6):
        b = rng.standard_normal(d)
        expected = np.linalg.solve(np.eye(d) + X.T @ (h[:, None] * X), b)
        found = curvature.direction(DesignMatrix(X), h, b)
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
        flipped = rng.choice(n, 5)
        h = h.copy()
        h[flipped] = 2.0 - h[flipped]


def test_products_in_double_precision_are_those_of_converted_rows():
    X, rng = features(9000, 7, dtype=np.float32), np.random.default_rng(0)
    W, R, h = rng.standard_normal((8, 2)), rng.standard_normal((9000, 2)), rng.random(9000)
    exact, some = DesignMatrix(X.astype(float), 3.0), np.arange(0, 9000, 3)
    for rows in (X, csr_array(X)):
        double = DesignMatrix(rows, 3.0).double()
        for ours, theirs, k in ((double, exact, slice(None)), (double.take(some), exact.take(some), some)):
            np.testing.assert_allclose(ours.matvec(W), theirs.matvec(W), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(ours.rmatvec(R[k]), theirs.rmatvec(R[k]), rtol=1e-11, atol=1e-11)
            np.testing.assert_allclose(ours.gram(h[k]), theirs.gram(h[k]), rtol=1e-11, atol=1e-11)


def test_the_smoothed_hinge_s_bound_is_below_the_hinge_s_minimum():
    X = features(200, 5)
    y = labels(X, 2)
    best, signs = Liblinear(3, C=5.0, eps=1e-9).fit(X, y), np.where(y == 1, 1.0, -1.0)
    costs = np.full(200, 5.0)
    for width in (1e-3, 0.1, 2.0):
        loss, u = SmoothedHinge(width), signs * best.decision_function(X)
        v = X.T @ (-signs * costs * loss.gradient(u))
        assert 0.2 * best.objective_ < loss.dual(u, costs, v) <= best.objective_ * (1 + 1e-9)
