"""Random Maclaurin: unbiased by enumeration, and its laws of degrees; and the truncated series."""

import re
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from kfeat.errors import DataError, KfeatError, ParameterError, UnsupportedKernelError
from kfeat.kernels import Exponential, Gaussian, Linear, Polynomial, VovkInfinite, VovkReal
from kfeat.maps import RandomMaclaurin, TruncatedMaclaurin
from kfeat.maps.complex_maclaurin import ComplexMaclaurin, OptimisedMaclaurin
from kfeat.maps.random_maclaurin import remainders
from kfeat.maps.series import draw_degrees, geometric

X2 = np.array([[0.7, -0.3], [0.4, 0.8], [-0.9, 0.3]])


def expected_gram(fitted, parts, X):
    """Return E[Z Z^T] for degrees n of these probabilities and weights, {n: (P(n), weight)}, over all signs.

    One map holds every choice of signs of every degree as a feature, scaled by the root of its probability
    times its weight, so that its Gram matrix is the sum.
    """
    d = X.shape[1]
    signs, scales = [], []
    for n, (probability, weight) in sorted(parts.items()):
        choices = [np.reshape(choice, (n, d)) for choice in product((-1, 1), repeat=n * d)]
        signs += choices
        scales += [np.sqrt(probability * weight / len(choices))] * len(choices)
    fitted.n_components = fitted._n_features_out = len(signs)
    fitted.degrees_ = fitted.n_factors_ = np.array([len(choice) for choice in signs])
    fitted.scales_ = np.array(scales)
    factors = [choice[j] for j in range(max(parts)) for choice in signs if len(choice) > j]
    fitted.signs_ = np.array(factors, dtype=np.int8).reshape(-1, d)
    Z = fitted.transform(X)
    return Z @ Z.T


def series(kernel, t, last):
    """Return sum_{n <= last} a_n t^n."""
    return np.polynomial.polynomial.polyval(t, kernel.maclaurin(last + 1))


N_DRAWS = 100_000
LAWS = ["geometric", "truncated", "proportional"]


def terms_of(kernel):
    """Return a_n of the series, and the gamma by which a Gaussian's features are damped."""
    if isinstance(kernel, Gaussian):
        return Exponential((2 * kernel.gamma) ** -0.5).maclaurin(80), kernel.gamma
    return kernel.maclaurin(80), 0.0


def law_of(law, kernel, first, base):
    """Return P(N = n) for n < 80 as the law is defined, written out."""
    n = np.arange(80.0)
    a, gamma = terms_of(kernel)
    norms = np.quantile([x @ x for x in X2], (np.arange(512) + 0.5) / 512)
    powers = np.mean([np.exp(-2 * gamma * norm) * norm**n for norm in norms], axis=0)
    size = {"geometric": base**-n, "truncated": base**-n * (a > 0), "proportional": a * powers}[law]
    size[:first] = 0
    return size / size.sum()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("base", [1.5, 3.0])
@pytest.mark.parametrize(
    "kernel", [Polynomial(4, coef0=1.0), Polynomial(3), Exponential(1.3), Gaussian(1.5)], ids=str
)
def test_degrees_follow_their_law_and_weights_make_each_degree_unbiased(law, first, base, kernel):
    P, a = law_of(law, kernel, first, base), terms_of(kernel)[0]
    n = N_DRAWS
    degrees, weights = draw_degrees(np.random.default_rng(0), law, kernel, n, X2, base, first)
    # E[weight; N = n] = P(n) weight(n) = a_n: the sum over degrees is the kernel.
    np.testing.assert_allclose(P[degrees] * weights, a[degrees], rtol=1e-9)
    counts = np.bincount(degrees, minlength=80)[:80]
    common = n * P >= 10
    z = (counts - n * P)[common] / np.sqrt(n * P * (1 - P))[common].clip(1e-9)
    assert np.abs(z).max() < 4.5
    assert counts[P == 0].sum() == 0
    assert set(np.flatnonzero(counts)) >= set(np.flatnonzero(n * P >= 10))


@pytest.mark.parametrize(("h01_law", "first"), [("unconditional", 0), ("nonconstant", 1)])
@pytest.mark.parametrize("law", LAWS)
def test_h01_by_a_law_from_below_degree_2_wastes_features_and_estimates_the_same(law, h01_law, first):
    """Of the geometric law with p = 2 three of four features, or half, are zero columns (z < 4)."""
    kernel, X, n = Exponential(), X2 / 2, 20_000
    options = {"degree_law": law, "h01": True, "random_state": 0}
    fitted = RandomMaclaurin(kernel, n, h01_law=h01_law, **options).fit(X)
    wasted = fitted.scales_ == 0
    assert set(fitted.degrees_[wasted]) == {*range(first, 2)}
    share = law_of(law, kernel, first, 2.0)[:2].sum() if law == "geometric" else wasted.mean()
    assert abs(wasted.mean() - share) < 4 * np.sqrt(share * (1 - share) / n)
    Z = fitted.transform(X)
    assert np.abs(Z @ Z.T - kernel(X)).max() < 0.05
    given = RandomMaclaurin(kernel, n, **options).fit(X)
    assert given.degrees_.min() == 2


def test_h01_columns_are_the_first_two_terms_and_the_rest_estimates_the_others():
    X = np.random.default_rng(0).random((6, 4))
    kernel = Polynomial(2, gamma=0.7, coef0=1.5)
    fitted = RandomMaclaurin(kernel, 300, h01=True, random_state=0).fit(X)
    Z = fitted.transform(X)
    assert Z.shape == (6, 1 + 4 + 300)
    np.testing.assert_allclose(Z[:, 0], 1.5)
    np.testing.assert_allclose(Z[:, 1:5], np.sqrt(2 * 0.7 * 1.5) * X)
    assert fitted.degrees_.min() == 2
    without = RandomMaclaurin(kernel, 300, h01=True, constant=False, random_state=0).fit(X)
    np.testing.assert_array_equal(without.transform(X), Z[:, 1:])
    assert without.kernel_offset_ == 1.5**2
    np.testing.assert_allclose(fitted.transform(csr_array(X)), Z, rtol=1e-12)
    unscaled = RandomMaclaurin(kernel, 300, h01=True, h01_unscaled=True, random_state=0).fit(X)
    np.testing.assert_array_equal(unscaled.transform(X), np.hstack([Z[:, :1], X, Z[:, 5:]]))


def rows_with_outliers():
    """Rows whose longest has norm 1 and most of which are near 0, as z-scored data with outliers are."""
    X = np.random.default_rng(0).standard_normal((300, 20))
    X[0] *= 40
    X[1] *= 20
    return X / np.linalg.norm(X, axis=1).max()


MACLAURIN = [
    *product([RandomMaclaurin], ["geometric", "truncated", "proportional"], [False, True]),
    *product([TruncatedMaclaurin], ["truncated", "proportional"], [False, True]),
]


@pytest.mark.parametrize(("cls", "law", "h01"), MACLAURIN)
def test_rows_whose_kernel_is_beyond_float32_have_finite_features_or_are_refused(cls, law, h01):
    X = rows_with_outliers().astype(np.float32)
    kernel = Exponential(0.0995)  # the mean distance of Adult's rows, whose kernel reaches 7e43
    assert kernel.diagonal(X.astype(float)).max() > 1e43
    unfitted = cls(kernel, 300, degree_law=law, h01=h01, random_state=0)
    Z = unfitted.fit_transform(X)
    assert np.isfinite(Z).all()
    assert np.abs(Z[0]).max() > 100
    for factor in (30, 1e9):
        try:
            Z = unfitted.fit_transform(factor * X)
        except KfeatError as error:
            assert re.search(r"scale (them|the rows) down", str(error))  # noqa: PT017
        else:
            assert np.isfinite(Z).all()


@pytest.mark.parametrize(("cls", "law", "h01"), MACLAURIN)
@pytest.mark.parametrize("kernel", [Polynomial(10, coef0=1.0), Exponential(0.0995)], ids=str)
def test_single_precision_keeps_five_digits_of_the_largest_estimate(cls, law, h01, kernel):
    X = rows_with_outliers()
    X[2:] /= 2 * np.linalg.norm(X[2:], axis=1, keepdims=True)
    fitted = cls(kernel, 500, degree_law=law, h01=h01, random_state=0).fit(X)
    assert fitted.degrees_.max() >= 5
    single, double = (fitted.transform(X.astype(dtype)).astype(float) for dtype in (np.float32, np.float64))
    errors = np.abs(single @ single.T - double @ double.T)
    assert 0 < errors.max() < 1e-5 * (double @ double.T).max()
    assert errors[2:, 2:].max() < 1e-5 * (double @ double.T)[2:, 2:].max()  # and without the outliers


def test_what_cannot_be_sampled_is_refused():
    with pytest.raises(
        UnsupportedKernelError, match=r"the coefficient a_.* is beyond double precision: use a lower degree"
    ):
        RandomMaclaurin(Polynomial(2000, coef0=1.0), degree_law="truncated").fit(X2)
    with pytest.raises(UnsupportedKernelError, match=r"the coefficient a_.* or a larger sigma"):
        RandomMaclaurin(Exponential(0.01), degree_law="truncated", base=1.05).fit(X2)
    with pytest.raises(UnsupportedKernelError, match="no terms of degree >= 2"):
        RandomMaclaurin(Linear(), degree_law="truncated", h01=True).fit(X2)
    with pytest.raises(DataError, match=r"needs \|<x, y>\| < 1, got 4"):
        RandomMaclaurin(VovkInfinite()).fit([[2.0, 0.0]])
    fitted = RandomMaclaurin(VovkInfinite(), random_state=0).fit(X2)
    with pytest.raises(DataError, match=r"needs \|<x, y>\| < 1, got 4"):
        fitted.transform([[2.0, 0.0]])


@pytest.mark.parametrize("cls", [RandomMaclaurin, ComplexMaclaurin, OptimisedMaclaurin])
def test_single_precision_keeps_the_degrees_whose_coefficients_it_does_not_hold(cls):
    """As of rows that are seconds since 1970: gamma^6 is 1e-108, and the product of six factors 1e110."""
    X = np.abs(np.random.default_rng(0).standard_normal((20, 10)))
    X *= 1.7e9 / np.linalg.norm(X, axis=1, keepdims=True)
    feature_map = cls(Polynomial(6, gamma=1e-18, coef0=1.0), 400, random_state=0)
    exact = feature_map.fit_transform(X)
    single = feature_map.fit_transform(X.astype(np.float32))
    np.testing.assert_allclose(single, exact, rtol=1e-3, atol=1e-4 * np.abs(exact).max())
    assert ((single != 0).any(axis=0) == (exact != 0).any(axis=0)).all()


SERIES = [Polynomial(3), Polynomial(4, gamma=0.7, coef0=1.0), Exponential(1.3), VovkReal(4), VovkInfinite()]


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("base", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("kernel", SERIES, ids=str)
def test_the_expectation_is_the_series(kernel, base, d):
    X, last = X2[:, :d], {1: 8, 2: 4}[d]  # of the degrees that are enumerated: 2^(n d) choices of signs each
    degrees, weights = geometric(np.random.default_rng(0), kernel, 200_000, base, 0)  # has all of them
    parts = {n: ((base - 1) * base ** -(n + 1), weights[np.argmax(degrees == n)]) for n in range(last + 1)}
    actual = expected_gram(RandomMaclaurin(kernel, base=base, random_state=0).fit(X), parts, X)
    np.testing.assert_allclose(actual, series(kernel, X @ X.T, last), rtol=1e-10, atol=1e-14)


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
    exact = kernel(t[:, None] / radius, np.array([[radius]]))[:, 0]
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
