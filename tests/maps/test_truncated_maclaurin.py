"""The truncated series: its bias is what is allowed, and the map is unbiased for it by enumeration."""

import numpy as np
import pytest
from test_random_maclaurin import expected_gram, series

from kfeat.errors import ParameterError, UnsupportedKernelError
from kfeat.kernels import Exponential, Linear, Polynomial, VovkInfinite, VovkReal
from kfeat.maps import TruncatedMaclaurin
from kfeat.maps.random_maclaurin import remainders

KERNELS = [
    (Exponential(1.3), 1.0),
    (Exponential(0.5), 1.5),
    (VovkInfinite(), 0.8),
    (VovkReal(6), 0.9),
    (Polynomial(5, gamma=0.3, coef0=1.0), 1.2),
    (Polynomial(4), 0.5),
]
each_kernel = pytest.mark.parametrize(("kernel", "radius"), KERNELS, ids=str)


def ball(n, d, radius, seed=0):
    """Return rows of norms up to the radius, the first of norm exactly that."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X * radius * np.sqrt(np.linspace(1, 0, n))[:, None]


@each_kernel
def test_the_remainder_is_the_largest_error_of_the_cut_series(kernel, radius):
    t = np.linspace(-(radius**2), radius**2, 2001)
    exact = np.array([kernel._f(np.array([one]))[0] for one in t])
    for k, rest in enumerate(remainders(kernel, radius)[:12]):
        error = np.abs(exact - series(kernel, t, k)).max()
        assert rest == pytest.approx(error, rel=1e-6, abs=1e-12 * exact.max())


@each_kernel
@pytest.mark.parametrize("allowed", [1.0, 0.1, 1e-3])
def test_the_smallest_degree_whose_error_is_allowed_is_taken(kernel, radius, allowed):
    X = ball(60, 5, radius)
    fitted = TruncatedMaclaurin(kernel, 50, allowed_error=allowed, random_state=0).fit(X)
    k = fitted.max_degree_
    errors = np.abs(kernel(X) - series(kernel, X @ X.T, k))
    assert errors.max() <= fitted.truncation_error_ + 1e-12 * kernel(X).max()
    assert fitted.truncation_error_ <= allowed
    np.testing.assert_allclose(fitted.truncated_kernel_(X), series(kernel, X @ X.T, k), rtol=1e-10)
    assert fitted.degrees_.max() <= k
    assert fitted.learnt_parameters() == {"max_degree": k}
    first = np.flatnonzero(kernel.maclaurin(k + 1))[0]
    if k > first:  # one degree less is not allowed, and the row of the largest norm shows it
        short = np.abs(kernel(X) - series(kernel, X @ X.T, k - 1))
        assert short.max() > allowed


@each_kernel
@pytest.mark.parametrize("base", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("d", [1, 2])
def test_the_expectation_is_the_cut_series(kernel, radius, base, d):
    X, k = ball(4, d, radius), {1: 6, 2: 4}[d]
    fitted = TruncatedMaclaurin(kernel, 20_000, max_degree=k, base=base, random_state=0).fit(X)
    a = kernel.maclaurin(k + 1)
    law = base ** -np.arange(k + 1.0) * (a > 0)
    law /= law.sum()
    weights = dict(zip(fitted.degrees_, fitted.scales_**2 * fitted.n_components, strict=True))
    assert set(weights) == set(np.flatnonzero(a))
    parts = {int(n): (law[n], weights[n]) for n in weights}
    expected = series(kernel, X @ X.T, k)
    np.testing.assert_allclose(expected_gram(fitted, parts, X), expected, rtol=1e-10, atol=1e-14)
    # A law whose probabilities are those of the whole series, as if nothing had been cut, is caught.
    if kernel.last_degree is None:
        whole = {n: (P * (1 - base ** -(k + 1.0)), weight) for n, (P, weight) in parts.items()}
        assert not np.allclose(expected_gram(fitted, whole, X), expected, rtol=1e-4)


def test_the_sampled_part_follows_the_exact_columns():
    X = ball(10, 3, 1.0)
    fitted = TruncatedMaclaurin(Exponential(), 40_000, h01=True, random_state=0).fit(X)
    Z = fitted.transform(X)
    assert set(fitted.degrees_) == {2, 3, 4}
    np.testing.assert_array_equal(Z[:, 0], 1)
    np.testing.assert_allclose(Z[:, 1:4], X)
    np.testing.assert_allclose(Z @ Z.T, series(Exponential(), X @ X.T, 4), atol=0.05)
    without = TruncatedMaclaurin(Exponential(), 50, constant=False, random_state=0).fit(X)
    assert without.kernel_offset_ == 1
    assert set(without.degrees_) <= {1, 2, 3, 4}


def test_a_given_degree_and_a_given_radius_are_taken():
    X = ball(10, 3, 1.0)
    fitted = TruncatedMaclaurin(Exponential(), max_degree=2, random_state=0).fit(X)
    assert fitted.truncation_error_ == pytest.approx(np.e - 2.5)
    assert fitted.learnt_parameters() == {}
    assert TruncatedMaclaurin(Exponential(), radius=2.0).fit(X).max_degree_ == 13
    assert TruncatedMaclaurin(Polynomial(2), max_degree=9).fit(X).truncation_error_ == 0


def test_what_has_no_such_degree_is_refused():
    X = ball(10, 3, 1.0)
    with pytest.raises(
        ParameterError, match=r"up to degree 4,096 has an error of .* at radius 0.999999, more than"
    ):
        TruncatedMaclaurin(VovkInfinite()).fit(0.999999 * X)
    with pytest.raises(UnsupportedKernelError, match=r"no finite value in double precision at <x, y> = 4"):
        TruncatedMaclaurin(VovkInfinite(), radius=2.0).fit(0.5 * X)
    with pytest.raises(UnsupportedKernelError, match=r"no finite value .*<x, y> = 900: scale the rows down"):
        TruncatedMaclaurin(Exponential()).fit(30 * X)
    with pytest.raises(UnsupportedKernelError, match="no terms of degree >= 2"):
        TruncatedMaclaurin(Linear(), h01=True).fit(X)
    for bad in ({"allowed_error": 0.0}, {"max_degree": -1}, {"radius": 0.0}, {"degree_law": "geometric"}):
        with pytest.raises(ParameterError, match=f"TruncatedMaclaurin: {next(iter(bad))}"):
            TruncatedMaclaurin(**bad).fit(X)
