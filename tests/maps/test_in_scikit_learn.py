"""The maps at work inside scikit-learn, and what it asks of its own maps asked of kfeat's."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from kfeat.kernels import Gaussian, Kernel, Laplacian, Polynomial
from kfeat.kernels.base import as_operand
from kfeat.maps import Nystrom, RandomFourier, TensorSketch

rng = np.random.default_rng(0)
X, Y = rng.random((300, 50)), rng.random((200, 50))
X /= X.sum(axis=1, keepdims=True)
Y /= Y.sum(axis=1, keepdims=True)


def errors(fitted):
    """Return exact less approximate kernel values between X and Y."""
    return fitted.kernel_(X, Y) - fitted.transform(X) @ fitted.transform(Y).T


@pytest.mark.parametrize("gamma", [0.1, 1.0, 2.5])
@pytest.mark.parametrize(("degree", "D"), [(1, 500), (2, 500), (3, 5000)])
@pytest.mark.parametrize("coef0", [0.0, 2.5])
def test_tensor_sketch_is_as_close_as_a_count_sketch_should_be(gamma, degree, D, coef0):
    if coef0:  # a kernel as large as 43 has errors in proportion
        gamma, coef0 = gamma / 4, coef0 / 4
    error = errors(TensorSketch(Polynomial(degree, gamma, coef0), D, random_state=42).fit(X))
    assert abs(error.mean()) <= 0.05
    assert np.abs(error).max() <= 0.1
    assert np.abs(error).mean() <= 0.05


@pytest.mark.parametrize("features", ["pairs", "offset"])
@pytest.mark.parametrize("kernel", [Gaussian(10.0), Laplacian(1.0)], ids=["gaussian", "laplacian"])
def test_random_fourier_features_are_as_close_as_they_should_be(features, kernel):
    D = 10_000
    error = errors(RandomFourier(kernel, D, features=features, random_state=42).fit(X))
    # The variance of a pair is below 1 / D, and the errors of similar pairs go together.
    assert abs(error.mean()) <= 4 / np.sqrt(D)
    assert np.abs(error).max() <= 6 / np.sqrt(D)


def test_nystrom_takes_a_kernel_of_ones_own():
    class Intersection(Kernel):
        formula = "sum min(x, y)"

        def _tile(self, X, Y):
            return np.minimum(X[:, None, :], Y[None, :, :]).sum(axis=2)

        def diagonal(self, X):
            return as_operand(X).sum(axis=1)

    Z = Nystrom(Intersection(), n_components=300).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, Intersection()(X), atol=1e-6)


def test_grid_search_over_the_map_and_its_kernel():
    digits, labels = load_digits(return_X_y=True)
    digits, labels = digits[:600], labels[:600]
    pipeline = make_pipeline(MinMaxScaler(), TensorSketch(Polynomial(), random_state=0), RidgeClassifier())
    grid = {
        "tensorsketch__n_components": [20, 400],
        "tensorsketch__kernel__degree": [1, 2],
        "tensorsketch__kernel__gamma": [0.1],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(digits, labels)
    best = search.best_estimator_["tensorsketch"]
    assert (best.n_components, best.kernel_.degree, best.kernel_.gamma) == (400, 2, 0.1)
    assert search.best_score_ > 0.85
