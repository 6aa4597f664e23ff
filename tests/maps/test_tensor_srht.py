"""TensorSRHT: unbiased with the variance of its docstring, over all signs and all samples of coordinates."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.kernels import Linear, Polynomial
from kfeat.maps import TensorSRHT

X2 = np.array([[0.7, -1.3], [0.4, 2.0], [-0.9, 0.3]])


def every_gram(fitted, copies, D):
    """Return Z Z^T for every combination of signs and of orders of the given copies of the coordinates."""
    p, width = fitted.signs_.shape
    # Orders of equal copies are equally likely.
    samples = [order[:D] for order in sorted(set(permutations(copies)))]
    grams, Z = [], np.empty((len(X2), D))
    for signs in product((-1, 1), repeat=p * width):
        fitted.signs_ = np.reshape(signs, (p, width))
        for sample in product(samples, repeat=p):
            fitted.coordinates_ = np.array(sample)
            fitted._block_mapper(Z.dtype)(X2, Z)
            grams.append(Z @ Z.T)
    return np.array(grams)


def exact_variance(x, y, degree, D, m):
    """Return Var <z(x), z(y)>, x and y with the constant feature, padded to m numbers.

    With A_i = (H D x)_i (H D y)_i: E A_i A_l = a + g(i xor l), where g(0) = g and the g(w) of all w sum to 0,
    so that it is a - g / (N - 1) on average over the coordinates that a row other than the first can take.
    """
    a, q, N = (x @ y) ** 2, (x**2 * y**2).sum(), m * -(-D // m)
    g, p = (x @ x) * (y @ y) + a - 2 * q, degree
    rest = (a - g / (N - 1)) ** p if D > 1 else 0
    return ((a + g) ** p - a**p) / D - (1 - 1 / D) * (a**p - rest)


@pytest.mark.parametrize("D", [1, 2, 3])
@pytest.mark.parametrize("degree", [1, 2])
def test_the_mean_and_the_variance_over_all_draws_are_the_formulas(degree, D):
    kernel = Polynomial(degree, gamma=0.6)
    copies = (0, 1) if D < 3 else (0, 1, 0, 1)
    grams = every_gram(TensorSRHT(kernel, D, random_state=0).fit(X2), copies, D)
    expected = [[exact_variance(x, y, degree, D, 2) for y in X2 * 0.6**0.5] for x in X2 * 0.6**0.5]
    np.testing.assert_allclose(grams.mean(axis=0), kernel(X2), rtol=1e-12)
    np.testing.assert_allclose(grams.var(axis=0), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("degree", "D"), [(1, 1), (1, 2), (1, 3), (2, 1)])
def test_the_constant_feature_takes_part_in_the_transform(degree, D):
    kernel = Polynomial(degree, coef0=1.5)
    grams = every_gram(TensorSRHT(kernel, D, random_state=0).fit(X2), range(4), D)
    X = np.column_stack([X2, np.full(3, np.sqrt(1.5))])
    expected = [[exact_variance(x, y, degree, D, 4) for y in X] for x in X]
    np.testing.assert_allclose(grams.mean(axis=0), kernel(X2), rtol=1e-12)
    np.testing.assert_allclose(grams.var(axis=0), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", [Polynomial(1), Linear()], ids=str)
@pytest.mark.parametrize("D", [32, 64])
def test_degree_one_keeps_all_inner_products_where_every_coordinate_is_sampled(kernel, D):
    X = np.random.default_rng(0).standard_normal((4, 30))
    for rows in (X, csr_array(X)):
        Z = TensorSRHT(kernel, D, random_state=0).fit_transform(rows)
        np.testing.assert_allclose(Z @ Z.T, X @ X.T, rtol=1e-12)
