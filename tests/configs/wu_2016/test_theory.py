"""The measure of wu_2016/theory: dual solutions against those of the features, and the cells of a grid."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from kfeat.kernels import Laplacian
from kfeat.maps import RandomBinning, RandomFourier
from kfeat.place import Place

PLACE = Path(__file__).parents[3] / "configs/wu_2016/theory.py"
SOLUTION = Place.of(f"{PLACE}:Solution").load()
rng = np.random.default_rng(0)
X, HELD_OUT = rng.random((120, 3)), rng.random((40, 3))
Y = np.column_stack([X[:, 0] * X[:, 1], np.sign(X[:, 2] - 0.5)])
Y -= Y.mean(axis=0)


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.setitem(SOLUTION.of.__globals__, "of_data", lambda _: (X, Y, HELD_OUT))
    SOLUTION.of.__globals__["exact_solutions"].cache_clear()
    return SOLUTION("planted")


@pytest.mark.parametrize("of", [RandomBinning, RandomFourier])
def test_the_gaps_are_those_of_ridge_regression_on_the_features(measure, of):
    feature_map = of(Laplacian(2.0), n_components=30, random_state=0)
    numbers = measure.of(feature_map, X)
    Z, K = feature_map.transform(X), Laplacian(2.0)(X)
    for end, alpha in {"": 0.01, "_1": 1.0}.items():
        ridge = Ridge(alpha, fit_intercept=False).fit(Z.toarray() if of is RandomBinning else Z, Y)
        residuals = Y - Z @ ridge.coef_.T
        a = np.linalg.solve(K + alpha * np.eye(120), Y)
        exact = ((Y - K @ a) ** 2).sum() + alpha * np.vdot(a, K @ a)
        F = (residuals**2).sum() + alpha * (ridge.coef_**2).sum()
        assert_allclose(numbers[f"gap{end}"], F / exact - 1)
        f = Laplacian(2.0)(HELD_OUT, X) @ a
        values = feature_map.transform(HELD_OUT) @ ridge.coef_.T
        assert_allclose(numbers[f"prediction{end}"], np.linalg.norm(values - f) / np.linalg.norm(f))


def test_kappa_is_that_of_the_largest_cell_of_each_grid(measure):
    binning = RandomBinning(Laplacian(2.0), n_components=4, random_state=0)
    numbers = measure.of(binning, X)
    Z = binning.transform(X).toarray() > 0
    grids = np.split(Z.sum(axis=0), binning.first_[1:-1])
    assert_allclose(numbers["bins"], np.mean([len(counts) for counts in grids]))
    assert_allclose(numbers["kappa"], np.mean([120 / counts.max() for counts in grids]))
    assert 1 <= numbers["kappa"] < numbers["bins"]
    assert "kappa" not in measure.of(RandomFourier(Laplacian(2.0), n_components=8), X)


def test_other_rows_are_refused(measure):
    with pytest.raises(AssertionError):
        measure.of(RandomBinning(Laplacian(2.0), n_components=4), X + 1)
