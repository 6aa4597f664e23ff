"""Weighted frequencies: SES held against pairs by brute force, quadrature against integrals; refusals."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import nnls
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal, norm

from kfeat.errors import DataError, ParameterError
from kfeat.kernels import Gaussian
from kfeat.maps import SES, BayesianQuadrature, RandomFourier
from kfeat.maps.learnt_weights import even_covariance, kernel_mean, negative_log_likelihood
from kfeat.maps.weighted_fourier import all_pairs, nonnegative_minimum, sampled_pairs

X = np.random.default_rng(0).standard_normal((60, 3))
KERNEL = Gaussian(0.5)
BOTH = pytest.mark.parametrize("cls", [SES, BayesianQuadrature])


def cosines(m, A, B):
    """Return the design matrix of all pairs (a, b), one row each, straight from the definition."""
    differences = (A[:, None] - B[None]).reshape(-1, A.shape[1])
    c = np.cos(differences @ m.frequencies_)
    for column, offset in zip(range(m.n_components // 2, c.shape[1]), m.offsets_, strict=True):
        waves = [np.sqrt(2) * np.cos(rows @ m.frequencies_[:, column] + offset) for rows in (A, B)]
        c[:, column] = np.multiply.outer(*waves).ravel()
    return c


def waves(m, X):
    """Return the features of rows with weights 1: cosines, for odd D one with an offset, and sines."""
    phases, n = X @ m.frequencies_, m.n_components // 2
    pairs, single = phases[:, :n], np.sqrt(2) * np.cos(phases[:, n:] + m.offsets_)
    return np.hstack([np.cos(pairs), single, np.sin(pairs)])


def brute_force(m, A, B, kernel=KERNEL):
    c, k = cosines(m, A, B), kernel(A, B).ravel()
    return c.T @ c / len(k), c.T @ k / len(k), (k**2).mean()


@pytest.mark.parametrize("D", [40, 41, 1])
def test_the_equations_of_all_pairs_are_those_of_the_design_matrix(D):
    m, n_held = SES(KERNEL, D, random_state=0).fit(X), 12
    found = all_pairs(X, waves(m, X), KERNEL, m.frequencies_.shape[1], n_held)
    for equations, rows in zip(found, (X[:n_held], X[n_held:], X), strict=True):
        for actual, expected in zip(
            (equations.A, equations.b, equations.K2), brute_force(m, rows, rows), strict=True
        ):
            np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-13)
    w = np.random.default_rng(1).random(m.frequencies_.shape[1])
    error = KERNEL(X).ravel() - cosines(m, X, X) @ w
    relative = np.linalg.norm(error) / np.linalg.norm(KERNEL(X))
    assert found[2].relative_error(w) == pytest.approx(relative, rel=1e-9)


@pytest.mark.parametrize("D", [40, 41])
def test_the_equations_of_sampled_pairs_tend_to_those_of_all(D):
    """Drawn in proportion to the norm of their cosines and weighted by its inverse: unbiased."""
    m = SES(KERNEL, D, random_state=0).fit(X)
    largest = 2 / D / m.plain_weights()
    found = sampled_pairs(X, waves(m, X), KERNEL, largest, 200_000, np.random.default_rng(1))
    A, b, K2 = brute_force(m, X, X)
    np.testing.assert_allclose(found.A, A, atol=0.01)
    np.testing.assert_allclose(found.b, b, atol=0.01)
    np.testing.assert_allclose(found.K2, K2, rtol=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_nonnegative_minimum_is_scipys(seed):
    rng = np.random.default_rng(seed)
    C, t = rng.standard_normal((60, 40)), rng.standard_normal(60)
    expected, _ = nnls(C, t)
    A, b = C.T @ C, C.T @ t
    for start in (None, rng.random(40) < 0.5, np.zeros(40, dtype=bool)):
        np.testing.assert_allclose(nonnegative_minimum(A, b, start), expected, atol=1e-9)


@pytest.mark.parametrize("D", [40, 41])
def test_weights_are_the_ridge_solution_over_all_pairs(D):
    signed = SES(KERNEL, D, sign="signed", regularisation=0.01, random_state=0).fit(X)
    A, b, _ = brute_force(signed, X, X)
    w = np.linalg.solve(A + 0.01 * np.eye(len(b)), b)
    np.testing.assert_allclose(signed.weights_, w, rtol=1e-9)
    at_least_0 = SES(KERNEL, D, regularisation=0.01, random_state=0).fit(X).weights_
    L = np.linalg.cholesky(A + 0.01 * np.eye(len(b)))
    np.testing.assert_allclose(at_least_0, nnls(L.T, np.linalg.solve(L, b))[0], atol=1e-10)
    assert (w < 0).any()
    absolute = SES(KERNEL, D, sign="absolute", regularisation=0.01, random_state=0).fit(X).weights_
    np.testing.assert_allclose(absolute, np.abs(w), atol=1e-10)


def test_uniform_shrinkage_is_theorem_2s_factor():
    """The least risk of a multiple of an unbiased estimate with variance V: k^2 / (k^2 + V), summed."""
    factors = [
        SES(KERNEL, 20, shrinkage="uniform", regularisation=0.0, random_state=seed).fit(X).weights_.sum()
        for seed in range(80)
    ]
    K = KERNEL(X)
    V = (1 + KERNEL(2 * X) - 2 * K**2) / 20
    assert np.mean(factors) == pytest.approx((K**2).sum() / (K**2 + V).sum(), abs=0.01)
    assert np.mean(factors) < 0.97


@pytest.mark.parametrize("D", [40, 41, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_weights_give_the_plain_map_bit_for_bit(D, dtype):
    plain = RandomFourier(KERNEL, D, random_state=0).fit(X)
    weighted = SES(KERNEL, D, random_state=0).fit(X)
    np.testing.assert_array_equal(weighted.frequencies_, plain.frequencies_)
    weighted.weights_ = weighted.plain_weights()
    assert weighted.weights_.sum() == pytest.approx(1)
    rows = X.astype(dtype)
    np.testing.assert_array_equal(weighted.transform(rows), plain.transform(rows))


def covariance(u, v, L2):
    return (np.exp(-((u - v) ** 2).sum() / (2 * L2)) + np.exp(-((u + v) ** 2).sum() / (2 * L2))) / 2


def normal_mean(f, d):
    """Return E f(u), u from N(0, I) in d dimensions, by the product rule of Gauss and Hermite."""
    at, weights = hermegauss(80)
    points = np.stack(np.meshgrid(*[at] * d)).reshape(d, -1)
    products = np.prod(np.meshgrid(*[weights] * d), axis=0).ravel()
    return f(points) @ products / (2 * np.pi) ** (d / 2)


@pytest.mark.parametrize("L2", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("v", [[[-1.7, 0.0, 0.4, 3.0]], [[0.5, -2.0], [-1.0, 0.3]]], ids=["1d", "2d"])
def test_the_kernel_mean_and_its_own_mean_are_the_integrals(v, L2):
    """The mean of z over N(0, I) is (L^2 / (L^2 + 2))^(d / 2)."""
    v = np.array(v)
    for at, mean in zip(v.T, kernel_mean(v, L2), strict=True):
        expected = normal_mean(lambda u, at=at: np.array([covariance(p, at, L2) for p in u.T]), len(v))
        assert mean == pytest.approx(expected, rel=1e-6)
    at_all = [[covariance(a, b, L2) for a in v.T] for b in v.T]
    np.testing.assert_allclose(even_covariance(v, L2), at_all, rtol=1e-12)
    assert normal_mean(lambda u: kernel_mean(u, L2), len(v)) == pytest.approx((L2 / (L2 + 2)) ** (len(v) / 2))


def test_weights_of_quadrature_are_the_closed_form():
    m = BayesianQuadrature(KERNEL, 40, length=1.0, sign="signed", random_state=0).fit(X)
    v = m.frequencies_  # for gamma = 1/2 they are N(0, I)
    L2 = 3.0
    K = np.array([[covariance(a, b, L2) for a in v.T] for b in v.T]) + 1e-3 * np.eye(20)
    z = [np.prod([norm.pdf(c, scale=np.sqrt(1 + L2)) * np.sqrt(2 * np.pi * L2) for c in a]) for a in v.T]
    w = np.linalg.solve(K, z)
    np.testing.assert_allclose(m.weights_, w, rtol=1e-8)
    assert (w < 0).any()
    L = np.linalg.cholesky(K)
    by_sign = {"nonnegative": nnls(L.T, np.linalg.solve(L, z))[0], "absolute": np.abs(w)}
    for sign, expected in by_sign.items():
        learnt = BayesianQuadrature(KERNEL, 40, length=1.0, sign=sign, random_state=0).fit(X).weights_
        np.testing.assert_allclose(learnt, expected, atol=1e-9)


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


def test_what_the_fit_learns_is_reported():
    m = SES(KERNEL, 40, random_state=0).fit(X)
    learnt = m.learnt_parameters()
    assert 0 < learnt["weight_sum"] < 1  # shrunk
    assert learnt["negative_share"] == 0
    assert learnt["zero_share"] == (m.weights_ == 0).mean()
    assert learnt["regularisation"] == m.regularisation_ > 0
    assert 0 < learnt["held_out_error"] < 1
    strong = SES(KERNEL, 40, regularisation=10.0, random_state=0).fit(X).learnt_parameters()
    assert strong["weight_sum"] < learnt["weight_sum"]


def test_the_regularisation_is_chosen_by_the_error_on_held_out_rows():
    m = SES(KERNEL, 40, random_state=0).fit(X)
    chosen = m.held_out_error_
    for other in (10.0, m.regularisation_ * 10**0.5):
        given = SES(KERNEL, 40, regularisation=other, random_state=0).fit(X)
        assert given.held_out_error_ >= chosen


def test_constant_columns_lose_what_the_weights_gain_and_a_warning_says_so():
    rows = np.random.default_rng(0).standard_normal((300, 2))
    errors = []
    for extra in (0, 40):
        wide = np.hstack([rows, np.full((300, extra), 3.0)])
        for form in (wide, csr_array(wide)):
            m = BayesianQuadrature(KERNEL, 40, random_state=0)
            if extra:
                with pytest.warns(UserWarning, match="40 constant columns among 42: .*drop them"):
                    m.fit(form)
            else:
                m.fit(form)
            errors.append(m.diagnose(form).relative_frobenius.value)
    assert errors[2] > 1.5 * errors[0]
    assert errors[3] == pytest.approx(errors[2])


@BOTH
def test_signed_weights_have_a_kernel_but_no_features(cls):
    signed = cls(KERNEL, 40, sign="signed", random_state=0).fit(X)
    expected = np.cos((X[:, None] - X[:5]) @ signed.frequencies_) @ signed.weights_
    np.testing.assert_allclose(signed.approximate_kernel(X, X[:5]), expected, atol=1e-12)
    with pytest.raises(ParameterError, match=r"signed weights have no square roots.*approximate_kernel"):
        signed.transform(X)
    with pytest.raises(ValueError, match=r"X has 2 features, but \w+ is expecting 3"):
        signed.approximate_kernel(X[:, :2])
    m = cls(KERNEL, 41, random_state=0).fit(X)
    Z = m.transform(X)
    np.testing.assert_allclose(m.approximate_kernel(csr_array(X)), Z @ Z.T, atol=1e-12)


WIDE = np.random.default_rng(0).standard_normal((30, 50))


@BOTH
@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        ({"n_pairs": 3601}, X, "expected n_pairs of at most 3,600, since 60 rows have no more, got 3,601"),
        ({"n_pairs": 101, "n_rows": 10}, X, "at most 100, since 10 rows"),
        ({"n_pairs": 0}, X, ": n_pairs"),
        ({"n_rows": 1}, X, ": n_rows"),
        ({"sign": "positive"}, X, ": sign"),
        ({}, X[:1], r"learns from pairs of rows: expected at least 2 rows, got n_samples=1"),
        ({}, np.ones((5, 2)), "learns from rows that differ, but all 5 are the same"),
    ],
)
def test_bad_input_is_refused(cls, parameters, rows, message):
    with pytest.raises((ParameterError, DataError), match=cls.__name__ + ".*" + message):
        cls(KERNEL, **parameters).fit(rows)


@pytest.mark.parametrize(
    ("unfitted", "rows", "message"),
    [
        (SES(regularisation=-1.0), X, "SES: regularisation"),
        (SES(KERNEL, 2000, regularisation=0.0, sign="signed"), X, "singular in double precision"),
        (BayesianQuadrature(length=0.0), X, "BayesianQuadrature: length"),
        (BayesianQuadrature(length="median"), X, "BayesianQuadrature: length"),
        (BayesianQuadrature(jitter=-1.0), X, "BayesianQuadrature: jitter"),
        (
            BayesianQuadrature(KERNEL, length=0.2),
            WIDE,
            r"at length=0.2 no two of the 50.*use a larger length",
        ),
        (
            BayesianQuadrature(KERNEL, length=50.0, jitter=0.0),
            X,
            "length=50 and jitter=0 is singular.*take a shorter length",
        ),
        (BayesianQuadrature(KERNEL, 400, jitter=0.0), X[:, :1], "is singular in double precision"),
    ],
)
def test_a_prior_or_a_penalty_that_says_nothing_or_too_much_is_refused(unfitted, rows, message):
    with pytest.raises(ParameterError, match=message):
        unfitted.set_params(random_state=0).fit(rows)
