"""Bayesian quadrature weights: the closed form against integration, the choice of the prior, the refusals."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.optimize import nnls
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal, norm

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian
from kfeat.maps import RandomFourier
from kfeat.maps.learnt_weights import (
    BayesianQuadrature,
    even_covariance,
    kernel_mean,
    negative_log_likelihood,
)

X = np.random.default_rng(0).standard_normal((60, 3))
KERNEL = Gaussian(0.5)


def covariance(u, v, L2):
    return (np.exp(-((u - v) ** 2).sum() / (2 * L2)) + np.exp(-((u + v) ** 2).sum() / (2 * L2))) / 2


@pytest.mark.parametrize("L2", [0.3, 1.0, 4.0])
def test_the_kernel_mean_is_the_integral_in_one_dimension(L2):
    v = np.array([[-1.7, 0.0, 0.4, 3.0]])
    expected = [
        quad(lambda u, at=at: covariance(np.array([u]), at, L2) * norm.pdf(u), -12, 12, points=(at[0],))[0]
        for at in v.T
    ]
    np.testing.assert_allclose(kernel_mean(v, L2), expected, rtol=1e-7)
    for i, at in enumerate(v.T):
        for j, other in enumerate(v.T):
            assert even_covariance(v, L2)[i, j] == pytest.approx(covariance(at, other, L2), rel=1e-12)


def test_the_kernel_mean_is_the_integral_in_two_dimensions():
    v, L2 = np.array([[0.5, -2.0], [-1.0, 0.3]]), 1.5
    density = multivariate_normal(np.zeros(2)).pdf
    for at, found in zip(v.T, kernel_mean(v, L2), strict=True):
        expected, _ = dblquad(
            lambda a, b, at=at: covariance(np.array([a, b]), at, L2) * density([a, b]),
            *(-7, 7, -7, 7), epsabs=1e-6,
        )  # fmt: skip
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("L2", [0.3, 2.0])
def test_the_variance_of_the_integral_is_the_second_kernel_mean(L2):
    """The integral of z over N(0, I) is (L^2 / (L^2 + 2))^(d / 2), in one and in two dimensions."""
    one, _ = quad(lambda u: kernel_mean(np.array([[u]]), L2)[0] * norm.pdf(u), -12, 12)
    assert one == pytest.approx((L2 / (L2 + 2)) ** 0.5, rel=1e-7)
    # A product rule suffices for the smooth function: Gauss-Hermite of 40 x 40 points.
    at, weights = np.polynomial.hermite_e.hermegauss(40)
    points = np.array(np.meshgrid(at, at)).reshape(2, -1)
    two = np.multiply.outer(weights, weights).ravel() @ kernel_mean(points, L2) / (2 * np.pi)
    assert two == pytest.approx(L2 / (L2 + 2), rel=1e-9)


def test_weights_are_the_closed_form():
    m = BayesianQuadrature(KERNEL, 40, length=1.0, sign="signed", random_state=0).fit(X)
    v = m.frequencies_  # for gamma = 1/2 they are N(0, I)
    L2 = 3.0
    K = np.array([[covariance(a, b, L2) for a in v.T] for b in v.T]) + 1e-3 * np.eye(20)
    z = [np.prod([norm.pdf(c, scale=np.sqrt(1 + L2)) * np.sqrt(2 * np.pi * L2) for c in a]) for a in v.T]
    w = np.linalg.solve(K, z)
    np.testing.assert_allclose(m.weights_, w, rtol=1e-8)
    assert (w < 0).any()
    L = np.linalg.cholesky(K)
    by_sign = {
        "nonnegative": nnls(L.T, np.linalg.solve(L, z))[0],
        "absolute": np.abs(w),
    }
    for sign, expected in by_sign.items():
        learnt = BayesianQuadrature(KERNEL, 40, length=1.0, sign=sign, random_state=0).fit(X).weights_
        np.testing.assert_allclose(learnt, expected, atol=1e-9)


@pytest.mark.parametrize("length", ["pairs", "marginal_likelihood"])
def test_the_length_is_learnt_and_lowers_the_error(length):
    train, test = np.random.default_rng(3).standard_normal((2, 300, 2))
    plain, weighted = RandomFourier(KERNEL, 60), BayesianQuadrature(KERNEL, 60, length=length)
    errors = [
        np.mean([one.set_params(random_state=seed).fit(train).diagnose(test).relative_frobenius.value
                 for seed in range(3)])
        for one in (plain, weighted)
    ]  # fmt: skip
    assert errors[1] < errors[0] / 2
    learnt = weighted.learnt_parameters()
    assert 0.5 <= learnt["length"] <= 4
    assert 0.9 < learnt["weight_sum"] < 1.01
    assert learnt["negative_share"] == 0


def test_the_likelihood_is_that_of_draws_from_the_prior():
    """-2 / n times the Gaussian log density at the most likely variance, but for a constant."""
    rng = np.random.default_rng(0)
    C = rng.standard_normal((6, 6))
    K = C @ C.T + np.eye(6)
    f = rng.standard_normal((50, 6))
    A = f.T @ f / 50

    def log_density(variance):
        return multivariate_normal(np.zeros(6), variance * K).logpdf(f).mean()

    most_likely = np.trace(np.linalg.solve(K, A)) / 6
    assert log_density(most_likely) > max(log_density(most_likely * c) for c in (0.9, 1.1))
    expected = -2 / 6 * log_density(most_likely) - 1 - np.log(2 * np.pi) + np.log(6)
    assert negative_log_likelihood(np.linalg.cholesky(K), A) == pytest.approx(expected, rel=1e-10)


def test_a_prior_that_says_nothing_or_too_much_is_refused():
    wide = np.random.default_rng(0).standard_normal((30, 50))
    with pytest.raises(
        ParameterError, match=r"at length=0.2 no two of the 50 frequencies.*use a larger length"
    ):
        BayesianQuadrature(KERNEL, length=0.2, random_state=0).fit(wide)
    with pytest.raises(ParameterError, match=r"length=50 and jitter=0 is singular.*take a shorter length"):
        BayesianQuadrature(KERNEL, length=50.0, jitter=0.0, random_state=0).fit(X)
    with pytest.raises(ParameterError, match="is singular in double precision"):  # at all lengths tried
        BayesianQuadrature(KERNEL, 400, jitter=0.0, random_state=0).fit(X[:, :1])


@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        ({"n_pairs": 26, "n_rows": 5}, X, "BayesianQuadrature: expected n_pairs of at most 25, since 5 rows"),
        ({"length": 0.0}, X, "BayesianQuadrature: length"),
        ({"length": "median"}, X, "BayesianQuadrature: length"),
        ({"jitter": -1.0}, X, "BayesianQuadrature: jitter"),
        ({}, X[:1], r"expected at least 2 rows, got n_samples=1"),
        ({}, np.ones((5, 2)), "BayesianQuadrature learns from rows that differ, but all 5 are the same"),
    ],
)
def test_bad_input_is_refused(parameters, rows, message):
    with pytest.raises((ParameterError, DataError), match=message):
        BayesianQuadrature(KERNEL, **parameters).fit(rows)


def test_constant_columns_lose_what_the_weights_gain_and_a_warning_says_so():
    rows = np.random.default_rng(0).standard_normal((300, 2))
    errors = []
    for extra in (0, 40):
        wide = np.hstack([rows, np.full((300, extra), 3.0)])
        for form in (wide, csr_array(wide)):
            m = BayesianQuadrature(KERNEL, 40, random_state=0)
            if extra:
                with pytest.warns(UserWarning, match="40 of the 42 columns do not vary.*drop them"):
                    m.fit(form)
            else:
                m.fit(form)
            errors.append(m.diagnose(form).relative_frobenius.value)
    assert errors[2] > 1.5 * errors[0]
    assert errors[3] == pytest.approx(errors[2])


def test_signed_weights_have_no_features():
    signed = BayesianQuadrature(KERNEL, 40, sign="signed", random_state=0).fit(X)
    with pytest.raises(ParameterError, match="BayesianQuadrature: signed weights have no square roots"):
        signed.transform(X)
    expected = np.cos((X[0] - X) @ signed.frequencies_) @ signed.weights_
    np.testing.assert_allclose(signed.approximate_kernel(X[:1], X)[0], expected, atol=1e-12)
