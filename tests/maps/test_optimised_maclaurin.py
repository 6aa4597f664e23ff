"""Optimised Maclaurin: its allotment is the best, its error the one it says, and its terms are unbiased."""

from itertools import combinations

import numpy as np
import pytest
from faults import CAUGHT, PASS

from kfeat.kernels import Exponential, Gaussian, Linear, Polynomial
from kfeat.maps import OptimisedMaclaurin, RandomMaclaurin
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


def errors(make, seeds):
    exact = None
    found = []
    for seed in range(seeds):
        fitted = make(seed).fit(X)
        Z = fitted.transform(X)
        exact = fitted.kernel_(X) if exact is None else exact
        found.append(Z @ Z.T - exact)
    return np.array(found), fitted


SEEDS = 150
KERNELS = [Polynomial(4, coef0=1.0), Polynomial(3), Exponential(0.7), Gaussian(1.5)]


@pytest.mark.slow
@pytest.mark.parametrize("signs", ["complex", "real"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_the_error_is_the_one_expected(kernel, signs):
    found, fitted = errors(lambda seed: OptimisedMaclaurin(kernel, 48, signs, random_state=seed), seeds=SEEDS)
    of_draws = (found**2)[:, OFF].mean(axis=1)
    assert abs(of_draws.mean() - fitted.error_**2) < 4 * of_draws.std() / np.sqrt(SEEDS)
    degrees = sorted({0, *fitted.columns_, *([1] if fitted.linear_ else [])})
    a = series_of(kernel).maclaurin(degrees[-1] + 1)
    weights = np.ones((len(X), 1))
    damp(kernel, X, weights)
    kept = weights * sum(a[k] * (X @ X.T) ** k for k in degrees) * weights.T
    assert abs(np.sqrt(((kept - kernel(X)) ** 2)[OFF].mean()) - fitted.bias_) < 1e-9
    z = (found.mean(axis=0) - (kept - kernel(X))) / found.std(axis=0) * np.sqrt(SEEDS)
    assert np.abs(z[OFF]).max() < 4.5  # over 780 pairs


@pytest.mark.slow
def test_it_beats_degrees_drawn_at_random():
    for kernel in (Polynomial(4, coef0=1.0), Exponential(0.7), Gaussian(1.5)):
        ours, _ = errors(lambda seed, k=kernel: OptimisedMaclaurin(k, 60, random_state=seed), 8)
        theirs, _ = errors(
            lambda seed, k=kernel: RandomMaclaurin(k, 60, "proportional", random_state=seed), 40
        )
        assert (ours**2)[:, OFF].mean() < 0.6 * (theirs**2)[:, OFF].mean()


class TooLarge(OptimisedMaclaurin):
    def transform(self, X, out=None):
        return np.sqrt(1.05) * super().transform(X)


def test_finite_series_are_unbiased_and_the_test_sees_a_bias():
    def z(cls):
        found, fitted = errors(lambda seed: cls(Polynomial(2, coef0=1.0), 64, random_state=seed), 200)
        assert fitted.bias_ == 0
        return np.abs(found.mean(axis=0) / found.std(axis=0) * np.sqrt(200))[np.triu_indices(5, k=1)].max()

    assert z(OptimisedMaclaurin) < PASS
    assert z(TooLarge) > CAUGHT


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
