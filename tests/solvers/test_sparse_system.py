"""Solvers on many sparse columns: conjugate gradients agree with what forms the D x D matrix."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, random_array
from sklearn.base import clone
from sklearn.linear_model import Ridge as Reference

from kfeat.errors import ParameterError
from kfeat.kernels import Laplacian
from kfeat.maps import RandomBinning
from kfeat.solvers import Liblinear, Newton, NewtonCV, Ridge, RidgeClassifierCV, RidgeCV, newton_system
from kfeat.solvers.sparse_system import (
    held_out_values,
    ridge_path_of_sparse,
    shifted_systems,
    shifted_values,
)

rng = np.random.default_rng(0)
X = rng.random((400, 5))
Z = RandomBinning(Laplacian(3.0), 32, random_state=0).fit_transform(X)
LABELS = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [0.6, 1.0])
TARGETS = X[:, 0] - X[:, 1] * X[:, 3] + 3


def test_the_features_are_wide():
    assert newton_system.is_wide(Z)
    assert not newton_system.is_wide(Z[:, :100])
    assert not newton_system.is_wide(Z.toarray())


@pytest.mark.parametrize("bias", [-1.0, 1.0])
@pytest.mark.parametrize(("loss", "solver_type"), [("squared_hinge", 2), ("logistic", 0)])
def test_newton_reaches_the_objective_of_liblinear(loss, solver_type, bias):
    for y in (LABELS, LABELS > 0):
        ours = Newton(loss=loss, eps=1e-6, bias=bias).fit(Z, y)
        theirs = Liblinear(solver_type, eps=1e-7, bias=bias).fit(Z, y)
        assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
        assert ours.converged_


def test_newton_never_forms_a_matrix_of_all_columns(monkeypatch):
    def refuse(*_):
        raise AssertionError("a Hessian of D x D was formed")

    monkeypatch.setattr(newton_system.DesignMatrix, "gram", refuse)
    chosen = NewtonCV(C_min=0.01, C_max=100.0, C_factor=10.0).fit(Z, LABELS)
    assert chosen.cv_scores_.mean(axis=0).max() > 0.8


@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_is_that_of_the_normal_equations(intercept):
    weights = rng.integers(0, 3, 400)
    for sample_weight in (None, weights):
        ours = Ridge(alpha=0.3, fit_intercept=intercept).fit(Z, TARGETS, sample_weight)
        theirs = Reference(0.3, fit_intercept=intercept)  # of fewer rows than columns: in the dual
        theirs.fit(Z.toarray(), TARGETS, sample_weight)
        np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z.toarray()), atol=3e-5)
        residuals = TARGETS - theirs.predict(Z.toarray())
        counts = np.ones(400) if sample_weight is None else sample_weight
        objective = counts @ residuals**2 + 0.3 * (theirs.coef_**2).sum()
        assert ours.objective_ == pytest.approx(objective, rel=1e-8)
        assert ours.finished_by_ == "conjugate gradients"


def test_a_weight_is_the_number_of_equal_rows():
    weights = rng.integers(0, 3, 400)
    rows = np.repeat(np.arange(400), weights)
    for solver, y in ((Ridge(), TARGETS), (Newton(eps=1e-8), LABELS)):
        weighted = solver.fit(Z, y, weights).coef_.copy()
        np.testing.assert_allclose(weighted, solver.fit(Z[rows], y[rows]).coef_, atol=1e-6)


def test_one_run_of_a_fold_chooses_as_all_columns_do(monkeypatch):
    narrow = RandomBinning(Laplacian(1.0), 8, random_state=0).fit_transform(X)
    monkeypatch.setattr(newton_system, "WIDE", 50)
    assert narrow.shape[1] > 50
    sparse = RidgeCV(alpha_min=1e-2).fit(narrow, TARGETS)
    full = RidgeCV(alpha_min=1e-2).fit(narrow.toarray(), TARGETS)
    np.testing.assert_allclose(sparse.cv_errors_, full.cv_errors_, rtol=1e-2)
    assert sparse.alpha_ == full.alpha_
    with pytest.raises(ParameterError, match="leaving one out takes up to 1,024 sparse features"):
        RidgeCV(folds=None).fit(Z, TARGETS)


def test_classes_that_share_the_passes_choose_as_all_columns_do(monkeypatch):
    narrow = RandomBinning(Laplacian(1.0), 8, random_state=0).fit_transform(X)
    weights = rng.integers(0, 3, 400)
    monkeypatch.setattr(newton_system, "WIDE", 50)
    for sample_weight in (None, weights):
        sparse, full = (
            RidgeClassifierCV(alpha_min=1e-2).fit(rows, LABELS, sample_weight)
            for rows in (narrow, narrow.toarray())
        )
        np.testing.assert_allclose(sparse.cv_errors_, full.cv_errors_, rtol=1e-2)
        assert sparse.alpha_ == full.alpha_


@pytest.mark.parametrize("solver", [RidgeCV(alpha_min=1e-2), RidgeClassifierCV(alpha_min=1e-2)])
def test_a_choice_alone_is_that_of_a_fit(solver):
    y = TARGETS if solver.task == "regression" else LABELS + 5
    for rows in (Z, Z[:, :50]):
        chosen, fitted = clone(solver).choose(rows, y), clone(solver).fit(rows, y)
        assert_array_equal(chosen.cv_errors_, fitted.cv_errors_)
        assert chosen.alpha_ == fitted.alpha_
        assert hasattr(chosen, "coef_") == (rows is not Z)


def test_values_of_held_out_rows_are_those_of_each_target_alone(monkeypatch):
    signs = np.where(LABELS[:, None] == np.arange(3), 1.0, -1.0)
    alphas, held_out = np.array([1e-6, 1e-2, 1.0, 100.0]), Z[300:]
    for most in (6, 500):  # too few steps for the smallest alpha, and enough
        values, converged = held_out_values(Z[:300], signs[:300], None, alphas, True, held_out, 1e-4, most)
        monkeypatch.setattr("kfeat.solvers.sparse_system.OBSERVED", 1)  # each target in a run of its own
        for j in range(3):
            W, b, solved, _ = ridge_path_of_sparse(Z[:300], signs[:300, j], None, alphas, True, 1e-4, most)
            np.testing.assert_allclose(values[:, :, j], W @ held_out.T + b[:, None], atol=1e-8)
            assert_array_equal(converged[:, j], solved)
        assert converged[0].all() == (most == 500)
        assert converged[-1].all()


def test_an_alpha_that_is_not_solved_in_time_is_not_chosen(monkeypatch):
    monkeypatch.setattr("kfeat.solvers.least_squares.FOLD_STEPS", 3)
    chosen = RidgeCV(alpha_min=1e-8, alpha_max=1e4).fit(Z, TARGETS)
    assert np.isinf(chosen.cv_errors_[0])
    assert np.isfinite(chosen.cv_errors_[-1])


def test_systems_with_several_shifts_share_their_products():
    A = rng.standard_normal((60, 40))
    A, b = A @ A.T, rng.standard_normal(60)
    shifts, products = np.array([1e-2, 1.0, 1e3]), []

    def product(v):
        products.append(v)
        return A @ v

    solutions, solved, steps = shifted_systems(product, b, shifts, 1e-10, 500)
    assert solved.all()
    assert len(products) == steps
    for shift, x in zip(shifts, solutions, strict=True):
        np.testing.assert_allclose(x, np.linalg.solve(A + shift * np.eye(60), b), atol=1e-8)
    _, solved, _ = shifted_systems(product, b, shifts, 1e-4, 5)
    assert solved.tolist() == [False, False, True]
    zero, solved, steps = shifted_systems(product, np.zeros(60), shifts, 1e-10, 5)
    assert not zero.any()
    assert solved.all()
    assert steps == 0
    columns = np.column_stack([b, np.zeros(60), np.eye(60)[0]])
    seen = rng.standard_normal((7, 60))
    values, solved = shifted_values(lambda V: A @ V, columns, shifts, lambda V: seen @ V, 1e-10, 500)
    assert solved.all()
    for shift, own in zip(shifts, values, strict=True):
        np.testing.assert_allclose(own, seen @ np.linalg.solve(A + shift * np.eye(60), columns), atol=1e-7)
    nothing, _ = shifted_values(lambda V: A @ V, columns[:, 1:2], shifts, lambda V: seen @ V, 1e-10, 500)
    assert_array_equal(nothing, np.zeros((3, 7, 1)))


def test_wide_rows_of_single_precision_are_added_in_double():
    S = random_array((3000, 5000), density=0.01, rng=rng, format="csr")
    y = rng.standard_normal(3000)
    alphas = np.array([1.0])
    W, *_ = ridge_path_of_sparse(S, y, None, alphas, True)
    single, *_ = ridge_path_of_sparse(csr_array(S.astype(np.float32)), y, None, alphas, True)
    assert np.linalg.norm(single - W) < 1e-5 * np.linalg.norm(W)
