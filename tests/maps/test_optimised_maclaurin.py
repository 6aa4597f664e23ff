"""Optimised Maclaurin: its allotment is the best, its error the one it says, and its terms are unbiased."""

from itertools import combinations

import numpy as np
import pytest

from kfeat.kernels import Exponential, Gaussian, Linear, Polynomial
from kfeat.maps import OptimisedMaclaurin
from kfeat.maps.complex_maclaurin import allotted
from kfeat.maps.series import damp, series_of

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
