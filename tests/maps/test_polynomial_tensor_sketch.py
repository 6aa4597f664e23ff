"""Polynomial Tensor Sketch: its expected error by enumeration and over draws, and its regression."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kfeat.errors import ParameterError
from kfeat.kernels import Exponential, Gaussian, Polynomial
from kfeat.maps import PolynomialTensorSketch, TensorSketch
from kfeat.maps.polynomial_tensor_sketch import covariances, expected_error, least_error
from kfeat.maps.series import sampled_pairs
from tests.maps.test_tensor_sketch import tables

X2 = np.array([[0.7, -0.3], [0.4, 0.8], [-0.9, 0.3]])
rng = np.random.default_rng(0)
X = rng.random((40, 12))
X /= np.linalg.norm(X, axis=1, keepdims=True)
OFF = ~np.eye(len(X), dtype=bool)


@pytest.mark.parametrize("m", [2, 3])
def test_the_error_over_all_hashes_and_signs(m):
    kernel = Polynomial(2, coef0=0.8)
    fitted = PolynomialTensorSketch(kernel, 1 + 2 * m, 2, "taylor", random_state=0).fit(X2)
    assert fitted.n_buckets_ == m
    np.testing.assert_allclose(fitted.coefficients_, [0.64, 1.6, 1])
    estimates = []
    for buckets, signs in tables(2, 2, m, 2):
        fitted.buckets_[:, :2], fitted.signs_[:, :2] = buckets, (-1) ** signs
        Z = fitted.transform(X2)
        estimates.append((Z @ Z.T)[np.triu_indices(3, k=1)])
    np.testing.assert_allclose(np.mean(estimates, axis=0), kernel(X2)[np.triu_indices(3, k=1)])
    np.testing.assert_allclose(np.var(estimates, axis=0).mean(), fitted.error_**2)


@pytest.mark.slow
@pytest.mark.parametrize("coefficients", ["regression", "taylor"])
@pytest.mark.parametrize("kernel", [Polynomial(4, coef0=1.0), Exponential(0.7), Gaussian(1.5)], ids=str)
def test_the_error_is_the_one_expected(kernel, coefficients):
    errors = []
    for seed in range(100):
        fitted = PolynomialTensorSketch(kernel, 80, None, coefficients, random_state=seed).fit(X)
        Z = fitted.transform(X)
        assert Z.shape[1] <= 80
        errors.append(((Z @ Z.T - kernel(X)) ** 2)[OFF].mean())
    assert abs(np.mean(errors) - fitted.error_**2) < 4 * np.std(errors) / np.sqrt(100)


def test_the_regression_finds_the_least_error():
    pairs = sampled_pairs(Gaussian(1.5), X, 40, np.random.default_rng(0))
    c = least_error(pairs, np.ones(5, dtype=bool), 20)
    assert c.min() >= 0
    search = minimize(
        lambda b: expected_error(pairs, b**2, 20), np.sqrt(c + 0.01), method="BFGS", options={"gtol": 1e-10}
    )
    np.testing.assert_allclose(expected_error(pairs, c, 20), search.fun, rtol=1e-5)
    M = covariances(pairs, 4, 20)
    assert np.linalg.eigvalsh(M).min() > -1e-12


def test_a_homogeneous_polynomial_by_its_series_is_one_tensor_sketch():
    fitted = PolynomialTensorSketch(Polynomial(3), 64, 3, "taylor", random_state=5).fit(X)
    assert fitted.n_buckets_ == 64
    sketch = TensorSketch(Polynomial(3), 64, random_state=5).fit(X)
    np.testing.assert_array_equal(fitted.buckets_, sketch.buckets_)
    np.testing.assert_allclose(fitted.transform(X), sketch.transform(X), atol=1e-12)


def test_long_rows_of_the_gaussian_do_not_overflow():
    rows = np.vstack([X, 30 * X, 1e3 * X]).astype(np.float32)
    fitted = PolynomialTensorSketch(Gaussian(0.01), 200, random_state=0).fit(rows)
    assert np.isfinite(fitted.transform(rows)).all()


def test_too_few_components_for_the_degrees_are_refused():
    with pytest.raises(ParameterError, match="below the number of degrees that need columns"):
        PolynomialTensorSketch(Exponential(), 5, degree=8, random_state=0).fit(X)
    constant = PolynomialTensorSketch(Gaussian(0.01), 1, random_state=0).fit_transform(X)
    assert constant.shape == (40, 1)
    assert (constant**2 > 0.9).all()
