"""Positive features: their variance is the lemma's, and they are positive whatever the rows."""

import numpy as np
import pytest

from kfeat.kernels import Exponential, Gaussian
from kfeat.maps import PositiveFeatures


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Exponential(1.5), Gaussian(0.1)], ids=str)
def test_the_variance_of_positive_features_is_the_lemmas(kernel):
    x, y = np.array([[0.4, -0.3, 0.5]]), np.array([[0.3, 0.6, -0.2]])
    scale = 1 / 1.5 if isinstance(kernel, Exponential) else np.sqrt(0.2)
    r = scale**2 * ((x + y) ** 2).sum()
    k = kernel(x, y)[0, 0]
    expected = k**2 * np.expm1(r) * -np.expm1(-r) / 40
    draws = []
    for seed in range(1000):
        z, w = PositiveFeatures(kernel, 40, random_state=seed).fit(x).transform(np.vstack([x, y]))
        draws.append(z @ w)
    errors = (np.array(draws) - k) ** 2
    assert abs(errors.mean() - expected) < 4 * errors.std() / np.sqrt(1000)


def test_positive_features_are_positive_and_long_rows_do_not_overflow():
    X = 20 * np.random.default_rng(0).standard_normal((10, 6)).astype(np.float32)
    Z = PositiveFeatures(Gaussian(0.5), 101, random_state=0).fit_transform(X)
    assert np.isfinite(Z).all()
    assert (Z >= 0).all()
