"""Compositional kernels: the outer series of the inner kernel's values, and what they refuse."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Compositional, Exponential, Gaussian, Laplacian, Linear, Polynomial, VovkInfinite

X = np.random.default_rng(0).random((40, 3)) / 2


def gaussian(x, y):
    return math.exp(-0.5 * math.dist(x, y) ** 2)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_values_are_those_of_the_formula(form):
    cases = {
        Compositional(Polynomial(3, gamma=2.0, coef0=1.0), Gaussian(0.5)): lambda x, y: (
            (2 * gaussian(x, y) + 1) ** 3
        ),
        Compositional(Exponential(2.0), Polynomial(2)): lambda x, y: math.exp(np.dot(x, y) ** 2 / 4),
        Compositional(Linear(), Gaussian(0.5)): gaussian,
        Compositional(): lambda x, y: math.exp(math.exp(-(math.dist(x, y) ** 2))),
    }
    for kernel, formula in cases.items():
        expected = [[formula(x, y) for y in X[:5]] for x in X]
        np.testing.assert_allclose(kernel(form(X), form(X[:5])), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(form(X)), [formula(x, x) for x in X], rtol=1e-12)
        single = kernel(form(X.astype(np.float32)))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, kernel(X), rtol=1e-4)


def test_the_inner_bandwidth_is_learnt_and_the_outer_one_is_a_number():
    kernel = Compositional(Polynomial(2), Laplacian("median")).resolve(X)
    assert kernel.inner.gamma == Laplacian("median").resolve(X).gamma
    with pytest.raises(ParameterError, match="outer: expected a kernel whose bandwidth is a number"):
        Compositional(Exponential("median")).resolve(X)


def test_what_has_no_value_is_refused():
    with pytest.raises(DataError, match=r"VovkInfinite\(\) needs values below 1, got 1 of Gaussian"):
        Compositional(VovkInfinite(), Gaussian())(X)
    with pytest.raises(ParameterError, match="Compositional: outer: "):
        Compositional(Gaussian())(X)
    with pytest.raises(ParameterError, match="Compositional: inner: "):
        Compositional(inner="gaussian")(X)
    with pytest.raises(ParameterError, match="Polynomial: degree"):
        Compositional(Polynomial(0))(X)
    with pytest.raises(ParameterError, match="Gaussian: gamma"):
        Compositional(inner=Gaussian(-1.0))(X)
    with pytest.raises(DataError, match="not finite"):
        Compositional(Exponential(), Linear())(100 * X)
