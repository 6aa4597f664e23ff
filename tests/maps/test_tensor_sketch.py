"""Tensor Sketch: proved unbiased by enumeration, its variance held against a formula, and its switches."""

from itertools import product

import numpy as np
import pytest

from kfeat.kernels import Polynomial
from kfeat.maps import TensorSketch

X2 = np.array([[0.7, -1.3], [0.4, 2.0], [-0.9, 0.3]])


def every_draw(tsk, degree, d):
    """Set every combination of hashes and signs in turn on a fitted map with two buckets."""
    cells = degree * d
    for buckets in product(range(2), repeat=cells):
        for signs in product((-1, 1), repeat=cells):
            tsk.buckets_[:, :d] = np.reshape(buckets, (degree, d))
            tsk.signs_[:, :d] = np.reshape(signs, (degree, d))
            yield tsk


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["real", "frequency"])
@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (2, 0.0), (3, 0.0), (1, 1.5), (2, 1.5)])
def test_the_mean_over_all_hashes_and_signs_is_the_kernel(degree, coef0, domain):
    kernel = Polynomial(degree, gamma=0.6, coef0=coef0)
    fitted = TensorSketch(kernel, n_components=2, domain=domain, random_state=0).fit(X2)
    grams = [Z @ Z.T for Z in (m.transform(X2) for m in every_draw(fitted, degree, 3 if coef0 else 2))]
    np.testing.assert_allclose(np.mean(grams, axis=0), kernel(X2), rtol=1e-12)
    assert np.std(grams) > 0.1


def exact_variance(x, y, degree, D):
    """Return Var <z(x), z(y)> for fully random hashes, by the fourth moments of the spectra.

    With a = <x,y>^2, q = sum x_i^2 y_i^2, b = ||x||^2 ||y||^2 - q, c = a - q, e = 1 for odd D and 2 for even:
    D^2 (Var + a^p) = e (a+b+c)^p + (D-e) ((a+b)^p + (a+c)^p) + (D^2 - 2D + e) a^p.
    """
    a, q = (x @ y) ** 2, (x**2 * y**2).sum()
    b, c, e, p = (x @ x) * (y @ y) - q, a - q, 2 - D % 2, degree
    pairs = e * (a + b + c) ** p + (D - e) * ((a + b) ** p + (a + c) ** p)
    return (pairs + (D**2 - 2 * D + e) * a**p) / D**2 - a**p


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_variance_over_all_hashes_and_signs_is_the_formulas(degree):
    fitted = TensorSketch(Polynomial(degree), n_components=2, random_state=0).fit(X2)
    grams = np.array([Z @ Z.T for Z in (m.transform(X2) for m in every_draw(fitted, degree, 2))])
    expected = [[exact_variance(x, y, degree, 2) for y in X2] for x in X2]
    np.testing.assert_allclose(grams.var(axis=0), expected, rtol=1e-10)


def test_universal_hashes_are_two_wise_independent_and_uniform():
    n, d, D = 4000, 3, 5
    X = np.zeros((1, d))
    draws = [TensorSketch(n_components=D, hashing="universal", random_state=s).fit(X) for s in range(n)]
    cells = np.array([m.buckets_[0, :d] + D * (m.signs_[0, :d] > 0) for m in draws])
    for i in range(d):
        for j in range(i):
            counts = np.zeros((2 * D, 2 * D))
            np.add.at(counts, (cells[:, i], cells[:, j]), 1)
            expected = n / (2 * D) ** 2
            chi2 = ((counts - expected) ** 2 / expected).sum()
            assert abs(chi2 - 99) < 4 * np.sqrt(2 * 99)  # chi-squared, 99 degrees of freedom
