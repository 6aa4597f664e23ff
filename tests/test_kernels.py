"""Every kernel against its formula, written out pair by pair in plain Python."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from kfeat.errors import DataError, ParameterError, UnsupportedKernelError
from kfeat.kernels import (
    KERNELS,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sum,
    VovkInfinite,
    VovkReal,
)
from kfeat.kernels.base import TILE
from kfeat.parameters import check_parameters, parameter_model


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


FORMULAS = {
    "linear": (Linear(), dot),
    "polynomial": (Polynomial(3, gamma=0.5, coef0=2.0), lambda x, y: (0.5 * dot(x, y) + 2) ** 3),
    "homogeneous": (Polynomial(6), lambda x, y: dot(x, y) ** 6),
    "exponential": (Exponential(sigma=2.0), lambda x, y: math.exp(dot(x, y) / 4)),
    "vovk_real": (VovkReal(5), lambda x, y: (1 - dot(x, y) ** 5) / (1 - dot(x, y))),
    "vovk_infinite": (VovkInfinite(), lambda x, y: 1 / (1 - dot(x, y))),
    "gaussian": (Gaussian(1.5), lambda x, y: math.exp(-1.5 * math.dist(x, y) ** 2)),
    "laplacian": (
        Laplacian(0.7),
        lambda x, y: math.exp(-0.7 * math.fsum(abs(a - b) for a, b in zip(x, y, strict=True))),
    ),
    "sum": (
        Sum([Polynomial(2), Gaussian(0.5)], weights=[2.0, 1.0]),
        lambda x, y: 2 * dot(x, y) ** 2 + math.exp(-0.5 * math.dist(x, y) ** 2),
    ),
}
DOT_PRODUCT = ("linear", "polynomial", "homogeneous", "exponential", "vovk_real", "vovk_infinite")


def rows(n, d=6, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[np.random.default_rng(seed + 1).random((n, d)) < 0.4] = 0
    return 0.9 * X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("forms", ["dense-dense", "csr-csr", "dense-csr", "csr-dense"])
def test_gram_block_is_the_formula(name, forms):
    kernel, formula = FORMULAS[name]
    X, Y = rows(9), rows(7, seed=5)
    expected = [[formula(x, y) for y in Y] for x in X]
    A, B = (csr_array(M) if form == "csr" else M for M, form in zip((X, Y), forms.split("-"), strict=True))
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_matrix_is_symmetric_with_the_diagonal_of_the_formula(name, dtype):
    kernel, formula = FORMULAS[name]
    X = rows(TILE + 50).astype(dtype)
    K = kernel(X)
    assert K.dtype == dtype
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), kernel.diagonal(X))
    sample = [(3, 3), (0, 1), (5, TILE + 7), (TILE + 7, TILE + 9), (TILE + 1, 2)]
    for i, j in sample:
        assert K[i, j] == pytest.approx(formula(X[i].astype(float), X[j].astype(float)), rel=2e-5)
    np.testing.assert_allclose(K, kernel(X, X.copy()), rtol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("name", DOT_PRODUCT)
def test_maclaurin_series_sums_to_the_kernel(name):
    kernel, formula = FORMULAS[name]
    a = kernel.maclaurin(400)
    x = np.array([0.6, -0.2, 0.3])
    for y in (x, -x, np.array([0.1, 0.9, 0.0])):
        assert np.polynomial.polynomial.polyval(dot(x, y), a) == pytest.approx(formula(x, y), rel=1e-12)
    if kernel.last_degree is not None:
        assert a[kernel.last_degree] > 0
        assert not a[kernel.last_degree + 1 :].any()
    np.testing.assert_array_equal(kernel.maclaurin(2), a[:2])


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian(0.3)])
def test_the_spectrum_is_the_kernels_fourier_transform(kernel):
    frequencies = kernel.sample_frequencies(np.random.default_rng(0), (2, 200_000))
    for x in ([0.5, 0.2], [1.0, -1.0], [0.0, 1.5]):
        cosines = np.cos(np.array(x) @ frequencies)
        error = cosines.mean() - kernel([x], [[0.0, 0.0]])[0, 0]
        assert abs(error) < 4 * cosines.std() / np.sqrt(cosines.size)


def test_float32_distances_are_exact_enough_far_from_the_origin():
    X = np.random.default_rng(0).random((40, 5))
    kernel = Gaussian(2.0)
    for far in (X + 1000, X * 100 + 50):
        single = far.astype(np.float32)
        np.testing.assert_allclose(kernel(single), kernel(single.astype(float)), atol=1e-4)


def test_bandwidth_heuristics_are_the_mean_and_the_median_distance():
    X = rows(30)
    pairs = [(x, y) for i, x in enumerate(X) for y in X[i + 1 :]]
    euclidean = [math.dist(x, y) for x, y in pairs]
    manhattan = [np.abs(x - y).sum() for x, y in pairs]
    for rule, statistic in (("mean_distance", np.mean), ("median", np.median)):
        sigma = statistic(euclidean)
        assert Exponential(rule).resolve(X).sigma == pytest.approx(sigma)
        assert Gaussian(rule).resolve(csr_array(X)).gamma == pytest.approx(1 / (2 * sigma**2))
        assert Laplacian(rule).resolve(X).gamma == pytest.approx(1 / statistic(manhattan))
    many = np.random.default_rng(0).random((5000, 3))
    first, again = (Gaussian("median").resolve(many, 7).gamma for _ in range(2))
    assert first == again != Gaussian("median").resolve(many, 8).gamma
    kernel = Gaussian(0.5)
    assert kernel.resolve(X) is kernel


def test_bandwidth_heuristics_that_are_not_numbers_say_what_to_do():
    with pytest.raises(UnsupportedKernelError, match=r"call kernel.resolve\(X\) first"):
        Gaussian("median")(rows(3))
    with pytest.raises(DataError, match="rows that do not differ"):
        Gaussian("median").resolve(np.ones((4, 2)))


def test_data_outside_the_radius_of_convergence_are_refused():
    with pytest.raises(DataError, match=r"needs \|<x, y>\| < 1, got 1.44"):
        VovkInfinite()([[1.2, 0.0]])


def test_bad_parameters_are_refused():
    for kernel in (
        Polynomial(0),
        Polynomial(gamma=0.0),
        Gaussian(float("inf")),
        Polynomial(coef0=-1.0),
        Gaussian(-1.0),
        Gaussian("wide"),
    ):
        with pytest.raises(ParameterError, match=type(kernel).__name__):
            check_parameters(kernel)
    with pytest.raises(DataError, match="X has 3 features and Y has 2"):
        Linear()(np.ones((2, 3)), np.ones((2, 2)))
    for bad in (np.ones(3), np.ones((2, 2)) * 1j, [["a", "b"]]):
        with pytest.raises(DataError, match=r"expected rows of real numbers, shape \(n, d\), got"):
            Linear()(bad)


def test_kernels_are_estimators_and_have_a_yaml_form():
    for cls in KERNELS.values():
        kernel = clone(cls())
        assert kernel.get_params() == cls().get_params()
        parameter_model(cls).model_validate(kernel.get_params())
    assert parameter_model(Gaussian).model_validate({"gamma": "median"}).gamma == "median"


def test_a_gram_block_needs_a_tile_beyond_itself():
    X = np.random.default_rng(0).random((4000, 20))
    for kernel in (Polynomial(5, coef0=1.0), Gaussian(), Laplacian()):
        for data in (X, csr_array(X)):
            tracemalloc.start()
            K = kernel(data, data)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < K.nbytes + 48 * 2**20


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (Linear(), "<x, y>"),
        (Polynomial(degree=4), "<x, y>^4"),
        (Polynomial(degree=4, coef0=1), "(1 + <x, y>)^4"),
        (Polynomial(degree=1, gamma=4, coef0=1), "1 + 4 <x, y>"),
        (Polynomial(degree=2, gamma=0.5), "(0.5 <x, y>)^2"),
        (Exponential(sigma="mean_distance"), "exp(<x, y> / sigma^2), sigma = mean distance"),
        (VovkReal(degree=3), "(1 - <x, y>^3) / (1 - <x, y>)"),
        (VovkInfinite(), "1 / (1 - <x, y>)"),
        (Gaussian(gamma=0.25), "exp(-gamma ||x - y||^2), gamma = 0.25"),
        (Laplacian(gamma="median"), "exp(-gamma ||x - y||_1), gamma = median"),
    ],
)
def test_a_kernel_says_its_formula(kernel, formula):
    assert kernel.formula == formula
