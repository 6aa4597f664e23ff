"""The solver that chooses gamma and C for a method, and boosting beside it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from kfeat.errors import DataError
from kfeat.experiments.boosting import Boosting
from kfeat.experiments.component import read_component
from kfeat.experiments.tuned_solver import FACTOR, TunedSolver
from kfeat.kernels import Gaussian, Linear, Polynomial
from kfeat.maps import Nystrom, RandomFourier


def wave(gamma, n=240, regression=False):
    """Rows in one dimension whose target waves as fast as a Gaussian kernel with this gamma can follow."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (n, 1))
    y = np.sin(2 * np.sqrt(gamma) * X[:, 0])
    return X, y if regression else (y > 0).astype(int)


@pytest.mark.parametrize(
    ("solver", "value"),
    [
        ("kernel_ridge", "alpha"),
        ("ridge", "alpha"),
        ("kernel_ridge_classifier", "alpha"),
        ("ridge_classifier", "alpha"),
        ("newton", "C"),
        ("libsvm", "C"),
    ],
)
def test_a_fast_wave_is_followed_by_a_grid_that_widens(solver, value):
    """A scale that is 4^4 too small lies outside of the first five values."""
    regression = solver.endswith("ridge")
    X, y = wave(400.0, regression=regression)
    feature_map = Nystrom(n_components=100) if solver in ("ridge", "ridge_classifier", "newton") else None
    tuned = TunedSolver(Gaussian(400 * FACTOR**-4), map=feature_map, solver=solver).fit(X, y)
    assert tuned.choice_["gamma"] > 400 * FACTOR**-2
    assert tuned.choice_["gammas"] > 5
    assert tuned.choice_["cv_score"] > (0.4 if "ridge_classifier" in solver else 0.9)
    assert value in tuned.choice_
    assert tuned.score(X, y) > 0.95
    assert tuned.task == ("regression" if regression else "classification")


def test_many_columns_take_the_gamma_of_fewer():
    X, y = wave(50.0)
    few, many = (
        TunedSolver(Gaussian("mean_distance"), map=RandomFourier(n_components=D), columns=16).fit(X, y)
        for D in (16, 64)
    )
    assert few.choice_["gamma"] == many.choice_["gamma"]
    assert many.map_.n_components == 64


@pytest.mark.parametrize(
    "solver", ["ridge", "ridge_classifier", "newton", "libsvm", "kernel_ridge_classifier", "boosting"]
)
def test_some_rows_choose_and_all_rows_train(solver):
    X, y = wave(50.0, n=600, regression=solver == "ridge")
    feature_map = (
        RandomFourier(n_components=64) if solver in ("ridge", "ridge_classifier", "newton") else None
    )
    few, own, all_rows = (
        TunedSolver(Gaussian("mean_distance"), feature_map, solver, columns=16, rows=rows)
        for rows in (150, 150, 600)
    )
    few.fit(X, y)
    seen = few._rows(X, y)
    assert len(seen[1]) == 150
    if feature_map is not None:
        own.map = RandomFourier(n_components=16)
        assert few.map_.n_components == 64
    assert few.choice_ == own.fit(*seen).choice_
    assert few.score(X, y) > own.score(X, y)
    assert all_rows.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("name", ["RBFSampler", "Nystroem"])
def test_a_transformer_by_its_place_gets_what_it_takes_of_the_kernel(name):
    X, y = wave(20.0)
    item = {"name": f"sklearn.kernel_approximation:{name}", "n_components": 30}
    solver = read_component({"name": "search", "map": item}, "solver")
    tuned = solver.build(kernel=Gaussian("mean_distance"), random_state=0).fit(X, y)
    transformer = tuned.map_.transformer
    assert (transformer.gamma, transformer.n_components) == (tuned.choice_["gamma"], 30)
    assert tuned.score(X, y) > 0.9


def test_a_kernel_without_gamma_has_one_candidate_and_a_polynomial_is_scaled_by_its_rows():
    X, y = wave(4.0, regression=True)
    assert "gamma" not in TunedSolver(Linear(), solver="ridge").fit(X, y).choice_
    small, large = (
        TunedSolver(Polynomial(3, coef0=1), solver="kernel_ridge").fit(factor * X, y) for factor in (1, 10)
    )
    assert small.choice_["gamma"] == pytest.approx(100 * large.choice_["gamma"])


def test_rare_classes_are_left_out_of_the_choice():
    X, y = wave(20.0)
    y[:2] = 7
    tuned = TunedSolver(Gaussian("mean_distance"), map=Nystrom(n_components=30)).fit(X, y)
    assert set(tuned.predict(X)) == {0, 1}
    with pytest.raises(DataError, match="two classes"):
        TunedSolver(Gaussian(1.0)).fit(X, np.r_[[7, 7], np.zeros(len(X) - 2)])


@pytest.mark.parametrize("regression", [False, True])
def test_boosting_learns_both_tasks_on_dense_and_sparse_rows(regression):
    X, y = wave(50.0, regression=regression)
    trees = Boosting("regression" if regression else "classification", max_iter=30)
    assert trees.fit(X, y).score(X, y) > 0.9
    assert_array_equal(trees.predict(X), trees.fit(csr_array(X), y).predict(X))
    chosen = TunedSolver(Linear(), solver="boosting_regression" if regression else "boosting").fit(X, y)
    assert set(chosen.choice_) == {"learning_rate", "max_leaf_nodes", "cv_score", "at_end"}
    assert chosen.score(X, y) > 0.9
