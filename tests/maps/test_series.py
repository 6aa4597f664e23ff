"""The Gaussian kernel by features of a dot-product kernel: exact where it can be, and free of overflow."""

import numpy as np
import pytest

from kfeat.errors import ParameterError
from kfeat.kernels import Exponential, Gaussian
from kfeat.maps import ComplexMaclaurin, RandomMaclaurin

X = np.random.default_rng(0).standard_normal((6, 5)) / 3
MAPS = [RandomMaclaurin, ComplexMaclaurin]


@pytest.mark.parametrize("cls", MAPS)
@pytest.mark.parametrize("law", ["proportional", "truncated", "geometric"])
@pytest.mark.parametrize("h01", [False, True])
def test_features_of_the_gaussian_are_damped_features_of_the_exponential(cls, law, h01):
    kernel = Gaussian(0.7)
    fitted = cls(kernel, 200, law, h01=h01, random_state=0).fit(X)
    assert fitted.kernel_ is not None
    assert isinstance(fitted.kernel_, Gaussian)
    Z = fitted.transform(X)
    if law != "proportional":  # whose degrees are drawn by other probabilities
        plain = cls(Exponential(np.sqrt(0.5 / 0.7)), 200, law, h01=h01, random_state=0).fit_transform(X)
        np.testing.assert_allclose(Z, plain * np.exp(-0.7 * (X**2).sum(axis=1))[:, None], rtol=1e-10)
    many = cls(kernel, 20_000, law, h01=h01, random_state=0).fit_transform(X)
    np.testing.assert_allclose(many @ many.T, kernel(X), atol=0.08)


@pytest.mark.parametrize("cls", MAPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", ["proportional", "geometric"])
def test_long_rows_neither_overflow_nor_lose_their_weight(cls, dtype, law):
    long = (40 * X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)
    rows = np.vstack([long, 1e3 * long, 1e12 * long])
    fitted = cls(Gaussian(0.02), 5_000, law, random_state=0).fit(long)  # 2 gamma ||x||^2 = 64
    Z = fitted.transform(rows)
    assert np.isfinite(Z).all()
    if law == "proportional":
        # The exponent of degree N's scale alone, N log(2 gamma) - log N!, is beyond float32 here.
        assert np.abs(fitted.degrees_.mean() - 64) < 2
        assert (np.linalg.norm(Z[:6], axis=1) > 0).all()
        double = fitted.transform(rows.astype(np.float64))[:6]
        np.testing.assert_allclose(Z[:6], double, atol=1e-3 * np.abs(double).max())


@pytest.mark.parametrize("cls", MAPS)
def test_the_gaussian_has_no_constant_to_leave_out(cls):
    with pytest.raises(ParameterError, match="set constant=True"):
        cls(Gaussian(), constant=False).fit(X)
