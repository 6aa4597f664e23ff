"""Complex-to-real Tensor Sketch: unbiased by enumeration, its variance, and where it betters the real one."""

from itertools import product

import numpy as np
import pytest
from test_tensor_sketch import exact_variance as real_variance

from kfeat.kernels import Polynomial
from kfeat.maps import ComplexTensorSketch

X2 = np.array([[0.7, -1.3], [0.4, 2.0], [-0.9, 0.3]])


def every_gram(fitted, d):
    """Return Z Z^T for every combination of hashes and signs of the first d columns of a fitted map."""
    cells, buckets = fitted.buckets_[:, :d].size, -(-fitted.n_components // 2)
    grams, Z = [], np.empty((len(X2), fitted.n_components))
    for draw in product(range(4 * buckets), repeat=cells):
        table = np.reshape(draw, (-1, d))
        fitted.buckets_[:, :d], fitted.exponents_[:, :d] = table // 4, table % 4
        fitted._block_mapper(Z.dtype)(X2, Z)
        grams.append(Z @ Z.T)
    return np.array(grams)


def exact_variance(x, y, degree, D):
    """Return Var <z(x), z(y)> for fully random hashes and an even D, by the fourth moments of the spectra.

    With A_k = F_k(x) conj F_k(y) of one count sketch: E A_k conj A_l = a + b [k = l] and E A_k A_l = a + c
    [k = l], and Var Re T = (E |T|^2 + Re E T^2) / 2 - a^p for T = 2 / D sum_k prod A_k.
    """
    a, q = (x @ y) ** 2, (x**2 * y**2).sum()
    b, c, p = (x @ x) * (y @ y) - q, a - q, degree
    return ((a + b) ** p + (a + c) ** p - 2 * a**p) / D


def pairs(d):
    """Return pairs of unit vectors: random, equal, flat, orthogonal, with few entries."""
    rng = np.random.default_rng(d)
    flat, alternating, two, one = np.ones(d), (-1.0) ** np.arange(d), np.zeros(d), np.zeros(d)
    two[:2] = one[0] = 1
    vectors = [flat, alternating, two, one, *rng.standard_normal((6, d)), *rng.random((6, d))]
    vectors = [v / np.linalg.norm(v) for v in vectors]
    return [(x, y) for x in vectors for y in vectors]


@pytest.mark.parametrize(
    ("degree", "coef0", "D", "domain"),
    [(1, 1.5, 3, "real"), (1, 0.0, 4, "frequency"), (2, 0.0, 3, "frequency"), (3, 0.0, 1, "real")],
)
def test_the_mean_over_all_hashes_and_signs_is_the_kernel(degree, coef0, D, domain):
    kernel = Polynomial(degree, gamma=0.6, coef0=coef0)
    fitted = ComplexTensorSketch(kernel, D, domain, random_state=0).fit(X2)
    grams = every_gram(fitted, 3 if coef0 else 2)
    np.testing.assert_allclose(grams.mean(axis=0), kernel(X2), rtol=1e-12)
    assert grams.std() > 0.1


@pytest.mark.parametrize(("degree", "D"), [(1, 2), (1, 4), (2, 4), (3, 2)])
def test_the_mean_and_the_variance_over_all_hashes_and_signs_are_the_formulas(degree, D):
    kernel = Polynomial(degree)
    grams = every_gram(ComplexTensorSketch(kernel, D, random_state=0).fit(X2), 2)
    expected = [[exact_variance(x, y, degree, D) for y in X2] for x in X2]
    np.testing.assert_allclose(grams.mean(axis=0), kernel(X2), rtol=1e-12)
    np.testing.assert_allclose(grams.var(axis=0), expected, rtol=1e-10)


def test_the_real_sketch_has_the_same_variance_and_a_term_of_order_three_to_the_p_over_d_squared():
    """The real variance is not (3^p - 1) / D in the worst case, which is what the complex one was held to."""
    for (x, y), degree, D in product(pairs(20), range(1, 7), (10, 11, 1000)):
        a, q, e = (x @ y) ** 2, (x**2 * y**2).sum(), 2 - D % 2
        b, c = 1 - q, a - q
        more = (a + b + c) ** degree - (a + b) ** degree - (a + c) ** degree + a**degree
        real, complex_ = real_variance(x, y, degree, D), exact_variance(x, y, degree, D)
        np.testing.assert_allclose(real - complex_, e * more / D**2, rtol=1e-6, atol=1e-12)
        if c >= 0 or degree == 1:  # otherwise the complex one can be worse
            assert more > -1e-12
    flat = np.ones(1000) / np.sqrt(1000)
    ratios = [real_variance(flat, flat, p, 1000) / exact_variance(flat, flat, p, 1000) for p in (2, 4, 16)]
    np.testing.assert_allclose(ratios, [1.00067, 1.0033, 1.653], rtol=1e-3)
    x, y = np.array([1.0, 1.0]) / np.sqrt(2), np.array([1.0, -1.0]) / np.sqrt(2)
    assert real_variance(x, y, 2, 10) < exact_variance(x, y, 2, 10)
