"""Positive features: above 0, without bias, and of the variance that the lemma says."""

import numpy as np
import pytest
from faults import CAUGHT, PASS, largest_z

from kfeat.kernels import Exponential, Gaussian
from kfeat.maps import PositiveFeatures

KERNELS = [Exponential(1.5), Gaussian(0.1)]


class TooLarge(PositiveFeatures):
    def transform(self, X, out=None):
        return np.sqrt(1.05) * super().transform(X)


@pytest.mark.slow
@pytest.mark.parametrize("features", ["pairs", "single"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_the_estimates_have_no_bias_and_the_test_sees_one(kernel, features):
    def z(cls):
        return largest_z(lambda k, seed: cls(k, 201, features, random_state=seed), kernel=kernel)

    assert z(PositiveFeatures) < PASS
    assert z(TooLarge) > CAUGHT


@pytest.mark.slow
@pytest.mark.parametrize("features", ["pairs", "single"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_the_variance_is_the_lemmas(kernel, features):
    x, y = np.array([[0.4, -0.3, 0.5]]), np.array([[0.3, 0.6, -0.2]])
    scale = 1 / 1.5 if isinstance(kernel, Exponential) else np.sqrt(0.2)
    r = scale**2 * ((x + y) ** 2).sum()
    k = kernel(x, y)[0, 0]
    expected = k**2 * np.expm1(r) * (-np.expm1(-r) if features == "pairs" else 1) / 40
    draws = []
    for seed in range(1000):
        z, w = PositiveFeatures(kernel, 40, features, random_state=seed).fit(x).transform(np.vstack([x, y]))
        draws.append(z @ w)
    errors = (np.array(draws) - k) ** 2
    assert abs(errors.mean() - expected) < 4 * errors.std() / np.sqrt(1000)


def test_features_are_positive_and_long_rows_do_not_overflow():
    X = 20 * np.random.default_rng(0).standard_normal((10, 6)).astype(np.float32)
    Z = PositiveFeatures(Gaussian(0.5), 101, random_state=0).fit_transform(X)
    assert np.isfinite(Z).all()
    assert (Z >= 0).all()
