"""Complex and Optimised Maclaurin: unbiased by enumeration, their variances, and the best allotment."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.kernels import Exponential, Gaussian, Linear, Polynomial
from kfeat.maps import ComplexMaclaurin, OptimisedMaclaurin
from kfeat.maps.complex_maclaurin import allotted
from kfeat.maps.series import damp, series_of

X2 = np.array([[0.7, -0.3], [0.4, 0.8], [-0.9, 0.3]])


def of_degree(degree, width, n_features):
    """Return a map with these many complex features of one degree and `width` columns."""
    fitted = ComplexMaclaurin(Polynomial(degree), width, random_state=0).fit(X2)
    assert len(fitted.scales_) == n_features
    fitted.degrees_ = fitted.n_factors_ = np.full(n_features, degree)
    fitted.scales_ = np.full(n_features, np.sqrt(2 / width))
    return fitted


@pytest.mark.parametrize("degree", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_mean_and_the_variance_over_all_complex_signs(degree):
    fitted = of_degree(degree, 2, 1)
    grams = []
    for exponents in product(range(4), repeat=2 * degree):
        fitted.exponents_ = np.reshape(exponents, (degree, 2)).astype(np.int8)
        Z = fitted.transform(X2)
        grams.append(Z @ Z.T)
    inner, norms, squares = X2 @ X2.T, (X2**2).sum(axis=1), (X2**2) @ (X2**2).T
    np.testing.assert_allclose(np.mean(grams, axis=0), inner**degree, rtol=1e-12)
    second = (np.outer(norms, norms) + inner**2 - squares) ** degree
    pseudo = (2 * inner**2 - squares) ** degree
    variance = (second + pseudo - 2 * inner ** (2 * degree)) / 2
    np.testing.assert_allclose(np.var(grams, axis=0), variance, atol=1e-12)
    real = ((np.outer(norms, norms) + 2 * (inner**2 - squares)) ** degree - inner ** (2 * degree)) / 2
    # Complex signs have less where <x, y>^2 > sum x_i^2 y_i^2, such as on rows without negative entries.
    gain = np.where(np.abs(real - variance) < 1e-12, 0, real - variance)
    np.testing.assert_array_equal(np.sign(gain), 0 if degree == 1 else np.sign(inner**2 - squares))


def test_an_odd_column_is_unbiased_too():
    fitted = of_degree(2, 3, 2)
    grams = []
    for dropped in (0, 1):
        fitted.dropped_ = dropped
        for exponents in product(range(4), repeat=4):
            twice = np.tile(np.reshape(exponents, (2, 2)), (2, 1))
            fitted.exponents_ = twice[[0, 2, 1, 3]].astype(np.int8)  # both features have the same vectors
            Z = fitted.transform(X2)
            grams.append(Z @ Z.T)
    np.testing.assert_allclose(np.mean(grams, axis=0), (X2 @ X2.T) ** 2, rtol=1e-12)


@pytest.mark.parametrize("law", ["proportional", "truncated", "geometric"])
@pytest.mark.parametrize("h01", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_the_map_approaches_the_kernel_less_its_offset(law, h01, constant):
    kernel, X = Exponential(1.0), 0.5 * X2
    for n in (20_000, 20_001):
        fitted = ComplexMaclaurin(kernel, n, law, h01=h01, constant=constant, random_state=0).fit(X)
        assert fitted.kernel_offset_ == (0 if constant else 1)
        Z = fitted.transform(X)
        assert Z.shape[1] == n + (constant + 2 if h01 else 0)
        np.testing.assert_allclose(Z @ Z.T, kernel(X) - fitted.kernel_offset_, atol=0.05)


def test_no_column_is_wasted_on_constants_and_homogeneous_kernels_have_none():
    X = np.random.default_rng(0).random((8, 30))
    Z = ComplexMaclaurin(Polynomial(4, coef0=1.0), 100, random_state=0).fit_transform(X)
    assert (np.ptp(Z, axis=0) == 0).sum() == 1
    assert (Z[:, 0] == 1).all()
    Z = ComplexMaclaurin(Linear(), 50, random_state=0).fit_transform(X)
    assert (np.ptp(Z, axis=0) > 0).all()
    sparse = ComplexMaclaurin(Polynomial(4, coef0=1.0), 20, "geometric", random_state=3)
    np.testing.assert_allclose(sparse.fit_transform(X), sparse.transform(csr_array(X)), rtol=1e-12)


rng = np.random.default_rng(0)
X = rng.random((40, 12))
X /= np.linalg.norm(X, axis=1, keepdims=True)
OFF = ~np.eye(len(X), dtype=bool)


@pytest.mark.parametrize("seed", range(20))
def test_the_allotment_is_the_best_of_all(seed):
    source = np.random.default_rng(seed)
    variances, n = source.exponential(size=3) ** 3, 14
    every = [
        np.diff([0, *cuts, n]) for cuts in combinations(range(1, n), 2)
    ]  # all ways to write n as a sum of three
    best = min((variances / counts).sum() for counts in every)
    counts = allotted(variances, n)
    assert counts.sum() == n
    assert counts.min() >= 1
    np.testing.assert_allclose((variances / counts).sum(), best)
    np.testing.assert_array_equal(allotted(np.zeros(2), 5).sum(), 5)


SEEDS = 150
KERNELS = [Polynomial(4, coef0=1.0), Polynomial(3), Exponential(0.7), Gaussian(1.5)]


@pytest.mark.slow
@pytest.mark.parametrize("signs", ["complex", "real"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_error_is_the_one_expected(kernel, signs):
    maps = [OptimisedMaclaurin(kernel, 48, signs, random_state=seed).fit(X) for seed in range(SEEDS)]
    fitted, exact = maps[-1], kernel(X)
    errors = np.array([Z @ Z.T - exact for Z in (m.transform(X) for m in maps)])
    of_draws = (errors**2)[:, OFF].mean(axis=1)
    assert abs(of_draws.mean() - fitted.error_**2) < 4 * of_draws.std() / np.sqrt(SEEDS)
    degrees = sorted({0, *fitted.columns_, *([1] if fitted.linear_ else [])})
    a = series_of(kernel).maclaurin(degrees[-1] + 1)
    weights = np.ones((len(X), 1))
    damp(kernel, X, weights)
    kept = weights * sum(a[k] * (X @ X.T) ** k for k in degrees) * weights.T
    assert abs(np.sqrt(((kept - exact) ** 2)[OFF].mean()) - fitted.bias_) < 1e-9
    z = (errors.mean(axis=0) - (kept - exact)) / errors.std(axis=0) * np.sqrt(SEEDS)
    assert np.abs(z[OFF]).max() < 4.5  # over 780 pairs


def test_widths_and_exact_columns():
    for n in (1, 2, 3, 13, 14, 15, 16, 200):
        for signs in ("complex", "real"):
            fitted = OptimisedMaclaurin(Polynomial(2, coef0=1.0), n, signs, random_state=0).fit(X)
            Z = fitted.transform(X)
            assert Z.shape[1] <= n
            assert Z.shape[1] == 1 + 12 * fitted.linear_ + sum(fitted.columns_.values())
            assert (Z[:, 0] == 1).all()
    assert fitted.linear_
    np.testing.assert_allclose(Z[:, 1:13], np.sqrt(2) * X)
    linear = OptimisedMaclaurin(Linear(), 50, random_state=0).fit(X)
    assert linear.error_ < 1e-12
    np.testing.assert_allclose(linear.transform(X), X)
