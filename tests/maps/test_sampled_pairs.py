"""The variance of Tensor Sketch, exact: held against all hashes and all signs, and its covariances."""

from itertools import product

import numpy as np
import pytest

from kfeat.kernels import Polynomial
from kfeat.maps import TensorSketch
from kfeat.maps.series import sampled_pairs

X2 = np.array([[0.7, -0.3], [0.4, 0.8], [-0.9, 0.3]])
UPPER = np.triu_indices(3, k=1)


def all_estimates(degree, n_buckets):
    """Return the products of every pair of rows for every Tensor Sketch of d = 2."""
    fitted = TensorSketch(Polynomial(degree), n_buckets, random_state=0).fit(X2)
    estimates = []
    for draw in product(product(range(n_buckets), (-1, 1)), repeat=2 * degree):
        table = np.reshape(draw, (degree, 2, 2))
        fitted.buckets_[:, :2], fitted.signs_[:, :2] = table[..., 0], table[..., 1]
        Z = fitted.transform(X2)
        estimates.append((Z @ Z.T)[UPPER])
    return np.array(estimates)


@pytest.mark.parametrize(("degree", "n_buckets"), [(1, 2), (1, 3), (2, 1), (2, 2), (2, 3)])
def test_the_variance_over_all_hashes_and_signs(degree, n_buckets):
    estimates = all_estimates(degree, n_buckets)
    pairs = sampled_pairs(Polynomial(degree), X2, 3, np.random.default_rng(0))
    np.testing.assert_allclose(estimates.mean(axis=0), pairs.values, rtol=1e-12)
    expected = pairs.sizes ** (2 * degree) * pairs.tensor_sketch_variance(degree, n_buckets)
    np.testing.assert_allclose(estimates.var(axis=0), expected, atol=1e-12)


def test_the_variance_of_degree_four_over_draws():
    x = np.random.default_rng(0).random((2, 12))
    pairs = sampled_pairs(Polynomial(4), x, 2, np.random.default_rng(0))
    draws = []
    for seed in range(1000):
        z, w = TensorSketch(Polynomial(4), 8, random_state=seed).fit(x).transform(x)
        draws.append(z @ w)
    variance = pairs.sizes[0] ** 8 * pairs.tensor_sketch_variance(4, 8)[0]
    errors = (np.array(draws) - pairs.values[0]) ** 2
    assert abs(errors.mean() - variance) < 4 * errors.std() / np.sqrt(1000)


def test_rows_of_zeros_and_one_row_are_pairs():
    for X in (np.zeros((3, 2)), X2[:1]):
        pairs = sampled_pairs(Polynomial(2), X, 10, np.random.default_rng(0))
        assert all(np.isfinite(field).all() and len(field) for field in pairs)
